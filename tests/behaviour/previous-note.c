/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G9: a grant's notes say how the holder before it ended, if
 * uncleanly, and only that one: expired, died, or nothing; on each path to a
 * grant, and not a second time.  The cause survives when another process (a
 * status call, a try, a process that reuses the dead session) was the first to
 * notice.
 *
 * Otherwise the next holder would not check state that may be half changed, or
 * would check it without a reason.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

enum end { RELEASED, EXPIRED, DIED };
enum first { NOBODY, STATUS, OPEN };

static const uint32_t want[] = { 0, LH_NOTE_PREVIOUS_EXPIRED,
	LH_NOTE_PREVIOUS_DIED };
static const char *const ends[] = { "released", "expired", "died" };
static const char *const firsts[] = { "nobody", "a question", "a newcomer" };

static const char *table;
static struct lh *lh;
static uint64_t last_token;

/* The expired holder stays stopped: its closing would be a late release. */
static struct t_actor *stopped;

static void
hold_and_end(const char *key, enum end end)
{
	struct t_actor *a = t_actor(table);

	is(t_do_acquire(a, key, end == EXPIRED ? t_ms(10) : 3600000,
	    T_HANG_MS), 0, "a holder");
	last_token = a->lease.token;
	if (end == RELEASED)
		is(t_do_release(a), 0, "releases");
	if (end == EXPIRED) {
		t_stop(a->pid);
		t_sleep_until(a->lease.expires_ns + T_NS_PER_MS);
		stopped = a;
	} else if (end == DIED) {
		t_actor_kill(a);
		t_actor_free(a);
	} else {
		t_actor_end(a);
	}
}

/* How: by name without waiting, with waiting, by opened key. */
static void
next_grant(const char *key, int how, uint32_t notes, const char *what)
{
	struct lh_acquire_opts o = t_opts(3600000, how == 0 ? 0 : T_HANG_MS);
	struct lh_lease l;
	struct lh_key *k;
	int r;

	is(lh_key_open(lh, key, 0, &k), 0, "opened");
	/* the death of a killed process may take a moment to show */
	if (how == 0) {
		if (!t_until(T_HANG_MS, (r = lh_acquire(lh, key, &o, &l)) !=
		    -EAGAIN))
			diag("a try is busy for ever");
	} else {
		r = how == 1 ? lh_acquire(lh, key, &o, &l) :
		    lh_key_acquire(k, &o, &l);
	}
	is(r, 0, "%s: granted", what);
	if (r != 0)
		bail_out("%s", lh_error_detail());
	is(l.notes, notes, "%s: notes", what);
	cmp(l.token, >, last_token, "%s: larger token", what);
	last_token = l.token;
	is(lh_release(lh, &l), 0, "released");
	is(lh_key_close(k), 0, "closed");
}

static void
ways(enum end end, enum first first)
{
	struct lh_open_opts o = t_open_opts();
	char what[64];

	for (int how = 0; how < 3; how++) {
		const char *key = how == 1 ? "b" : "a";
		struct lh *newcomer;

		snprintf(what, sizeof(what), "%s, %s noticed, way %d",
		    ends[end], firsts[first], how);
		hold_and_end(key, end);
		if (first == STATUS)
			ok(t_until(T_HANG_MS, t_holders(lh, key) == 0),
			    "a question notices");
		if (first == OPEN) {
			/* takes the place of a dead one, or not */
			is(lh_open(&newcomer, table, &o), 0, "a newcomer");
			is(lh_close(newcomer), 0, "comes and goes");
		}
		next_grant(key, how, want[end], what);
		next_grant(key, how, 0, "and after that");
		if (end == EXPIRED) {
			t_cont(stopped->pid);
			is(t_do_release(stopped), -ESTALE, "it was lost");
			t_actor_end(stopped);
			next_grant(key, how, 0, "and after all");
		}
	}
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();

	/* few sessions, so that newcomers sit where the dead sat */
	o.max_sessions = 3;
	table = t_table();
	if (lh_open(&lh, table, &o) != 0)
		bail_out("%s", lh_error_detail());
	for (int end = RELEASED; end <= DIED; end++)
		for (int first = NOBODY; first <= OPEN; first++)
			ways((enum end)end, (enum first)first);
	t_close(lh);
	return done();
}
