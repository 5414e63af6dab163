/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of acquires and releases with a request id, and with words:
 * see scenario.h.
 *
 * Whoever is killed leaves a record of a dead session, at which lh_check()
 * looks.  That such a record is taken over, or reused, is replayed
 * (replay/g-request-*.c).
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
prep_info(struct play *p)
{
	prep_warm(p);
	name_request(0);
}

static void
prep_request(struct play *p)
{
	prep_warm(p);
	name_request(1);
}

/* The index has its memory, and some entries. */
static void
prep_request_warm(struct play *p)
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
prep_request_try(struct play *p)
{
	prep_request_warm(p);
	sub.opts.max_wait_ms = 0;
}

static void
prep_request_long(struct play *p)
{
	prep_request_warm(p);
	sub.opts.max_wait_ms = 20000;
}

static void
prep_request_shared(struct play *p)
{
	prep_request_warm(p);
	sub.opts.mode = LH_SHARED;
}

/* KEY is held by request 1. */
static void
hold(struct play *p, int64_t ttl_ms)
{
	prep_request_warm(p);
	sub.opts.ttl_ms = ttl_ms;
	sub_must(p, lh_key_acquire(sub.key, &sub.opts, &p->lease),
	    "hold the key");
	p->has_lease = true;
	play_saw_token(p, p->lease.token);
}

static void
prep_granted(struct play *p)
{
	hold(p, p->ttl_ms);
}

static void
prep_granted_lapsed(struct play *p)
{
	hold(p, 2);
	while (lh_clock_ns(sub.lh) < p->lease.expires_ns)
		play_nap_us(100);
}

static void
act_release_request(struct play *p)
{
	const uint64_t id[2] = { 1, 0 };

	p->result = lh_release_request(sub.lh, NULL, id);
}

/* A repeat of what was granted: nothing is to change. */
static void
act_repeat(struct play *p)
{
	struct lh_lease again;

	p->result = lh_key_acquire(sub.key, &sub.opts, &again);
	if (p->result == 0 && (again.token != p->lease.token ||
	    again.id[1] != p->lease.id[1]))
		blame(p, "G10: a repeat has got token %llu, not %llu",
		    (unsigned long long)again.token,
		    (unsigned long long)p->lease.token);
}

const struct scenario scenarios_requests[] = {
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
	{ .name = "request-busy", .what = "... in vain", .roles = { HOLDER },
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
};

const int n_scenarios_requests = sizeof(scenarios_requests) /
    sizeof(scenarios_requests[0]);
