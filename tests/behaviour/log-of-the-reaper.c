/* SPDX-License-Identifier: MIT */
/*
 * lh_log(): the reaper has no session, and its actions are recorded in the ring
 * of the session that they concern; so is a lease that an operator broke.
 *
 * Otherwise nobody could find out why a lease ended.
 */
#include <errno.h>
#include "behaviour/reaping.h"
#include "support/actor.h"
#include "tap.h"

struct seen {
	struct lh_log_entry expired, died, found, buried, broken, told;
};

static int
look(const struct lh_log_entry *e, void *arg)
{
	struct seen *s = arg;

	switch (e->kind) {
	case LH_LOG_EXPIRED:
		s->expired = *e;
		break;
	case LH_LOG_FREED_DEAD:
		s->died = *e;
		break;
	case LH_LOG_FOUND_DEAD:
		s->found = *e;
		break;
	case LH_LOG_BURIED:
		s->buried = *e;
		break;
	case LH_LOG_BROKEN:
		s->broken = *e;
		break;
	case LH_LOG_TOLD_LOST:
		s->told = *e;
		break;
	}
	return 0;
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct t_actor *slow = t_actor(table), *dead = t_actor(table);
	struct lh_lease mine = t_hold(lh, "mine");
	struct lh_stats st = { .size = sizeof(st) };
	struct seen s = { 0 };
	struct lhi_reaper *r;
	int64_t next_ns;
	pid_t pid;

	is(t_do_acquire(slow, "x", 30, 0), 0, "one for a while");
	is(t_do_acquire(dead, "y", 3600000, 0), 0, "one for long");
	pid = dead->pid;
	t_actor_kill(dead);
	t_sleep_ms(50);
	is(lhi_reap_open(&r, t_object(table)), 0, "a reaper");
	ok(t_until(T_HANG_MS, lhi_reap_pass(r, t_now_ns(), &next_ns) == 0 &&
	    lh_stats(lh, &st) == 0 && st.counters.deaths == 1 &&
	    st.counters.died == 1 && st.counters.expired_others == 1),
	    "finds both");
	ok(t_until(T_HANG_MS, lhi_reap_pass(r, t_now_ns(), &next_ns) == 0 &&
	    lh_log(table, NULL, look, &s) == 0 && s.buried.size != 0),
	    "and clears away");
	lhi_reap_close(r);
	is(s.expired.token, slow->lease.token, "the log tells: what ran out");
	is(s.expired.visitor, 1, "  by a visitor");
	is(s.expired.session_id, 0, "  of no session");
	is(s.expired.other_pid, slow->pid, "  whose it was");
	is(s.died.token, dead->lease.token, "what was taken from the dead");
	is(s.died.visitor, 1, "  by a visitor");
	is(s.found.other_pid, pid, "who was found dead");
	is(s.buried.other_pid, pid, "and cleared away");
	is_str(s.expired.key != NULL ? "known" : "not", "known", "by name");
	is(t_do_acquire(slow, "x", 3600000, 0), 0, "again");
	is(lh_break(lh, "mine", NULL, 0), 1, "one's own is broken");
	is(lh_release(lh, &mine), -ESTALE, "and its holder's lease is lost");
	is(lh_log(table, NULL, look, &s), 0, "the log tells");
	is(s.broken.token, mine.token, "what was broken");
	is(s.broken.visitor, 0, "by a session");
	ok(s.broken.session_id == lh_session_id(lh), "by ours");
	is(s.told.ending, LH_ENDED_BROKEN,
	    "and the log says to whom that was reported");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.counters.broken, 1, "count it");
	t_actor_end(slow);
	t_actor_free(dead);
	t_close(lh);
	return done();
}
