/* SPDX-License-Identifier: MIT */
/* test: slow 31 */
/*
 * Guarantee G9, timing T7: a cluster key's lease ends with this host's session
 * in the cluster, for good, by the clock alone if need be: the shim is dead,
 * stopped or cut off.  Each call reports the loss, a live handle at that
 * moment, and lh_lock_valid() without any delay.  Waiters learn that the
 * cluster is away.
 *
 * Otherwise a process would go on working while another host holds the key.
 */
#include <errno.h>
#include <poll.h>
#include "base/clock.h"
#include "op/cluster_check.h"
#include "support/actor.h"
#include "support/part.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static struct t_shim *s;

static struct lh_lease
take(const char *key)
{
	struct lh_acquire_opts o = t_opts(t_long(60000), t_long(5000));
	struct lh_lease l = { 0 };

	if (lh_acquire(lh, key, &o, &l) != 0)
		bail_out("%s: %s", key, lh_error_detail());
	return l;
}

static int64_t
until_ns(void)
{
	return (int64_t)lhi_cluster_until(&lh->v);
}

static void
sleep_past_the_end(void)
{
	int64_t left = until_ns() - lhi_clock_ns(CLOCK_BOOTTIME);

	if (left > 0)
		t_sleep_ms(left / T_NS_PER_MS + 2);
}

/* The session is not renewed: it comes back, the lease does not. */
static void
not_renewed(void)
{
	struct lh_lease l = take("cluster:a"), m;

	s->beats = 0;
	t_sleep_ms(2 * 20);
	is(lh_verify(lh, &l), 0, "held while D is ahead");
	is(lh_verify_token(lh, "cluster:a", l.token), 0, "by its token, too");
	sleep_past_the_end();
	is(lh_verify_token(lh, "cluster:a", l.token), -ESTALE,
	    "its token is not after it, the lease not looked at");
	is(lh_verify(lh, &l), -ESTALE, "nor is it: %s", lh_error_detail());
	ok(strstr(lh_error_detail(), "cluster") != NULL, "and why is said");
	s->beats = 1;
	ok(t_until(T_HANG_MS, until_ns() > lhi_clock_ns(CLOCK_BOOTTIME)),
	    "the session goes on after all");
	is(lh_verify(lh, &l), -ESTALE,
	    "a lease that was reported lost stays lost");
	is(lh_extend(lh, &l, t_long(1000)), -ESTALE, "and is not extended");
	is(lh_verify_token(lh, "cluster:a", l.token), -ESTALE,
	    "nor is its token good");
	is(lh_release(lh, &l), -ESTALE, "nor can it be released");
	m = take("cluster:a");
	ok(m.token > l.token,
	    "the key can be acquired again, with a larger token");
	ok(m.notes & LH_NOTE_PREVIOUS_EXPIRED, "and a note");
	is(lh_release(lh, &m), 0, "released");
}

/* Nobody has looked before D came back: it has never been lost. */
static void
extended_too_late(void)
{
	struct lh_lease l = take("cluster:b");

	s->beats = 0;
	sleep_past_the_end();
	is(lh_extend(lh, &l, t_long(60000)), -ESTALE, "not extended: %s",
	    lh_error_detail());
	s->beats = 1;
	ok(t_until(T_HANG_MS, until_ns() > lhi_clock_ns(CLOCK_BOOTTIME)),
	    "and on");
}

/* Those who read need no more than a shared right, and no less. */
static void
read_by_token(void)
{
	struct lh_acquire_opts o = t_opts(t_long(60000), t_long(5000));
	struct lh_lease l;

	o.mode = LH_SHARED;
	is(lh_acquire(lh, "cluster:r", &o, &l), 0, "read");
	is(lh_verify_token(lh, "cluster:r", l.token), 0, "by its token");
	s->beats = 0;
	sleep_past_the_end();
	is(lh_verify_token(lh, "cluster:r", l.token), -ESTALE, "until D");
	s->beats = 1;
	ok(t_until(T_HANG_MS, until_ns() > lhi_clock_ns(CLOCK_BOOTTIME)),
	    "and on");
	is(lh_verify_token(lh, "cluster:r", l.token), -ESTALE, "for good");
	is(lh_verify(lh, &l), -ESTALE, "as the lease is");
}

static struct lh_lock *
hold(const char *key, struct lh_watch **w)
{
	struct lh_acquire_opts o = t_opts(t_long(3000), t_long(5000));
	struct lh_lock *lock;

	if (lh_lock_open(lh, key, NULL, &lock) != 0 ||
	    lh_lock_watch(lock, LH_EVENT_LOST, w) != 0 ||
	    lh_lock_acquire(lock, &o) != 0)
		bail_out("no live handle: %s", lh_error_detail());
	return lock;
}

/* Waits for the watch's loss event for ms; returns its time. */
static uint32_t
loss_of(struct lh_watch *w, int64_t ms, int64_t *at_ns)
{
	struct pollfd on = { lh_watch_fd(w), POLLIN, 0 };
	struct lh_event e = LH_EVENT_INIT;

	if (poll(&on, 1, (int)ms) != 1 || lh_watch_next(w, &e) != 0)
		return LH_LOSS_NONE;
	*at_ns = lhi_clock_ns(CLOCK_BOOTTIME);
	return e.loss;
}

static bool
told_in_time(void *arg)
{
	struct lh_watch *w;
	struct lh_lock *lock = hold("cluster:live", &w);
	int64_t at = 0, end;
	uint32_t loss;

	(void)arg;
	t_sleep_ms(2 * s->ttl_ms);
	is(lh_lock_valid(lock), 0, "live: held on over D: %s",
	    lh_error_detail());
	t_stop(s->pid);
	end = until_ns();
	loss = loss_of(w, T_HANG_MS, &at);
	is(loss, LH_LOSS_CLUSTER, "live: lost to the cluster");
	diag("told %.1f ms after D", (double)(at - end) / 1e6);
	is(lh_lock_valid(lock), -ESTALE, "and is not valid");
	cmp(at, >=, end, "not before D");
	t_cont(s->pid);
	(void)lh_watch_close(w);
	(void)lh_lock_close(lock);
	return at - end < t_ms(200) * T_NS_PER_MS;
}

/* The clock alone: not even its thread is needed. */
static void
valid_by_the_clock(void)
{
	struct lh_watch *w;
	struct lh_lock *lock = hold("cluster:clock", &w);
	int64_t end, now, late = 0;

	t_stop(s->pid);
	end = until_ns();
	/* it is asked after that moment, however long after */
	while (now = lhi_clock_ns(CLOCK_BOOTTIME), lh_lock_valid(lock) == 0)
		late = now;
	cmp(late, <, end, "valid until D, and not after it");
	t_cont(s->pid);
	(void)lh_watch_close(w);
	(void)lh_lock_close(lock);
}

static void
session_ends(void)
{
	struct lh_watch *w, *v;
	struct lh_lock *lock = hold("cluster:end", &w), *local;
	struct lh_acquire_opts o = t_opts(t_long(3000), 0);
	struct lh_lease l = take("cluster:end2");
	int64_t at = 0;

	local = hold("plain", &v);
	t_shim_lose(s);
	is(loss_of(w, T_HANG_MS, &at), LH_LOSS_CLUSTER, "session lost: told");
	is(lh_verify(lh, &l), -ESTALE, "the lease as well");
	is(lh_lock_valid(local), 0, "a local key is held on");
	is(lh_lock_release(local), 0, "and released");
	is(lh_lock_release(lock), -ESTALE, "the lost one is not");
	is(lh_lock_acquire(lock, &o), -EHOSTUNREACH, "nor had again without a "
	    "session: %s", lh_error_detail());
	(void)lh_watch_close(w);
	(void)lh_watch_close(v);
	(void)lh_lock_close(lock);
	(void)lh_lock_close(local);
	t_shim_kill(s);
	t_shim_start(s);
	s->beats = 1;
}

/* A shim that is killed, and one that goes on with its session. */
static void
adopted(void)
{
	struct lh_watch *w;
	struct lh_lock *lock;
	struct lh_lease l;
	int64_t end;

	s->beats = 1;
	s->ttl_ms = t_long(4000);
	ok(t_until(T_HANG_MS, until_ns() - lhi_clock_ns(CLOCK_BOOTTIME) >
	    t_long(2000) * T_NS_PER_MS), "a session of four seconds");
	lock = hold("cluster:adopted", &w);
	l = take("cluster:adopted2");
	s->adopts = 1;
	t_shim_kill(s);
	end = until_ns();
	is(lh_verify(lh, &l), 0, "the shim is dead: held on");
	t_shim_start(s);
	ok(t_until(t_long(8000), lhi_clock_ns(CLOCK_BOOTTIME) > end),
	    "D would have come");
	is(lh_verify(lh, &l), 0, "and on, as another one has adopted it");
	is(lh_lock_valid(lock), 0, "by the live handle as well");
	is(lh_release(lh, &l), 0, "released");
	is(lh_lock_release(lock), 0, "both");
	s->adopts = 0;
	t_shim_kill(s);
	l = take("plain");
	is(lh_release(lh, &l), 0, "local keys are none of that");
	t_shim_start(s);
	(void)lh_watch_close(w);
	(void)lh_lock_close(lock);
	s->ttl_ms = t_long(600);
}

/* A waiter in the table when the shim ends. */
static void
lost_while_waiting(const char *key, void (*how)(struct t_shim *shim))
{
	struct t_actor *a = t_actor(s->table);

	s->says = SHIM_QUEUES;
	t_begin_acquire(a, key, t_long(60000), t_long(60000));
	ok(t_await_waiters(lh, key, 1), "it waits behind the shim");
	s->says = SHIM_AWAY;
	how(s);
	is(t_result_within(a, t_long(9000)), -EHOSTUNREACH,
	    "the cluster is lost meanwhile: %s", a->detail);
	s->says = SHIM_GRANTS;
	s->beats = 1;
	t_actor_end(a);
}

static void
stop(struct t_shim *shim)
{
	t_stop(shim->pid);
}

static void
play(void)
{
	const char *table = t_table();

	lh = t_open(table);
	s = t_shim(table);
	not_renewed();
	extended_too_late();
	read_by_token();
	ok(t_tries(3, told_in_time, NULL), "told within 200 ms");
	t_shim_kill(s);
	t_shim_start(s);
	valid_by_the_clock();
	t_shim_kill(s);
	t_shim_start(s);
	session_ends();
	adopted();
	lost_while_waiting("cluster:w1", t_shim_kill);
	t_shim_start(s);
	lost_while_waiting("cluster:w2", stop);
	t_cont(s->pid);
	t_shim_kill(s);
	t_shim_start(s);
	lost_while_waiting("cluster:w3", t_shim_lose);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 400, "cluster lost");
	return done();
}
