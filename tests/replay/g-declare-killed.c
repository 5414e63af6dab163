/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G12: a repair by force declares dead a session that no lock
 * proves dead, and is killed or stopped at each point of that.  Killed, the
 * next repair by force comes to its end, and the key goes on with a larger
 * token.  Stopped beside a living user, it delays that user in nothing, does
 * not declare it dead, and is refused at its end.
 *
 * Otherwise a killed repair would leave a table that nobody can repair.
 */
#include <errno.h>
#include <unistd.h>
#include "replay.h"
#include "support/object.h"

static const char *const points[] = { "declare.locked", "declare.looked",
	"declare.declared", "mend.noted" };
#define POINTS ((int)(sizeof(points) / sizeof(points[0])))

static const char *table;

static int
die_holding(void *arg)
{
	struct lh_open_opts o = replay_opts(0);
	struct lh *lh;

	(void)arg;
	if (lh_open(&lh, table, &o) != 0)
		return 1;
	(void)t_hold(lh, "k");
	_exit(0);
}

/* Leaves a dead holder of "k" whose death no lock proves. */
static void
leave_unproved(void)
{
	struct t_object o;

	is(t_reap(t_fork(die_holding, NULL), T_HANG_MS), 0, "a holder ends");
	o = t_map_object(table);
	for (uint32_t i = 0; i < o.geo.max_sessions; i++) {
		uint64_t s = sh64_load(&o.sessions[i].state);
		pid_t pid = (pid_t)sh32_load(&o.sessions[i].pid);

		if (sess_st(s) == SESS_ALIVE && pid != getpid())
			sh64_store(&o.sessions[i].state, sess_make(SESS_ALIVE,
			    SESS_NOPROOF, sess_inc(s)));
	}
	t_unmap_object(&o);
}

static int
repair_by_force(void *arg)
{
	(void)arg;
	return lh_table_repair(table, LH_FORCE, NULL, NULL);
}

/* Damages the table, so that the repair goes beyond its judgement. */
static void
damage(void)
{
	struct t_object o = t_map_object(table);

	(void)sh32_fetch_or(&o.h->flags, SHM_DAMAGED);
	t_unmap_object(&o);
}

static void
killed_at(const char *point)
{
	struct lh_lease before, after;
	struct lh *lh = replay_open(table, 0);

	is(replay_try(lh, "k", &before), 0, "%s: a token", point);
	is(lh_release(lh, &before), 0, "  released");
	t_close(lh);
	leave_unproved();
	damage();
	replay_killed_at("R", point, repair_by_force, NULL);
	cmp(repair_by_force(NULL), >=, 0, "  the next repair: %s",
	    lh_error_detail());
	lh = replay_open(table, 0);
	is(replay_try(lh, "k", &after), 0, "  the key is free");
	cmp(after.token, >, before.token, "  with a larger token");
	is(lh_release(lh, &after), 0, "  released");
	t_close(lh);
}

static void
stopped_at(const char *point)
{
	struct lh *lh = replay_open(table, 0);
	struct lh_lease mine, l;

	mine = t_hold(lh, "mine");
	is(t_reap(t_fork(die_holding, NULL), T_HANG_MS), 0, "a holder ends");
	replay_stop("R", point, repair_by_force, NULL);
	is(replay_try(lh, "other", &l), 0, "%s: stopped beside a user", point);
	is(lh_release(lh, &l), 0, "  who goes on");
	is(lh_verify(lh, &mine), 0, "  and holds what it held");
	is(replay_finish("R"), -EBUSY, "  then it is refused");
	is(lh_verify(lh, &mine), 0, "  and the user still lives");
	is(replay_try(lh, "k", &l), 0, "  the dead one's key is free");
	is(lh_release(lh, &l), 0, "  released");
	is(lh_release(lh, &mine), 0, "  all of it");
	t_close(lh);
}

int
main(void)
{
	table = replay_begin();
	for (int i = 0; i < POINTS; i++)
		killed_at(points[i]);
	for (int i = 0; i < POINTS - 1; i++)
		stopped_at(points[i]);
	return done();
}
