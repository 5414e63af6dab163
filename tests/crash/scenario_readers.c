/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of shared leases: see scenario.h.
 *
 * A chain is built by who comes in which order: the last comer is the head.
 * A release while nobody waits, next to other readers, stays in it, idle.  A
 * release while somebody waits leaves it, but stays linked if it is not the
 * head.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "crash/subject.h"

static void
prep_reader(struct trial *p)
{
	prep_warm(p);
	sub.opts.mode = LH_SHARED;
}

/* With a switch: that is not for the fast path. */
static void
prep_reader_slow(struct trial *p)
{
	prep_reader(p);
	sub.opts.cancel = &sub.cancel;
}

static void
prep_reader_bare(struct trial *p)
{
	prep_bare(p);
	sub.opts.mode = LH_SHARED;
}

static void
prep_reader_try(struct trial *p)
{
	prep_reader(p);
	sub.opts.max_wait_ms = 0;
}

static void
prep_reader_brief(struct trial *p)
{
	prep_reader(p);
	sub.opts.max_wait_ms = p->wait_ms;
}

static void
prep_reader_long(struct trial *p)
{
	prep_reader(p);
	sub.opts.max_wait_ms = SUB_WAIT_MS;
}

/* Alone again and again, so that it stays in the chain, idle. */
static void
prep_lone(struct trial *p)
{
	struct lh_lease lease;

	prep_reader(p);
	for (int i = 0; i < 40; i++) {
		sub_must(p, lh_key_acquire(sub.key, &sub.opts, &lease), "read");
		sub_must(p, lh_release(sub.lh, &lease), "release");
	}
}

static void
prep_lone_reading(struct trial *p)
{
	prep_lone(p);
	sub_hold(p, p->ttl_ms);
}

static void
prep_lone_followed(struct trial *p)
{
	prep_lone(p);
	sub_hold(p, SUB_LONG_MS);
	flag_set(&p->cue, 1);
	sub_await_waiters(p, 1);
	sub_must(p, lh_extend(sub.lh, &p->lease, p->ttl_ms), "extend");
}

static void
prep_reading(struct trial *p)
{
	prep_reader(p);
	sub_hold(p, p->ttl_ms);
}

/* Released among others: idle. */
static void
prep_idle(struct trial *p)
{
	prep_reader(p);
	sub_hold(p, p->ttl_ms);
	sub_must(p, lh_release(sub.lh, &p->lease), "release");
	p->has_lease = false;
}

static void
prep_reader_lapsed(struct trial *p)
{
	prep_reader(p);
	sub_hold(p, 2);
	while (lh_clock_ns(sub.lh) < p->lease.expires_ns)
		trial_nap_us(100);
}

/* A reader's lease that is over, and part 0, a writer, has the key. */
static void
prep_reader_overtaken(struct trial *p)
{
	prep_reader_lapsed(p);
	sub_cue(p, 0, PART_HOLDS);
}

/* The lease begins when everybody is in place. */
static void
prolong(struct trial *p)
{
	sub_must(p, lh_extend(sub.lh, &p->lease, p->ttl_ms), "extend");
}

/* Reading, and part 0 queued behind. */
static void
prep_reading_followed(struct trial *p)
{
	prep_reader(p);
	sub_hold(p, SUB_LONG_MS);
	sub_cue(p, 0, PART_WAITS);
	sub_await_waiters(p, 1);
	prolong(p);
}

/* At the head; part 0 has left behind us, part 1 waits. */
static void
prep_reading_head(struct trial *p)
{
	prep_reader(p);
	sub_hold(p, SUB_LONG_MS);
	sub_cue(p, 1, PART_WAITS);
	sub_await_waiters(p, 1);
	flag_set(&p->part[0].order, ORDER_RELEASE);
	if (!flag_wait(&p->part[0].state, PART_LEFT, 2000))
		blame(p, "staging: a reader does not leave");
	prolong(p);
}

/* Behind part 0; part 1 waits. */
static void
prep_reading_middle(struct trial *p)
{
	prep_reader(p);
	sub_hold(p, SUB_LONG_MS);
	sub_cue(p, 0, PART_HOLDS);
	sub_cue(p, 1, PART_WAITS);
	sub_await_waiters(p, 1);
	prolong(p);
}

static void *
hold_elsewhere(void *arg)
{
	struct trial *p = arg;

	sub_hold(p, p->ttl_ms);
	flag_set(&p->elsewhere, 1);
	for (;;)
		pause();
	return NULL;
}

/* Another thread has acquired it. */
static void
prep_reading_elsewhere(struct trial *p)
{
	pthread_t thread;

	prep_reader(p);
	if (pthread_create(&thread, NULL, hold_elsewhere, p) != 0 ||
	    !flag_wait(&p->elsewhere, 1, 2000))
		blame(p, "staging: no thread that reads");
}

/*
 * An idle claim between two readers, and no free one: the next acquire takes it
 * back.
 */
static void
prep_recall(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(SUB_LONG_MS, 0);
	struct lh_lease lease;
	char name[32];

	prep_reader(p);
	sub_hold(p, p->ttl_ms);
	sub_cue(p, 1, PART_HOLDS);
	for (int i = 0; i < 7; i++) {
		(void)snprintf(name, sizeof(name), "mine-%d", i);
		sub_must(p, lh_acquire(sub.lh, name, &o, &lease), name);
	}
	sub_must(p, lh_release(sub.lh, &p->lease), "release");
	p->has_lease = false;
}

/*
 * In the chain of KEY a reader, an idle one, and one that has left from the
 * middle, with part 0 at the head, and part 1 waiting; one on THIRD besides.
 */
static void
prep_close(struct trial *p)
{
	struct lh_acquire_opts o = participant_read_opts(SUB_LONG_MS, 0);
	struct lh_lease idle, left;

	prep_reader(p);
	sub_must(p, lh_acquire(sub.lh, THIRD, &o, &sub.third), "a third");
	sub_must(p, lh_key_acquire(sub.key, &o, &left), "read");
	sub_must(p, lh_key_acquire(sub.key, &o, &idle), "read");
	sub_hold(p, SUB_LONG_MS);
	sub_must(p, lh_release(sub.lh, &idle), "release");
	sub_cue(p, 0, PART_HOLDS);
	sub_cue(p, 1, PART_WAITS);
	sub_await_waiters(p, 1);
	sub_must(p, lh_release(sub.lh, &left), "leave");
	prolong(p);
}

/* Holding exclusively; parts 0 and 1 wait. */
static void
prep_holding_crowd(struct trial *p)
{
	prep_warm(p);
	sub_hold(p, SUB_LONG_MS);
	for (int i = 0; i < p->n_parts; i++) {
		sub_cue(p, i, PART_WAITS);
		sub_await_waiters(p, (uint32_t)i + 1);
	}
	prolong(p);
}

static void
act_acquire_third(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(p->ttl_ms, 1000);

	p->result = lh_acquire(sub.lh, THIRD, &o, &p->lease);
	p->has_lease = p->result == 0;
}

static void
act_downgrade(struct trial *p)
{
	p->result = lh_convert(sub.lh, &p->lease, LH_SHARED);
	sub_granted(p);
}

static void
act_upgrade(struct trial *p)
{
	p->result = lh_convert(sub.lh, &p->lease, LH_EXCLUSIVE);
	sub_granted(p);
}

void
finish_convert(struct trial *p)
{
	int error;

	if (p->result == 0 || p->result == -ESTALE) {
		finish_acquire(p);
		return;
	}
	if (sub_plausible(p)) {
		sub_no_overlap(p);
		error = lh_release(sub.lh, &p->lease);
		if (error != 0 && error != -ESTALE)
			blame(p, "release after a refusal: %s",
			    lh_strerror(error));
	}
	sub_let_go(p);
}

static const struct scenario scenarios_readers[] = {
	{ .name = "shared-free", .what = "read an opened, free key",
	  .stop_ttl_ms = 120, .prepare = prep_reader, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "shared-free-slow", .what = "the same, the slow way",
	  .prepare = prep_reader_slow, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "shared-first", .what = "a process's first lease, by name",
	  .roles = { FOUNDER }, .prepare = prep_reader_bare,
	  .act = act_acquire_name, .finish = finish_acquire },
	{ .name = "shared-join", .what = "join two readers",
	  .roles = { READER, READER }, .stop_ttl_ms = 120,
	  .prepare = prep_reader, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "shared-join-slow", .what = "join two readers, the slow way",
	  .roles = { READER, READER }, .prepare = prep_reader_slow,
	  .act = act_acquire, .finish = finish_acquire },
	{ .name = "shared-revive", .what = "again, after an idle release",
	  .roles = { READER }, .stop_ttl_ms = 120, .prepare = prep_idle,
	  .act = act_acquire, .finish = finish_acquire },
	{ .name = "shared-lone", .what = "again, always the only reader",
	  .stop_ttl_ms = 120, .prepare = prep_lone, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "shared-lone-release", .what = "the reader that is alone "
	  "stays", .stop_ttl_ms = 120, .prepare = prep_lone_reading,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-lone-release-waiter", .what = "the same, a writer "
	  "waits", .roles = { FOLLOWER }, .prepare = prep_lone_followed,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-try-barred", .what = "try, while a writer waits for "
	  "a reader", .roles = { READER, WAITER }, .prepare = prep_reader_try,
	  .act = act_acquire, .finish = finish_acquire, .allowed = says_busy },
	{ .name = "shared-wait-timeout", .what = "time out behind a writer",
	  .roles = { HOLDER }, .prepare = prep_reader_brief,
	  .min_states = QUEUED_STATES, .act = act_acquire,
	  .finish = finish_acquire, .allowed = says_late },
	{ .name = "shared-wait-granted", .what = "wait for a writer, with two "
	  "readers behind", .roles = { CROWD_YIELDER, READER_BEHIND,
	  READER_BEHIND }, .flags = SC_FIFO, .prepare = prep_reader_long,
	  .act = act_acquire, .finish = finish_acquire },
	{ .name = "shared-release", .what = "the only reader",
	  .stop_ttl_ms = 120, .prepare = prep_reading, .act = act_release,
	  .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-release-waiter", .what = "the only reader, a writer "
	  "waits", .roles = { FOLLOWER }, .prepare = prep_reading_followed,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-release-idle", .what = "one of two, nobody waits",
	  .roles = { READER }, .stop_ttl_ms = 120, .prepare = prep_reading,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-release-head", .what = "at the head, before one that "
	  "has left; a writer waits", .roles = { READER, FOLLOWER },
	  .prepare = prep_reading_head, .act = act_release,
	  .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-release-middle", .what = "behind another; a writer "
	  "waits", .roles = { READER_LATER, FOLLOWER },
	  .prepare = prep_reading_middle, .act = act_release,
	  .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-release-thread", .what = "the only reader, by "
	  "another thread", .stop_ttl_ms = 120,
	  .prepare = prep_reading_elsewhere, .act = act_release,
	  .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-release-thread-2", .what = "one of two, by another "
	  "thread", .roles = { READER }, .prepare = prep_reading_elsewhere,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-release-lapsed", .what = "after its deadline, "
	  "unnoticed", .roles = { READER }, .prepare = prep_reader_lapsed,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-release-stale", .what = "after it was lost to a "
	  "writer", .roles = { TAKER }, .prepare = prep_reader_overtaken,
	  .act = act_release, .finish = finish_lost, .allowed = says_stale },
	{ .name = "shared-break", .what = "the only reader, a writer waits",
	  .roles = { FOLLOWER }, .prepare = prep_reading_followed,
	  .act = act_break, .finish = finish_plain, .allowed = says_stale },
	{ .name = "shared-break-middle", .what = "behind another; a writer "
	  "waits", .roles = { READER_LATER, FOLLOWER },
	  .prepare = prep_reading_middle, .act = act_break,
	  .finish = finish_plain, .allowed = says_stale },
	{ .name = "writer-over-idle", .what = "acquire what two idle ones read",
	  .roles = { IDLER }, .prepare = prep_warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "writer-over-expired", .what = "acquire after readers' "
	  "leases are over", .roles = { READER_LAPSED, IDLER, READER_LAPSED },
	  .prepare = prep_warm, .act = act_acquire, .finish = finish_acquire },
	{ .name = "writer-over-dead", .what = "acquire after readers were "
	  "killed", .roles = { DEAD_READER, DEAD_IDLER, DEAD_READER },
	  .prepare = prep_warm, .act = act_acquire, .finish = finish_acquire },
	{ .name = "writer-try-busy", .what = "try, while somebody reads",
	  .roles = { READER, IDLER }, .prepare = prep_warm_try,
	  .act = act_acquire, .finish = finish_acquire, .allowed = says_busy },
	{ .name = "writer-wait-granted", .what = "wait until a reader leaves, "
	  "idle ones behind it", .roles = { IDLER, READER_YIELDER },
	  .flags = SC_FIFO, .prepare = prep_warm_long, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "shared-recall", .what = "take an idle claim back for "
	  "another key", .roles = { READER, READER_LATER },
	  .prepare = prep_recall, .act = act_acquire_third,
	  .finish = finish_alone },
	{ .name = "downgrade", .what = "nobody waits", .stop_ttl_ms = 120,
	  .prepare = prep_holding, .act = act_downgrade,
	  .finish = finish_convert, .allowed = says_stale },
	{ .name = "downgrade-queued", .what = "two readers and a writer wait",
	  .roles = { READER_FOLLOWER, READER_FOLLOWER, FOLLOWER },
	  .prepare = prep_holding_crowd, .act = act_downgrade,
	  .finish = finish_convert, .allowed = says_stale },
	{ .name = "upgrade", .what = "the only reader", .stop_ttl_ms = 120,
	  .prepare = prep_reading, .act = act_upgrade,
	  .finish = finish_convert, .allowed = says_busy_or_stale },
	{ .name = "upgrade-over", .what = "beside idle, expired and dead ones",
	  .roles = { IDLER, READER_LAPSED, DEAD_READER },
	  .prepare = prep_reading, .act = act_upgrade,
	  .finish = finish_convert, .allowed = says_busy_or_stale },
	{ .name = "upgrade-refused", .what = "beside a living reader",
	  .roles = { READER }, .prepare = prep_reading, .act = act_upgrade,
	  .finish = finish_convert, .allowed = says_busy_or_stale },
	{ .name = "shared-extend", .what = "of two readers",
	  .roles = { READER }, .stop_ttl_ms = 120, .prepare = prep_reading,
	  .act = act_extend, .finish = finish_extend, .allowed = says_stale },
	{ .name = "shared-extend-lapsed", .what = "after its deadline, "
	  "unnoticed", .roles = { READER }, .prepare = prep_reader_lapsed,
	  .act = act_extend, .finish = finish_lost, .allowed = says_stale },
	{ .name = "shared-verify", .what = "of two readers",
	  .roles = { READER }, .prepare = prep_reading, .act = act_verify,
	  .finish = finish_verify, .allowed = says_stale },
	{ .name = "shared-verify-lapsed", .what = "after its deadline, "
	  "unnoticed", .roles = { READER }, .prepare = prep_reader_lapsed,
	  .act = act_verify, .finish = finish_lost, .allowed = says_stale },
	{ .name = "shared-verify-token", .what = "of two readers, by token",
	  .roles = { READER }, .prepare = prep_reading,
	  .act = act_verify_token, .finish = finish_verify,
	  .allowed = says_stale },
	{ .name = "shared-status", .what = "of readers that live, are idle, "
	  "expired, dead", .roles = { READER, IDLER, READER_LAPSED,
	  DEAD_READER }, .prepare = prep_warm, .act = act_status,
	  .finish = finish_plain },
	{ .name = "shared-close", .what = "holding, idle and left; a writer "
	  "waits", .roles = { READER_LATER, FOLLOWER }, .prepare = prep_close,
	  .act = act_close, .finish = finish_plain },
	{ .name = "shared-recycle", .what = "bury one that read, was idle and "
	  "had left, among others", .roles = { READER, KNOT, READER,
	  DEAD_READER, WAITER, CUER_KILLS(2) }, .flags = SC_TIGHT,
	  .act = act_open, .finish = finish_plain },
	{ .name = "acquire-wait-tail", .what = "queue behind two waiters",
	  .roles = { HOLDER, WAITER, READER_WAITER }, .flags = SC_FIFO,
	  .prepare = prep_warm_brief, .min_states = QUEUED_STATES,
	  .act = act_acquire, .finish = finish_acquire,
	  .allowed = says_late },
	{ .name = "acquire-wait-tail-left", .what = "... of whom the last has "
	  "left", .roles = { HOLDER, WAITER, LEFT_WAITER }, .flags = SC_FIFO,
	  .prepare = prep_warm_brief, .min_states = QUEUED_STATES,
	  .act = act_acquire, .finish = finish_acquire,
	  .allowed = says_late },
};

SCENARIOS(scenarios_readers)
