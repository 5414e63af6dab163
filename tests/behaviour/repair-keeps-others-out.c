/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G12, crash row M1: while a table is repaired nobody can
 * open it, and nobody waits for ever.  When the repairer is killed before it
 * has changed anything, the table is unchanged; killed later, the table is
 * refused until it is repaired again, and can be inspected.
 *
 * Otherwise a process would work in a table that is half repaired.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "support/child.h"
#include "support/object.h"
#include "support/part.h"
#include "support/reaper.h"
#include "support/support.h"
#include "tap.h"

static const char *table;
static struct t_event *telling;

static void
stay(const char *what, void *arg)
{
	(void)what;
	(void)arg;
	t_post(telling);
	for (;;)
		pause();
}

static int
repair(void *arg)
{
	(void)arg;
	return lh_table_repair(table, 0, stay, NULL);
}

static bool
says(const char *word)
{
	return strstr(lh_error_detail(), word) != NULL;
}

static void
while_it_is_repaired(struct t_object *o)
{
	struct lh *lh;
	int64_t began;
	pid_t pid;

	sh32_store(&o->h->flags, SHM_DAMAGED);
	pid = t_fork(repair, NULL);
	ok(t_await(telling, 1, T_HANG_MS), "somebody repairs a table");
	began = t_now_ns();
	is(lh_open(&lh, table, NULL), -EBUSY, "it cannot be opened");
	cmp(t_since_ms(began), <, t_ms(2000), "which is said soon");
	ok(says("repaired"), "  and why: %s", lh_error_detail());
	is(lh_table_repair(table, 0, NULL, NULL), -EBUSY,
	    "nor repaired by another");
	is(lh_table_remove(table, 0), -EBUSY, "nor removed");
	t_kill(pid);
	is(lh_open(&lh, table, NULL), 0, "killed, it hinders nobody");
	is(lh_close(lh), 0, "close");
}

static void
cut_short(struct t_object *o)
{
	const struct lh_dump_to to = { .size = sizeof(to) };
	struct lhi_reaper *r = t_reaper(table);
	struct lh *lh;

	sh64_store(&o->h->repair, SHM_REPAIR_NOTE);
	sh32_store(&o->h->flags, SHM_REPAIRING);
	is(t_pass(r, NULL), 0, "a reaper that is there already");
	is(lhi_reap_count(r)->passes, 0, "  keeps away");
	is(lh_open(&lh, table, NULL), -EUCLEAN, "a repair cut short: refused");
	ok(says("fsck --repair"), "  it says what to do");
	is(lh_dump(table, NULL, 0, &to, NULL), 0, "it can be looked at");
	is(lh_table_repair(table, 0, NULL, NULL), 1, "and repaired");
	is(t_pass(r, NULL), 0, "then the reaper comes back");
	is(lhi_reap_count(r)->passes, 1, "  and makes a pass");
	lhi_reap_close(r);
	lh = t_open(table);
	t_close(lh);
	sh64_store(&o->h->repair, SHM_REPAIR_NOTE);
	sh32_store(&o->h->flags, SHM_REPAIRING);
	is(lh_table_remove(table, 0), -EUCLEAN, "it is not removed");
	is(lh_table_remove(table, LH_FORCE), 0, "but by force");
}

static void
bad_input(void)
{
	const char *none = t_table();

	is(lh_table_repair(none, 0, NULL, NULL), -ENOENT, "no table");
	is(lh_table_repair(none, LH_CREATE_ONLY, NULL, NULL), -EINVAL,
	    "a flag that makes no sense");
	is(lh_table_repair("no/name", 0, NULL, NULL), -EINVAL, "no name");
}

static void
play(void)
{
	struct t_object o;
	struct lh *lh;

	table = t_table();
	telling = t_shared(sizeof(*telling));
	lh = t_open(table);
	o = t_map_object(table);
	is(lh_table_repair(table, 0, NULL, NULL), -EBUSY,
	    "not while this process is attached");
	t_close(lh);
	while_it_is_repaired(&o);
	cut_short(&o);
	bad_input();
	t_unmap_object(&o);
}

int
main(void)
{
	t_part(play, 1000, "repair keeps others out");
	return done();
}
