/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of repair: see scenario.h.
 *
 * The subject damages a table that the dead have left, detaches, and repairs
 * it.  Killed there, it leaves a table that is as damaged as it was, sound, or
 * refused; whoever repairs it again has one where everybody can go on.  Beside
 * a stop the server is attached, so that nothing is damaged, and the repair is
 * refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>
#include "crash/subject.h"
#include "proc/attachment.h"
#include "shm/key_slot.h"

static const int says_in_use[] = { -EBUSY, 0 };

/* The slot of a key. */
static struct shm_slot *
slot_of(struct trial *p, const char *key)
{
	struct lhi_key_name n;
	struct lhi_ref ref;

	if (lhi_name_set(&n, key) != 0 ||
	    lhi_slot_find(&sub.lh->v, &n, &ref) != 1) {
		blame(p, "staging: no %s", key);
		_exit(1);
	}
	return ref.slot;
}

/* Two keys have values. */
static void
set_values(struct trial *p)
{
	static const char *const keys[] = { OTHER, THIRD };
	struct lh_acquire_opts o = participant_opts(SUB_LONG_MS, 0);
	struct lh_lease l;

	for (int i = 0; i < 2; i++) {
		sub_must(p, lh_acquire(sub.lh, keys[i], &o, &l), keys[i]);
		sub_must(p, lh_release_value(sub.lh, &l, "value", 5), keys[i]);
	}
}

/* A word, a link of the list, a hint, a count and a value are nonsense. */
static void
prep_damaged(struct trial *p)
{
	struct lhi_view *v;
	struct shm_slot *s;

	prep_attach(p);
	if (p->mode != MODE_STOP)
		set_values(p);
	v = &sub.lh->v;
	if (p->mode != MODE_STOP) {
		s = slot_of(p, KEY);
		sh64_store(&s->word, sh64_load(&s->word) | MASK(CLAIM_BITS));
		s = slot_of(p, OTHER);
		sh64_store(&s->next, slink_make(SLINK_BUCKET - 1, 3));
		sh64_store(&v->values[vlink_idx(sh64_load(&s->value))].size,
		    3);
		sh64_store(&v->hdr->floor[3], UINT64_MAX);
		sh32_store(&v->hdr->ready_longs, UINT32_MAX);
	}
	sub_must(p, lh_close(sub.lh), "close");
	sub.lh = NULL;
}

/* Nothing is wrong: the dead are buried. */
static void
prep_sound(struct trial *p)
{
	(void)p;
}

static void
act_repair(struct trial *p)
{
	int n = lh_table_repair(p->table, 0, NULL, NULL);

	p->result = n < 0 ? n : 0;
}

static void
repair_again(struct trial *p)
{
	int n = lh_table_repair(p->table, 0, NULL, NULL);

	if (n < 0)
		blame(p, "a second repair: %s: %s", lh_strerror(n),
		    lh_error_detail());
}

static void
check_repaired(struct trial *p)
{
	repair_again(p);
	checker_check(p);
}

static void
recover_repaired(struct trial *p)
{
	act_repair(p);
	checker_recover(p);
}

/* The words say that a repair is unfinished: a dead process, or a member, has
 * written them. */
static void
set_unfinished(struct trial *p, bool on)
{
	struct shm_header *h = sub.lh->v.hdr;

	/* beside a stop, others go on opening it */
	if (p->mode == MODE_STOP)
		return;
	if (on) {
		sh64_store(&h->repair, SHM_REPAIR_NOTE);
		(void)sh32_fetch_or(&h->flags, SHM_REPAIRING);
	} else {
		(void)sh32_fetch_and(&h->flags, ~SHM_REPAIRING);
		sh64_store(&h->repair, 0);
	}
}

static int
see(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

/* It is looked at, as the owner does. */
static void
act_look_unfinished(struct trial *p)
{
	struct lh_open_opts o = p->opts;
	struct lh *look;

	set_unfinished(p, true);
	o.flags = LH_LOOK;
	p->result = lh_open(&look, p->table, &o);
	if (p->result == 0) {
		p->result = lh_list(look, NULL, see, NULL);
		if (p->result == 0)
			p->result = (lh_check(look, NULL, NULL) > 0) ==
			    (p->mode != MODE_STOP) ? 0 : -EUCLEAN;
		(void)lh_close(look);
	}
	set_unfinished(p, false);
}

/* The words that a killed looker left are erased, as a repair would. */
static void
clear_words(struct trial *p)
{
	int fd = open(trial_object(p), O_RDWR | O_CLOEXEC);
	struct shm_header h;

	if (fd < 0 || pread(fd, &h, sizeof(h), 0) != sizeof(h)) {
		blame(p, "the object cannot be read");
	} else {
		(void)sh32_fetch_and(&h.flags, ~SHM_REPAIRING);
		sh64_store(&h.repair, 0);
		(void)!pwrite(fd, &h.flags, sizeof(h.flags),
		    offsetof(struct shm_header, flags));
		(void)!pwrite(fd, &h.repair, sizeof(h.repair),
		    offsetof(struct shm_header, repair));
	}
	if (fd >= 0)
		(void)close(fd);
}

static void
check_looked(struct trial *p)
{
	clear_words(p);
	checker_check(p);
}

static void
recover_looked(struct trial *p)
{
	clear_words(p);
	checker_recover(p);
}

static const struct scenario scenarios_repair[] = {
	{ .name = "look-unfinished", .what = "a table whose repair is "
	  "unfinished", .roles = { HOLDER }, .prepare = prep_attach,
	  .act = act_look_unfinished, .finish = finish_plain,
	  .check = check_looked, .recover = recover_looked },
	{ .name = "repair", .what = "a damaged table", .roles = { DEAD_HOLDER,
	  DEAD_WAITER, DEAD_HALFWAY }, .max_leases = 192, .flags = SC_LOOSE,
	  .prepare = prep_damaged, .act = act_repair, .finish = finish_plain,
	  .check = check_repaired, .recover = recover_repaired,
	  .allowed = says_in_use },
	{ .name = "repair-sound", .what = "one that is sound",
	  .roles = { DEAD_EVICTOR(3), DEAD_READER, DEAD_HALFWAY },
	  .max_leases = 192, .flags = SC_LOOSE, .prepare = prep_sound,
	  .act = act_repair, .finish = finish_plain, .check = check_repaired,
	  .recover = recover_repaired, .allowed = says_in_use },
};

SCENARIOS(scenarios_repair)
