/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G10: one request id for several keys: repeated, it gives the same
 * leases or the same failure.  Also by another process after the first was
 * killed with some of them won, and also if the first call had to begin again.
 *
 * Otherwise a repeated request would hold the keys twice, or none.
 */
#include <errno.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

static const struct lh_item items[] = { { .key = "b" }, { .key = "c" },
	{ .key = "a" } };

static struct lh *lh, *other;
static struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

static struct lh_acquire_opts
asked(uint64_t number, int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(t_long(2000), wait_ms);

	o.flags = LH_NO_DEADLOCK;	/* we hold what we wait for */
	more.request[0] = 77;
	more.request[1] = number << 32;
	o.more = &more;
	return o;
}

static void
same(const struct lh_lease *a, const struct lh_lease *b, const char *how)
{
	for (int i = 0; i < 3; i++)
		ok(a[i].id[0] == b[i].id[0] && a[i].id[1] == b[i].id[1] &&
		    a[i].token == b[i].token, "%s: '%s'", how, items[i].key);
}

static void
granted(void)
{
	struct lh_acquire_opts o = asked(1, 0);
	struct lh_lease l[3], again[3];

	is(lh_acquire_many(lh, items, 3, &o, l), 0, "all keys are acquired");
	is(lh_acquire_many(lh, items, 3, &o, again), 0, "and again");
	same(l, again, "the same");
	is(lh_release_many(lh, again, 3), 0, "released");
	is(lh_release_many(lh, l, 3), 0, "by either struct");
	is(lh_acquire_many(lh, items, 3, &o, l), -ESTALE, "it has ended");
	o = asked(2, 0);
	is(lh_acquire_many(lh, items, 3, &o, l), 0, "another one has not");
	is(lh_release_many(lh, l, 3), 0, "released");
}

/* The second key's id would be {0, 0}, which is none. */
static void
number_at_its_end(void)
{
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = asked(1, 0);
	struct lh_lease l[3], again[3];

	m.request[1] = UINT64_MAX;
	o.more = &m;
	is(lh_acquire_many(lh, items, 3, &o, l), 0, "all keys are acquired");
	is(lh_acquire_many(lh, items, 3, &o, again), 0, "and again");
	same(l, again, "the same");
	is(lh_release_many(lh, l, 3), 0, "released");
}

static void
failed(void)
{
	struct lh_acquire_opts o = asked(3, t_long(50));
	struct lh_lease l[3], mine = t_hold(other, "b");

	is(lh_acquire_many(lh, items, 3, &o, l), -ETIMEDOUT,
	    "the call times out");
	is(lh_release(other, &mine), 0, "now it would do");
	is(lh_acquire_many(lh, items, 3, &o, l), -ETIMEDOUT, "repeated: so");
	is(t_holders(lh, "a") + t_holders(lh, "b"), 0, "nothing is held");
}

static void *
disturb(void *arg)
{
	struct lh_lease mine;

	ok(t_await_waiters(lh, "c", 1), "it waits for the last");
	is(lh_break(other, "a", NULL, 0), 1, "the first is broken");
	mine = t_hold(other, "a");
	ok(t_until(T_HANG_MS, t_waiters(lh, "a") == 1), "it begins anew");
	is(t_holders(lh, "b"), 0, "and has given all back");
	is(lh_release(other, &mine), 0, "the first is free");
	ok(t_await_waiters(lh, "c", 1), "it waits for the last again");
	is(lh_release(other, arg), 0, "the last is free");
	return NULL;
}

static void
begun_anew(void)
{
	struct lh_acquire_opts o = asked(4, T_HANG_MS);
	struct lh_lease l[3], again[3], last = t_hold(other, "c");
	unsigned long t = t_thread(disturb, &last);

	is(lh_acquire_many(lh, items, 3, &o, l), 0, "had in the second round");
	t_join(t);
	o.max_wait_ms = 0;
	is(lh_acquire_many(lh, items, 3, &o, again), 0, "repeated");
	same(l, again, "the same");
	is(lh_release_many(lh, l, 3), 0, "released");
}

/* A failure that is not remembered leaves nothing of the keys before it. */
static void
failed_midway(void)
{
	static const struct lh_item some[] = { { .key = "a" },
		{ .key = "not yet" } };
	struct lh_acquire_opts o = asked(7, 0);
	struct lh_lease l[2];

	o.flags |= LH_NO_CREATE;
	is(lh_acquire_many(lh, some, 2, &o, l), -ENOENT, "no such key");
	is(lh_acquire_many(lh, some, 2, &o, l), -ENOENT, "repeated");
	is(lh_key_create(lh, "not yet"), 0, "it is made");
	is(lh_acquire_many(lh, some, 2, &o, l), 0, "repeated: tried anew");
	is(lh_release_many(lh, l, 2), 0, "released");
	is(lh_acquire_many(lh, some, 2, &o, l), -ESTALE, "it has ended");
}

static int64_t
left_ms(const struct lh_lease *l)
{
	struct lh_lease_info info = { .size = sizeof(info) };

	return lh_lease_info(lh, l, &info) != 0 ? -1 :
	    (info.expires_ns - lh_clock_ns(lh)) / T_NS_PER_MS;
}

/* A call that is granted a lease which it has does not shorten that. */
static void
kept_long(void)
{
	static const struct lh_item free_and_busy[] = { { .key = "a" },
		{ .key = "c" } };
	struct lh_acquire_opts o = asked(8, 0);
	struct lh_lease l[3], again[3], busy;

	o.ttl_ms = 60000;
	is(lh_acquire_many(lh, items, 3, &o, l), 0, "for a minute");
	o.ttl_ms = t_long(2000);
	is(lh_acquire_many(lh, items, 3, &o, again), 0, "repeated for less");
	cmp(left_ms(&l[0]), >, 40000, "a minute");
	is(lh_release_many(lh, l, 3), 0, "released");

	o = asked(0, 0);
	more.request[0] = 0;
	more.holder = "me";
	o.ttl_ms = 60000;
	is(lh_acquire(lh, "a", &o, &l[0]), 0, "a holder, for a minute");
	o.ttl_ms = t_long(2000);
	is(lh_acquire_many(lh, items, 3, &o, again), 0, "enters again");
	cmp(left_ms(&l[0]), >, 40000, "a minute");
	is(lh_release_many(lh, again, 3), 0, "leaves");
	busy = t_hold(other, "c");
	is(lh_acquire_many(lh, free_and_busy, 2, &o, again), -EAGAIN, "fails");
	cmp(left_ms(&l[0]), >, 40000, "a minute");
	is(lh_release(other, &busy), 0, "released");
	is(lh_release(lh, &l[0]), 0, "released");
	more.holder = NULL;
}

static void *
first_of_all(void *arg)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), T_HANG_MS);
	struct lh_acquire_more m = more;
	static int error;

	o.flags = LH_NO_DEADLOCK;
	o.more = &m;
	error = lh_acquire_many(lh, items, 3, &o, arg);
	return &error;
}

/* Repeats that do not wait, just when the first call is granted the last key:
 * they release nothing of it. */
static void
tries_beside_the_first(void)
{
	int wrong = 0, kept = 0;

	for (int i = 0; i < 100; i++) {
		struct lh_acquire_opts o = asked(100 + (uint64_t)i, 0);
		struct lh_lease l[3], again[3], last = t_hold(other, "c");
		unsigned long first = t_thread(first_of_all, l);

		if (!t_await_waiters(lh, "c", 1))
			bail_out("nobody waits");
		wrong += lh_release(other, &last) != 0;
		for (int n = 0; n < 20; n++)
			(void)lh_acquire_many(lh, items, 3, &o, again);
		if (*(int *)t_join(first) != 0)
			continue;
		kept++;
		for (int n = 0; n < 3; n++)
			wrong += lh_verify(lh, &l[n]) != 0;
		(void)lh_release_many(lh, l, 3);
	}
	is(wrong, 0, "who was granted all has all");
	cmp(kept, >, 0, "(%d times of 100)", kept);
}

/* The first call waits for the last key, and an operator breaks the first one:
 * a repeat waits for that call, which begins anew. */
static void
first_is_broken(void)
{
	struct lh_acquire_opts o = asked(9, 0);
	struct lh_lease l[3], again[3], last = t_hold(other, "c");
	unsigned long first = t_thread(first_of_all, l);

	ok(t_await_waiters(lh, "c", 1), "the first call waits");
	is(lh_break(other, "a", NULL, 0), 1, "broken");
	is(lh_acquire_many(lh, items, 3, &o, again), -EBUSY, "a try: busy");
	o.max_wait_ms = 50;
	is(lh_acquire_many(lh, items, 3, &o, again), -ETIMEDOUT, "a wait");
	is(lh_release(other, &last), 0, "the last is free");
	is(*(int *)t_join(first), 0, "the first call has all");
	for (int n = 0; n < 3; n++)
		is(lh_verify(lh, &l[n]), 0, "held");
	is(lh_release_many(lh, l, 3), 0, "released");
}

/* Extended by its holder while a set that has entered it waits. */
static void
extended_meanwhile(void)
{
	struct lh_acquire_opts o = asked(0, T_HANG_MS);
	struct lh_lease held, l[3], last = t_hold(other, "c");
	unsigned long first;

	more.request[0] = more.request[1] = 0;
	more.holder = "me";
	is(lh_acquire(lh, "a", &o, &held), 0, "a holder");
	first = t_thread(first_of_all, l);
	ok(t_await_waiters(lh, "c", 1), "enters again, and waits");
	is(lh_extend(lh, &held, 60000), 0, "extended to a minute");
	t_sleep_ms(t_long(1000));
	is(lh_release(other, &last), 0, "the last is free");
	is(*(int *)t_join(first), 0, "has all");
	cmp(left_ms(&held), >, 40000, "a minute still");
	is(lh_release_many(lh, l, 3), 0, "released");
	is(lh_release(lh, &held), 0, "released");
	more.holder = NULL;
}

static void *
first_of_two(void *arg)
{
	struct lh_acquire_opts o = t_opts(t_long(2000), T_HANG_MS);
	struct lh_acquire_more m = more;

	o.flags = LH_NO_DEADLOCK;
	o.more = &m;
	is(lh_acquire_many(lh, items, 3, &o, arg), 0, "the first has them");
	return NULL;
}

static void
beside_the_first(void)
{
	struct lh_acquire_opts o = asked(5, t_long(100));
	struct lh_lease l[3], again[3], last = t_hold(other, "c");
	unsigned long t = t_thread(first_of_two, l);

	ok(t_await_waiters(lh, "c", 1), "the first waits");
	is(lh_acquire_many(lh, items, 3, &o, again), -ETIMEDOUT, "the repeat "
	    "gives up");
	is(t_holders(lh, "a") + t_holders(lh, "b"), 2, "what the first had "
	    "won it has still");
	is(lh_release(other, &last), 0, "the last is free");
	t_join(t);
	is(lh_acquire_many(lh, items, 3, &o, again), 0, "repeated");
	same(l, again, "the same");
	is(lh_release_many(lh, l, 3), 0, "released");
}

struct job {
	const char *table;
	struct lh_lease l[3];
};

static int
in_session(void *arg)
{
	struct job *job = arg;
	struct lh_acquire_opts o = asked(6, T_HANG_MS);
	struct lh *mine = t_open(job->table);
	struct lh_session *s;

	is(lh_session_open(mine, "s", NULL, &s), 0, "the session");
	more.session = s;
	is(lh_acquire_many(mine, items, 3, &o, job->l), 0,
	    "all keys are acquired");
	is(lh_close(mine), 0, "and left to the session");
	return tap_child_status();
}

static int
see(const struct lh_key_info *info, void *arg)
{
	*(uint64_t *)arg = info->n_holders > 0 ? info->holders[0].token : 0;
	return 0;
}

static void
after_a_kill(struct job *job)
{
	struct lh_lease last = t_hold(other, "c");
	struct lh_session *s;
	uint64_t token = 0;
	pid_t pid;

	is(lh_session_open(lh, "s", NULL, &s), 0, "a session");
	pid = t_fork(in_session, job);
	ok(t_await_waiters(lh, "c", 1), "a process waits for the last");
	is(lh_status(lh, "a", NULL, see, &token), 0, "and has the first");
	t_kill(pid);
	pid = t_fork(in_session, job);
	ok(t_until(T_HANG_MS, t_waiters(lh, "c") == 1), "killed; repeated");
	is(lh_release(other, &last), 0, "the last is free");
	is(t_reap(pid, T_HANG_MS), 0, "the second has them");
	is(job->l[2].token, token, "and of the first that very lease");
	is(lh_release_many(lh, job->l, 3), 0, "anybody may release them");
	is(lh_session_destroy(s), 0, "the session ends");
	lh_session_close(s);
}

static void
play(void)
{
	struct job *job = t_shared(sizeof(*job));

	job->table = t_table();
	lh = t_open(job->table);
	other = t_open(job->table);
	granted();
	number_at_its_end();
	failed();
	begun_anew();
	failed_midway();
	kept_long();
	tries_beside_the_first();
	first_is_broken();
	extended_meanwhile();
	beside_the_first();
	after_a_kill(job);
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 1000, "many request repeated");
	return done();
}
