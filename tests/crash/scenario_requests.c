/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of acquires and releases with a request id, and with words:
 * see scenario.h.
 *
 * A killed process leaves a record of a dead session, which lh_check() reads.
 * A named session lives on.  In it another process then repeats the request of
 * the killed one, and gets its lease or else a lease of its own, in any case
 * one; or it releases by the id what the killed one was releasing.
 */
#include <errno.h>
#include "crash/subject.h"

static const int says_busy_anew[] = { -EAGAIN, -EBUSY, 0 };
static const int says_ended[] = { -ESTALE, -ENOENT, 0 };

static struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

static void
name_request(uint64_t id)
{
	more.info = "who asks for it";
	more.request[0] = id;
	more.request[1] = 0;
	sub.opts.more = &more;
}

static void
prep_info(struct trial *p)
{
	prep_warm(p);
	name_request(0);
}

static void
prep_request(struct trial *p)
{
	prep_warm(p);
	name_request(1);
}

/* The index has its memory, and some entries. */
static void
prep_request_warm(struct trial *p)
{
	struct lh_lease lease;

	prep_warm(p);
	for (uint64_t id = 100; id < 104; id++) {
		name_request(id);
		sub_must(p, lh_acquire(sub.lh, THIRD, &sub.opts, &lease),
		    "warm up");
		sub_must(p, lh_release(sub.lh, &lease), "warm up");
	}
	name_request(1);
}

static void
prep_request_try(struct trial *p)
{
	prep_request_warm(p);
	sub.opts.max_wait_ms = 0;
}

static void
prep_request_long(struct trial *p)
{
	prep_request_warm(p);
	sub.opts.max_wait_ms = SUB_WAIT_MS;
}

static void
prep_request_shared(struct trial *p)
{
	prep_request_warm(p);
	sub.opts.mode = LH_SHARED;
}

/* KEY is held by request 1. */
static void
hold(struct trial *p, int64_t ttl_ms)
{
	prep_request_warm(p);
	sub.opts.ttl_ms = ttl_ms;
	sub_must(p, lh_key_acquire(sub.key, &sub.opts, &p->lease),
	    "hold the key");
	p->has_lease = true;
	trial_saw_token(p, p->lease.token);
}

static void
prep_granted(struct trial *p)
{
	hold(p, p->ttl_ms);
}

static void
prep_granted_lapsed(struct trial *p)
{
	hold(p, 2);
	while (lh_clock_ns(sub.lh) < p->lease.expires_ns)
		trial_nap_us(100);
}

static void
act_release_request(struct trial *p)
{
	const uint64_t id[2] = { 1, 0 };

	p->result = lh_release_request(sub.lh, NULL, id);
}

/* A repeat of what was granted: nothing is to change. */
static void
act_repeat(struct trial *p)
{
	struct lh_lease again;

	p->result = lh_key_acquire(sub.key, &sub.opts, &again);
	if (p->result == 0 && (again.token != p->lease.token ||
	    again.id[1] != p->lease.id[1]))
		blame(p, "G10: a repeat has got token %llu, not %llu",
		    (unsigned long long)again.token,
		    (unsigned long long)p->lease.token);
}

static struct lh_session *
open_session(struct trial *p, struct lh *lh, uint32_t flags)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s = NULL;

	o.ttl_ms = SUB_LONG_MS;
	o.flags = flags;
	sub_must(p, lh_session_open(lh, "s", &o, &s), "the session");
	return s;
}

static void
prep_in_session(struct trial *p)
{
	prep_request_warm(p);
	more.session = open_session(p, sub.lh, 0);
}

static void
prep_in_session_shared(struct trial *p)
{
	prep_in_session(p);
	sub.opts.mode = LH_SHARED;
}

static void
prep_held_in_session(struct trial *p)
{
	prep_in_session(p);
	sub.opts.ttl_ms = p->ttl_ms;
	sub_must(p, lh_key_acquire(sub.key, &sub.opts, &p->lease),
	    "hold the key");
	p->has_lease = true;
	trial_saw_token(p, p->lease.token);
}

static int
count_holders(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->n_holders;
	return 0;
}

/* In the living session: one lease, and it can be released. */
static void
repeat_in_session(struct trial *p, struct lh *lh, struct lh_session *s)
{
	const uint64_t id[2] = { 1, 0 };
	struct lh_acquire_opts o = participant_opts(SUB_LONG_MS, 1000);
	struct lh_lease lease;
	uint32_t holders = 0;

	more.session = s;
	more.request[0] = 1;
	o.mode = p->sc->prepare == prep_in_session_shared ? LH_SHARED :
	    LH_EXCLUSIVE;
	o.more = &more;
	sub_must(p, lh_acquire(lh, KEY, &o, &lease), "G10: repeat it");
	trial_saw_token(p, lease.token);
	if (p->has_lease && p->lease.token != lease.token)
		blame(p, "G10: token %llu, and then %llu",
		    (unsigned long long)p->lease.token,
		    (unsigned long long)lease.token);
	sub_must(p, lh_verify(lh, &lease), "G10: and hold it");
	sub_must(p, lh_status(lh, KEY, NULL, count_holders, &holders), "look");
	if (holders != 1)
		blame(p, "G10: there are %u leases", holders);
	sub_must(p, lh_release_request(lh, s, id), "release it by the id");
}

static void
check_in_session(struct trial *p, bool repeat)
{
	const uint64_t id[2] = { 1, 0 };
	struct lh_acquire_opts o = participant_opts(SUB_LONG_MS, 100);
	struct lh *lh = participant_open(p);
	struct lh_session *s = open_session(p, lh, LH_NO_CREATE);
	struct lh_lease lease;

	if (repeat)
		repeat_in_session(p, lh, s);
	sub_must(p, lh_release_request(lh, s, id), "G10: released, again");
	sub_must(p, lh_acquire(lh, KEY, &o, &lease), "G10: so it is free");
	sub_must(p, lh_release(lh, &lease), "release");
	sub_must(p, lh_session_destroy(s), "end the session");
	lh_session_close(s);
	sub_must(p, lh_close(lh), "close");
	checker_check(p);
}

/* Of double crashes: it repeats the request, and is killed doing so. */
static void
recover_repeat(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(SUB_LONG_MS, 1000);
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct lh_lease lease;
	struct lh *lh;

	p->result = lh_open(&lh, p->table, &p->opts);
	if (p->result != 0)
		return;
	so.flags = LH_NO_CREATE;
	more.request[0] = 1;
	o.mode = p->sc->prepare == prep_in_session_shared ? LH_SHARED :
	    LH_EXCLUSIVE;
	o.more = &more;
	if (lh_session_open(lh, "s", &so, &more.session) == 0) {
		if (lh_acquire(lh, KEY, &o, &lease) == 0)
			trial_saw_token(p, lease.token);
		lh_session_close(more.session);
	}
	(void)lh_close(lh);
}

static void check_repeat(struct trial *p) { check_in_session(p, true); }
static void check_release(struct trial *p) { check_in_session(p, false); }

static const struct scenario scenarios_requests[] = {
	{ .name = "acquire-info", .what = "with words for people",
	  .stop_ttl_ms = 120, .prepare = prep_info, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "request-first", .what = "the table's first request id",
	  .stop_ttl_ms = 120, .prepare = prep_request, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "request-new", .what = "a request id", .stop_ttl_ms = 120,
	  .prepare = prep_request_warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "request-shared", .what = "... beside a reader",
	  .roles = { READER }, .stop_ttl_ms = 120,
	  .prepare = prep_request_shared, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "request-busy", .what = "... and find it busy",
	  .roles = { HOLDER },
	  .prepare = prep_request_try, .act = act_acquire,
	  .finish = finish_acquire, .allowed = says_busy_anew },
	{ .name = "request-wait", .what = "... that waits",
	  .roles = { YIELDER }, .flags = SC_FIFO,
	  .prepare = prep_request_long, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "request-again", .what = "... which was granted",
	  .stop_ttl_ms = 120, .prepare = prep_granted, .act = act_repeat,
	  .finish = finish_plain, .allowed = says_stale },
	{ .name = "request-again-lapsed", .what = "... whose lease is over",
	  .prepare = prep_granted_lapsed, .act = act_repeat,
	  .finish = finish_lost, .allowed = says_stale },
	{ .name = "request-release", .what = "release what it was granted",
	  .stop_ttl_ms = 120, .prepare = prep_granted, .act = act_release,
	  .finish = finish_plain, .allowed = says_stale },
	{ .name = "request-release-id", .what = "... by its id",
	  .stop_ttl_ms = 120, .prepare = prep_granted,
	  .act = act_release_request, .finish = finish_plain,
	  .allowed = says_ended },
	{ .name = "request-release-lapsed", .what = "... after its deadline",
	  .prepare = prep_granted_lapsed, .act = act_release_request,
	  .finish = finish_plain, .allowed = says_ended },
	{ .flags = SC_NAMED, .name = "request-session",
	  .what = "in a named session", .stop_ttl_ms = 120,
	  .prepare = prep_in_session, .act = act_acquire,
	  .finish = finish_acquire, .allowed = says_stale,
	  .check = check_repeat, .recover = recover_repeat },
	{ .flags = SC_NAMED, .name = "request-session-shared",
	  .what = "... in shared mode", .stop_ttl_ms = 120,
	  .prepare = prep_in_session_shared, .act = act_acquire,
	  .finish = finish_acquire, .allowed = says_busy_or_stale,
	  .check = check_repeat, .recover = recover_repeat },
	{ .flags = SC_NAMED, .name = "request-session-release",
	  .what = "release what it was granted", .stop_ttl_ms = 120,
	  .prepare = prep_held_in_session, .act = act_release,
	  .finish = finish_plain, .allowed = says_stale,
	  .check = check_release },
};

SCENARIOS(scenarios_requests)
