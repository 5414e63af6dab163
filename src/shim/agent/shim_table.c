/* SPDX-License-Identifier: MIT */
/*
 * The table, as the shim uses it.  The shim attaches like any participant,
 * locks the shim's byte (shm/session_record.h) so that a table has only one
 * shim, and writes what only a shim writes (shm/cluster_right.h).
 *
 * The byte is locked through an open file description of its own.  When the
 * shim is killed, the byte is free at once.  A stopped shim keeps the byte.
 * Then no other shim can interfere, and none is needed, because rights end at
 * D.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "shm/live_file.h"
#include "shm/session_bytes.h"
#include "op/acquire_target.h"
#include "op/cluster_check.h"
#include "shim.h"

static int
lock_shim_byte(struct shim *s, char why[SHIM_WHY_MAX])
{
	struct lhi_cluster c;
	int e;

	s->byte_fd = lhi_live_file_reopen(s->v);
	if (s->byte_fd < 0) {
		e = -errno;
		(void)snprintf(why, SHIM_WHY_MAX, "cannot open the live file "
		    "of %s again: %s", s->v->path, strerror(-e));
		return e;
	}
	e = lhi_session_lock_shim(s->byte_fd);
	if (e == 0) {
		/* at once; otherwise the earlier shim would be taken for the
		 * holder */
		lhi_cluster_here(s->v, (uint32_t)getpid());
		return 0;
	}
	if (e != -EAGAIN) {
		(void)snprintf(why, SHIM_WHY_MAX, "cannot lock %s: %s",
		    s->v->path, strerror(-e));
		return e;
	}
	lhi_cluster_read(s->v, &c);
	(void)snprintf(why, SHIM_WHY_MAX, "table %s already has a shim, "
	    "process %u; stop it first", lh_table_name(s->lh),
	    c.shim_pid);
	return -EBUSY;
}

int
shim_table_open(struct shim *s, char why[SHIM_WHY_MAX])
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	int e;

	o.flags = s->o.table_flags;
	o.application = "leasehold-shimd";
	e = lh_open(&s->lh, s->o.table, &o);
	if (e != 0) {
		(void)snprintf(why, SHIM_WHY_MAX, "%s", lh_error_detail());
		return e;
	}
	s->v = &s->lh->v;
	s->prefix_len = strnlen(s->v->hdr->cluster_prefix, SHM_PREFIX);
	if (s->prefix_len == 0) {
		(void)snprintf(why, SHIM_WHY_MAX, "table %s has no cluster "
		    "keys, because it was created with an empty prefix",
		    lh_table_name(s->lh));
		e = -EOPNOTSUPP;
	} else {
		e = lock_shim_byte(s, why);
	}
	if (e == 0)
		lhi_cluster_check_serve(s->lh);	/* or the shim would send
						 * requests to itself */
	else
		shim_table_close(s);
	return e;
}

void
shim_table_close(struct shim *s)
{
	if (s->lh != NULL)
		(void)lh_close(s->lh);
	s->lh = NULL;
	if (s->byte_fd >= 0)
		(void)close(s->byte_fd);
	s->byte_fd = -1;
}

/* Then no process finds the shim any more.  If another table has that name, it
 * needs a shim of its own. */
bool
shim_table_is_gone(const struct shim *s)
{
	struct stat named;

	if (lhi_view_retired(s->v))
		return true;
	if (stat(s->v->path, &named) != 0)
		return errno == ENOENT;
	return s->v->dev != named.st_dev || s->v->ino != named.st_ino;
}

int
shim_table_find_slot(struct shim *s, struct key *k)
{
	struct lhi_key_name n;
	int e = lhi_key_name_check(s->lh, k->name, 0, &n);

	return e != 0 ? e : lhi_key_name_resolve(s->lh, &n, 0, &k->ref);
}

int
shim_table_set_right(struct key *k, unsigned mode, int64_t revision)
{
	int e;

	if (revision < 0 || (uint64_t)revision > CLUSTER_REVISION_MAX)
		return -ERANGE;		/* a base cannot hold it */
	e = lhi_right_raise(k->s->v, &k->ref, cluster_base((uint64_t)revision));
	lhi_point("shim.raised");
	return e != 0 ? e :
	    lhi_right_set(k->s->v, &k->ref, mode, k->s->epoch);
}

void
shim_table_clear_right(struct key *k)
{
	/* if the slot belongs to another key now, the right went with the old
	 * one */
	(void)lhi_right_set(k->s->v, &k->ref, RIGHT_NONE, 0);
}

void
shim_table_clear_right_of(struct shim *s, const char *name)
{
	struct lhi_key_name n;
	struct lhi_ref ref;

	if (lhi_key_name_check(s->lh, name, 0, &n) == 0 &&
	    lhi_key_name_resolve(s->lh, &n, LH_NO_CREATE, &ref) == 0)
		(void)lhi_right_set(s->v, &ref, RIGHT_NONE, 0);
}

bool
shim_table_has_right(const struct key *k)
{
	uint64_t r = lhi_right_load(k->s->v, k->ref.slot);

	return right_gen(r) == (uint32_t)(k->ref.slot_ref >> 32) &&
	    right_mode(r) == k->right && lhi_right_now(k->s->v, k->ref.slot);
}

void
shim_table_each_right(struct shim *s,
    void (*fn)(struct shim *s, const char *name, unsigned mode))
{
	uint32_t n = lhi_slots_ready(s->v);
	char name[SHM_KEY_MAX + 1];

	for (uint32_t i = 1; i < n; i++) {
		const struct shm_slot *slot = &s->v->slots[i];

		if (lhi_right_has(slot) && lhi_right_now(s->v, slot) &&
		    lhi_slot_key(s->v, slot, name) > 0)
			fn(s, name, right_mode(lhi_right_load(s->v, slot)));
	}
}

void
shim_table_break_leases(struct shim *s, const char *name)
{
	/* a process that acquires it in the meantime has no right either */
	if (lh_break(s->lh, name, NULL, 0) > 0)
		s->count.broken++;
}

static int
add_waiters_mode(const struct lh_key_info *info, void *arg)
{
	unsigned *most = arg;

	for (uint32_t i = 0; i < info->n_waiters; i++) {
		unsigned mode = info->waiters[i].mode == LH_SHARED ?
		    RIGHT_SHARED : RIGHT_EXCLUSIVE;

		if (mode > *most)
			*most = mode;
	}
	return 0;
}

unsigned
shim_table_waiters_mode(struct key *k)
{
	unsigned most = RIGHT_NONE;

	if (shim_table_has_waiters(k))
		(void)lh_status(k->s->lh, k->name, NULL, add_waiters_mode,
		    &most);
	return most;
}

bool
shim_table_has_waiters(const struct key *k)
{
	return k->ref.slot != NULL && link_idx(sh64_load(&k->ref.slot->waitq))
	    != 0;
}
