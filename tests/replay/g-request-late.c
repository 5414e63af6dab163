/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G10, crash rows AQ1 to AQ4: a caller makes a request, and is
 * stopped while it writes the request down, when others can see it, and when it
 * has found itself alone.  Another caller makes the same request meanwhile:
 * both must return the same lease.  The same when the first is killed there, in
 * a named session; and two callers that release one request's lease must both
 * succeed.
 *
 * Otherwise one request would hold the key twice, or a repeated request would
 * fail although the first was granted.
 */
#include "replay.h"
#include "shm/request_record.h"

static struct lh *lh;

struct job {
	/* if set: attach to it, and open the session "s" */
	const char *table;
	const char *key;
	uint64_t id;
	bool release;		/* by the id */
	struct lh_lease lease;
};

static int
run(void *arg)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 2000);
	struct job *j = arg;
	struct lh *mine = lh;
	const uint64_t id[2] = { j->id, 0 };

	if (j->table != NULL) {
		mine = replay_open(j->table, 0);
		if (lh_session_open(mine, "s", NULL, &more.session) != 0)
			return -EINVAL;
	}
	if (j->release)
		return lh_release_request(mine, more.session, id);
	o.more = &more;
	more.request[0] = j->id;
	return lh_acquire(mine, j->key, &o, &j->lease);
}

static void
late(const char *point, uint64_t id)
{
	struct job a = { .key = "k", .id = id }, b = a;

	replay_stop("late", point, run, &a);
	is(run(&b), 0, "one is stopped at %s, the other is granted the key",
	    point);
	is(t_holders(lh, "k"), 1, "one lease");
	is(replay_finish("late"), 0, "the late one is granted it as well");
	is(a.lease.token, b.lease.token, "by the same lease");
	is(t_holders(lh, "k"), 1, "one lease");
	is(lh_release(lh, &b.lease), 0, "released");
	is(lh_release(lh, &a.lease), 0, "and released by the other caller");
	is(t_findings(lh), 0, "the index is sound");
}

/* Both have asked: the one that goes on first removes the other's record. */
static void
both_asked(uint64_t id)
{
	struct job a = { .key = "k", .id = id }, b = a;

	replay_stop("a", "request.alone", run, &a);
	/* it has seen that a is ASKED */
	replay_stop("b", "request.rival", run, &b);
	replay_release("a");	/* whose state is PENDING or later now */
	is(replay_result("a"), 0, "the first is granted the key");
	is(replay_finish("b"), 0, "the second returns that");
	is(b.lease.token, a.lease.token, "by the same lease");
	is(lh_release(lh, &a.lease), 0, "released");
	is(t_findings(lh), 0, "the index is sound");
}

static void
released_twice(uint64_t id)
{
	struct job a = { .key = "k", .id = id }, r = a, s = a;

	r.release = s.release = true;
	is(run(&a), 0, "granted");
	replay_stop("one", "request.leaves", run, &r);
	is(run(&s), 0, "another caller releases it, too");
	is(t_holders(lh, "k"), 0, "the key is free");
	is(replay_finish("one"), 0, "both releases succeed");
	is(run(&s), 0, "so does one more");
}

static void
killed(const char *table, const char *point, uint64_t id)
{
	struct job *a = t_shared(sizeof(*a)), b = { .table = table,
	    .key = "k", .id = id };
	const uint64_t request[2] = { id, 0 };
	struct lh_session *s;

	*a = b;
	replay_hold("dead", point);
	replay_fork("dead", run, a);
	replay_wait_held("dead");
	replay_kill("dead");
	is(run(&b), 0, "killed at %s: another process is granted it", point);
	is(t_holders(lh, "k"), 1, "one lease");
	is(t_findings(lh), 0, "the index is sound");
	is(lh_session_open(lh, "s", NULL, &s), 0, "the session");
	is(lh_release_request(lh, s, request), 0, "released");
	is(t_holders(lh, "k"), 0, "the key is free");
	lh_session_close(s);
}

int
main(void)
{
	const char *table = replay_begin();
	static const char *const points[] = { "request.taken", "request.half",
	    "request.asked", "request.alone", "request.announced",
	    "acquire.granted", "handoff.announced", "handoff.swapped",
	    "request.done" };

	lh = replay_open(table, 0);
	late("request.taken", 1);
	late("request.half", 2);
	late("request.asked", 3);
	late("request.alone", 4);
	both_asked(5);
	released_twice(6);
	for (unsigned i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		killed(table, points[i], 100 + i);
	t_close(lh);
	return done();
}
