/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G4, src/shm/live_file.c: a table believes its live file not
 * for its name.  Under a living holder the file is removed and put back: made
 * anew, or from a copy.  Nobody has locked a byte of that one.  Each opener, a
 * reaper, a repair and a removal refuse it, with words; whoever had the right
 * one open still finds the key busy.  The right file under its name again is
 * believed; another that has its device and inode numbers is not.
 *
 * Otherwise all holders would count as dead, and their keys would be granted
 * twice.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <leasehold/repair.h>
#include "replay.h"
#include "reaper/reap.h"
#include "shm/live_file.h"
#include "shm/table_object.h"
#include "support/object.h"

static const char *table;
static char live[256], kept[300];

/* The result of lh_open() with those flags; fails if the key is free there. */
static int
opened(uint32_t flags)
{
	struct lh_open_opts o = replay_opts(0);
	struct lh_lease l;
	struct lh *lh;
	int r;

	o.flags = flags;
	r = lh_open(&lh, table, &o);
	if (r != 0)
		return r;
	if (!(flags & LH_LOOK) && replay_try(lh, "k", &l) == 0)
		fail("the key of a living holder is granted");
	(void)lh_close(lh);
	return 0;
}

/* By everybody who would ask through it. */
static void
refused(const char *what)
{
	struct lhi_reaper *r = NULL;

	is(opened(0), -EUCLEAN, "%s: an opener refuses it", what);
	ok(strstr(lh_error_detail(), "is not the file of that name that the "
	    "table was made with") != NULL, "with words: %s",
	    lh_error_detail());
	is(opened(LH_LOOK), -EUCLEAN, "and who only looks");
	is(lhi_reap_open(&r, t_object(table)), -EUCLEAN, "and a reaper");
	lhi_reap_close(r);
	is(lh_table_repair(table, LH_DRY_RUN, NULL, NULL), -EUCLEAN,
	    "it is not called sound");
	is(lh_table_repair(table, 0, NULL, NULL), -EUCLEAN, "nor repaired");
	is(lh_table_remove(table, 0), -EUCLEAN, "nor removed just so");
}

static void
make_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || close(fd) != 0)
		bail_out("cannot make %s: %s", path, strerror(errno));
}

/* The header says of its live file what only another one would fit, one fact
 * at a time: that is how another file of the same numbers looks. */
static void
other_facts(void)
{
	struct t_object object = t_map_object(table);
	shm_u64 *fact[] = { &object.h->live_device, &object.h->live_inode,
	    &object.h->live_born, &object.h->live_handle };
	static const char *const name[] = { "another device", "another inode",
	    "another birth time", "another handle" };

	for (size_t i = 0; i < sizeof(fact) / sizeof(fact[0]); i++) {
		uint64_t was = sh64_load(fact[i]);

		if (was == 0) {
			diag("%s: the kernel does not say it here", name[i]);
			continue;
		}
		sh64_store(fact[i], was ^ 4);
		sh64_store(&object.h->header_sum, lhi_object_sum(object.h));
		refused(name[i]);
		sh64_store(fact[i], was);
		sh64_store(&object.h->header_sum, lhi_object_sum(object.h));
	}
	t_unmap_object(&object);
}

static void
find_file(void)
{
	const char *object = t_object(table);
	struct t_object o = t_map_object(table);
	char leaf[TABLE_LEAF_MAX];

	lhi_live_file_leaf(leaf, object, sh64_load(&o.h->uuid[0]));
	(void)snprintf(live, sizeof(live), "%.*s/%s",
	    (int)(strrchr(object, '/') - object), object, leaf);
	(void)snprintf(kept, sizeof(kept), "%s.kept", live);
	t_unmap_object(&o);
	t_remove_at_exit(kept);
}

int
main(void)
{
	struct lh_acquire_more strict = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_lease k, s, l;
	struct lh *lh, *early;

	table = replay_begin();
	lh = replay_open(table, 0);
	early = replay_open(table, 0);
	k = t_hold(lh, "k");
	strict.policy = LH_POLICY_STRICT;
	o.more = &strict;
	is(lh_acquire(lh, "s", &o, &s), 0, "held under policy strict");
	find_file();
	is(link(live, kept), 0, "the file gets another name");
	is(unlink(live), 0, "and loses its own");
	is(opened(0), -EUCLEAN, "a missing one is refused");
	make_file(live);
	refused("made anew");
	is(unlink(live), 0, "removed");
	make_file(live);
	is(chmod(live, 0660), 0, "as another has it");
	refused("of another mode");
	is(replay_try(early, "k", &l), -EAGAIN, "who was attached finds it "
	    "busy");
	is(replay_try(early, "s", &l), -EAGAIN, "and the other one");
	is(rename(kept, live), 0, "the right one is put back");
	is(opened(0), 0, "and is believed: %s", lh_error_detail());
	other_facts();
	is(opened(0), 0, "it is believed: %s", lh_error_detail());
	is(lh_verify(lh, &k), 0, "the key was held all the time");
	is(lh_verify(lh, &s), 0, "and the other one");
	is(unlink(live), 0, "removed");
	make_file(live);
	is(lh_table_remove(table, LH_FORCE), 0, "removed by force");
	ok(access(live, F_OK) != 0, "with what stood there");
	t_close(early);
	t_close(lh);
	lh = replay_open(table, 0);
	is(replay_try(lh, "k", &l), 0, "the next table can be used");
	cmp(l.token, >, k.token, "its tokens go on");
	t_close(lh);
	return done();
}
