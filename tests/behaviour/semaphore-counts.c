/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7, lh_sem_open(): as many permits as the limit are granted, each
 * with a lease and a token; waiters are served in their order.  Another limit
 * is an error that names both; and the semaphore is destroyed only when nobody
 * uses it.
 *
 * Otherwise more jobs than allowed would run at once.
 */
#include <errno.h>
#include <string.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define LIMIT 3
#define HOUR_MS 3600000

static struct t_actor *a[3];
static struct lh *lh;
static struct lh_sem *sem;

static int
acquire(int64_t ttl_ms, int64_t wait_ms, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, wait_ms);

	return lh_sem_acquire(sem, &o, l);
}

static void
is_standing(uint32_t held, uint32_t waiting, const char *when)
{
	struct lh_sem_status s = { .size = sizeof(s) };

	is(lh_sem_status(sem, &s), 0, "%s: status", when);
	is(s.limit, LIMIT, "%s: the limit", when);
	is(s.held, held, "%s: permits held", when);
	is(s.waiting, waiting, "%s: who wait", when);
}

static bool
waits(uint32_t n)
{
	struct lh_sem_status s = { .size = sizeof(s) };

	return lh_sem_status(sem, &s) == 0 && s.waiting == n;
}

/* Before each permit: who comes before that may be ahead at some of them. */
static bool
wait_at_all(int n)
{
	bool all = true;
	char key[32];

	for (int i = 1; all && i <= LIMIT; i++) {
		snprintf(key, sizeof(key), "s\001permit %d", i);
		all = t_await_waiters(lh, key, n);
	}
	return all;
}

/* In another process. */
static int
get_one(struct t_actor *me, void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	static struct lh_sem *its;

	(void)arg;
	if (its == NULL && lh_sem_open(me->lh, "s", LIMIT, &its) != 0)
		return -1;
	return lh_sem_acquire(its, &o, &me->lease);
}

static void
up_to_the_limit(void)
{
	struct lh_lease l[LIMIT], more;
	int64_t ns;

	for (int i = 0; i < LIMIT; i++)
		is(acquire(HOUR_MS, 0, &l[i]), 0, "permit %d", i);
	is_standing(LIMIT, 0, "full");
	ok(l[0].key != l[1].key && l[1].key != l[2].key &&
	    l[0].key != l[2].key, "three different ones");
	is(acquire(HOUR_MS, 0, &more), -EAGAIN, "not one more");
	ok(strstr(lh_error_detail(), "3 permits") != NULL, "and why");
	ns = t_now_ns();
	is(acquire(HOUR_MS, t_long(60), &more), -ETIMEDOUT, "nor in a while");
	ok(t_since_ms(ns) >= t_long(60) - 1, "not before its time");
	is_standing(LIMIT, 0, "after a wait that timed out");
	is(lh_verify(lh, &l[1]), 0, "a permit is a lease");
	is(lh_extend(lh, &l[1], t_long(40)), 0, "that may be shortened");
	is(acquire(HOUR_MS, HOUR_MS, &more), 0, "and makes room when it ends");
	ok(more.key == l[1].key && more.token > l[1].token,
	    "the same permit, and a larger token");
	is(lh_sem_release(sem, &l[1]), -ESTALE, "the old one is lost");
	is(lh_sem_release(sem, &l[0]), 0, "released");
	is(lh_sem_release(sem, &l[2]), 0, "released");
	is(lh_sem_release(sem, &more), 0, "released");
	is_standing(0, 0, "empty");
}

static void
first_come_first_served(void)
{
	struct lh_lease l[LIMIT];
	bool had[3] = { false };

	for (int i = 0; i < LIMIT; i++)
		is(acquire(HOUR_MS, 0, &l[i]), 0, "permit %d", i);
	for (int i = 0; i < 3; i++) {
		t_begin(a[i], get_one, NULL);
		ok(wait_at_all(i + 1), "%d wait", i + 1);
	}
	for (int i = 0; i < 3; i++) {
		is(lh_sem_release(sem, &l[2 - i]), 0, "a permit is released");
		is(t_who(a, 3, had), i, "whoever came first has it");
		had[i] = true;
		is(t_result(a[i]), 0, "granted");
		t_sleep_ms(t_long(20));
		for (int j = i + 1; j < 3; j++)
			ok(!t_answered(a[j]), "nobody else");
	}
	is_standing(LIMIT, 0, "all served");
	t_actor_kill(a[0]);
	is(acquire(HOUR_MS, T2_MS, &l[0]), 0, "a dead one's permit");
	ok(l[0].notes & LH_NOTE_PREVIOUS_DIED, "comes with a note");
	is(lh_sem_release(sem, &l[0]), 0, "released");
	is(t_do_release(a[1]), 0, "released");
	is(t_do_release(a[2]), 0, "released");
	t_actor_free(a[0]);
	t_actor_end(a[1]);
	t_actor_end(a[2]);
}

static struct lh_cancel cancel = LH_CANCEL_INIT;

static void *
canceller(void *arg)
{
	(void)arg;
	(void)t_until(T_HANG_MS, waits(1));
	(void)lh_cancel(&cancel);
	return NULL;
}

static void
cancelled(void)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	struct lh_lease l[LIMIT], more;
	unsigned long thread;

	for (int i = 0; i < LIMIT; i++)
		is(acquire(HOUR_MS, 0, &l[i]), 0, "permit %d", i);
	o.cancel = &cancel;
	thread = t_thread(canceller, NULL);
	is(lh_sem_acquire(sem, &o, &more), -ECANCELED, "cancelled");
	t_join(thread);
	is_standing(LIMIT, 0, "nobody waits");
	is(lh_sem_destroy(lh, "s"), -EBUSY, "not while it is used");
	for (int i = 0; i < LIMIT; i++)
		is(lh_sem_release(sem, &l[i]), 0, "released");
}

static void
limits(void)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_sem *other;
	char name[LH_SEM_NAME_MAX + 2];
	struct lh_lease l;

	is(lh_sem_open(lh, "s", LIMIT + 1, &other), -EINVAL, "another limit");
	ok(strstr(lh_error_detail(), "has 3") != NULL &&
	    strstr(lh_error_detail(), "not 4") != NULL, "it names both: %s",
	    lh_error_detail());
	is(lh_sem_open(lh, "s", 0, &other), 0, "whatever it has");
	is(lh_sem_close(other), 0, "closed");
	is(lh_sem_open(lh, "none", 0, &other), -ENOENT, "there is none");
	is(lh_sem_open(lh, "s", LH_SEM_MAX + 1, &other), -EINVAL, "too many");
	is(lh_sem_open(lh, "", 1, &other), -EINVAL, "no name");
	is(lh_sem_open(lh, "a\1b", 1, &other), -EINVAL, "not a name");
	memset(name, 'n', sizeof(name));
	name[LH_SEM_NAME_MAX + 1] = '\0';
	is(lh_sem_open(lh, name, 1, &other), -ENAMETOOLONG, "too long");
	name[LH_SEM_NAME_MAX] = '\0';
	is(lh_sem_open(lh, name, LH_SEM_MAX, &other), 0, "the longest");
	is(lh_sem_acquire(other, &o, &l), 0, "and a permit");
	is(lh_sem_release(other, &l), 0, "released");
	is(lh_sem_close(other), 0, "closed");
	o.mode = LH_SHARED;
	is(lh_sem_acquire(sem, &o, &l), -EINVAL, "none is shared");
	is(lh_sem_destroy(lh, "s"), 0, "destroyed");
	is(lh_sem_destroy(lh, "s"), 0, "twice");
	o.mode = LH_EXCLUSIVE;
	is(lh_sem_acquire(sem, &o, &l), -ESTALE, "an old handle's call fails");
	is(lh_sem_open(lh, "s", LIMIT + 1, &other), 0, "made anew");
	is(lh_sem_acquire(sem, &o, &l), -ESTALE, "which is not that one");
	is(lh_sem_close(other), 0, "closed");
}

static void
play(void)
{
	const char *table = t_table();

	/* before this process has a second thread, for sanitizers */
	for (int i = 0; i < 3; i++)
		a[i] = t_actor(table);
	lh = t_open(table);
	is(lh_sem_open(lh, "s", LIMIT, &sem), 0, "a semaphore");
	up_to_the_limit();
	first_come_first_served();
	cancelled();
	limits();
	is(lh_sem_close(sem), 0, "closed");
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "semaphore counts");
	return done();
}
