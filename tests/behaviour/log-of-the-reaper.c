/* SPDX-License-Identifier: MIT */
/*
 * lh_log(): the reaper has no session, and its actions are recorded in the ring
 * of the session that they concern; so is a lease that an operator broke.  The
 * record of a named session may have no ring.  Its end, and that of its lease,
 * are recorded all the same, by the reaper as by a process that only looks.
 *
 * Otherwise nobody could find out why a lease ended.
 */
#include <errno.h>
#include "behaviour/reaping.h"
#include "support/actor.h"
#include "tap.h"

#define MOMENT_MS 100

struct seen {
	struct lh_log_entry expired, died, found, buried, broken, told;
};

static const char *table;

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

static int
ignore(const struct lh_key_info *k, void *arg)
{
	(void)k;
	(void)arg;
	return 0;
}

/* Begins a named session that has a lease on `key`, and ends in a moment. */
static uint64_t
hold_for_a_moment(struct lh *lh, const char *name, const char *key)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_acquire_opts a = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh_lease l = { .token = 0 };

	o.ttl_ms = t_ms(MOMENT_MS);
	is(lh_session_open(lh, name, &o, &m.session), 0, "a named session");
	a.more = &m;
	is(lh_acquire(lh, key, &a, &l), 0, "holds a key: %s",
	    lh_error_detail());
	(void)lh_session_close(m.session);
	return l.token;
}

/* In a table of its own, where no record but ours has had a ring. */
static void
named_session_ends(void)
{
	struct lh *lh = t_open((table = t_table()));
	uint64_t token = hold_for_a_moment(lh, "S", "k"), first;
	struct seen s = { .died = { .token = 0 } };
	struct lh_open_opts o = t_open_opts();
	struct lhi_reaper *r;
	struct lh *looker;
	int64_t next_ns;

	t_sleep_ms(t_ms(MOMENT_MS) + 50);
	is(lhi_reap_open(&r, t_object(table)), 0, "a reaper");
	ok(t_until(T_HANG_MS, lhi_reap_pass(r, t_now_ns(), &next_ns) == 0 &&
	    lh_log(table, NULL, look, &s) == 0 && s.died.token == token),
	    "records that it ended the lease of a named session");
	is(s.died.other_named, 1, "  and that it was one");
	is(s.died.visitor, 1, "  by a visitor");
	lhi_reap_close(r);
	first = s.found.other_session_id;
	(void)hold_for_a_moment(lh, "T", "l");
	t_sleep_ms(t_ms(MOMENT_MS) + 50);
	o.flags |= LH_LOOK;
	is(lh_open(&looker, table, &o), 0, "a process that only looks");
	is(lh_status(looker, "l", NULL, ignore, NULL), 0, "looks at the key");
	is(lh_close(looker), 0, "and closes");
	is(lh_log(table, NULL, look, &s), 0, "the log is read");
	is(s.found.other_named, 1, "the end of a named session is recorded");
	ok(s.found.other_session_id != first, "  which is the second one");
	t_close(lh);
}

int
main(void)
{
	struct lh *lh = t_open((table = t_table()));
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
	named_session_ends();
	return done();
}
