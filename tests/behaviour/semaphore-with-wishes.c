/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G8 and G10: permits can be acquired into a named session, by a
 * request id, by a holder id, and with a value; each option applies to the
 * permit, whichever it is.
 *
 * Otherwise a repeated request would hold two permits.
 */
#include <errno.h>
#include <string.h>
#include "session.h"
#include "support/actor.h"

#define HOUR_MS 3600000
#define LIMIT 2

static struct lh *lh;
static struct lh_sem *sem;

static int
acquire(const struct lh_acquire_more *more, int64_t wait_ms, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, wait_ms);

	o.more = more;
	return lh_sem_acquire(sem, &o, l);
}

static uint32_t
held(void)
{
	struct lh_sem_status s = { .size = sizeof(s) };

	is(lh_sem_status(sem, &s), 0, "status");
	return s.held;
}

static bool
waits(uint32_t n)
{
	struct lh_sem_status s = { .size = sizeof(s) };

	return lh_sem_status(sem, &s) == 0 && s.waiting == n;
}

static void
fill(struct lh_lease l[LIMIT])
{
	for (int i = 0; i < LIMIT; i++)
		is(acquire(NULL, 0, &l[i]), 0, "permit %d", i);
}

/* One after the other. */
static void
empty(struct lh_lease l[LIMIT])
{
	for (int i = 0; i < LIMIT; i++)
		is(lh_sem_release(sem, &l[i]), 0, "released");
}

struct waiter {
	struct lh_acquire_more *more;
	int result;
	struct lh_lease l;
};

static void *
wait_for_one(void *arg)
{
	struct waiter *w = arg;

	w->result = acquire(w->more, HOUR_MS, &w->l);
	return NULL;
}

/* The permit is acquired at once, or after a wait. */
static void
into_session(bool waited)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct waiter w = { .more = &more };
	struct lh_session *s = open_session(lh, "job", HOUR_MS, 0, 0);
	struct lh_session_info info;
	struct lh_lease l[LIMIT];
	unsigned long thread;

	more.session = s;
	if (waited)
		fill(l);
	thread = t_thread(wait_for_one, &w);
	if (waited) {
		ok(t_until(T_HANG_MS, waits(1)), "somebody waits");
		empty(l);
	}
	t_join(thread);
	is(w.result, 0, "a permit into a session");
	is(lh_session_info(s, &info), 0, "its number");
	ok(w.l.id[0] == info.id, "which has it");
	is((int)info.leases, 1, "and no other");
	is((int)held(), 1, "one permit is held");
	is(lh_extend(lh, &w.l, HOUR_MS), 0, "it is a lease");
	is(lh_session_destroy(s), 0, "the session ends");
	is(lh_sem_release(sem, &w.l), -ESTALE, "and with it the permit");
	is((int)held(), 0, "which can be acquired");
	is(acquire(&more, 0, &w.l), -ESTALE, "not into one that has ended");
	is((int)held(), 0, "nothing is held");
	lh_session_close(s);
}

static void
by_request(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	const uint64_t id[2] = { 11, 12 };
	struct waiter w = { .more = &more };
	struct lh_lease l[LIMIT], got, again;
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_sem *other;
	unsigned long thread;

	memcpy(more.request, id, sizeof(id));
	fill(l);
	thread = t_thread(wait_for_one, &w);
	ok(t_until(T_HANG_MS, waits(1)), "a request waits");
	is(acquire(&more, 0, &got), -EBUSY, "a repeat that does not wait");
	is(acquire(&more, t_ms(30), &got), -ETIMEDOUT, "and one that does");
	is(lh_sem_release(sem, &l[0]), 0, "released");
	t_join(thread);
	is(w.result, 0, "granted");
	is(acquire(&more, 0, &again), 0, "the same again");
	ok(w.l.token == again.token && w.l.id[1] == again.id[1],
	    "gets the same permit");
	is((int)held(), 2, "both permits are held, and one by it");
	o.more = &more;
	is(lh_sem_open(lh, "other", 1, &other), 0, "another semaphore");
	is(lh_sem_acquire(other, &o, &got), -EINVAL, "not by the same id");
	is(lh_acquire(lh, "k", &o, &got), -EINVAL, "nor a key");
	is(lh_sem_close(other), 0, "closed");
	is(lh_release_request(lh, NULL, id), 0, "released by the id");
	is(lh_sem_release(sem, &again), 0, "and by the lease");
	is(acquire(&more, 0, &got), -ESTALE,
	    "a late repetition reports the end");
	is(lh_sem_release(sem, &l[1]), 0, "released");
	is((int)held(), 0, "all free");
}

/* In another process. */
static int
get_there(struct t_actor *a, void *arg)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	struct lh_session *s;
	struct lh_sem *its;

	(void)arg;
	if (lh_session_open(a->lh, "job2", NULL, &s) != 0 ||
	    lh_sem_open(a->lh, "s", LIMIT, &its) != 0)
		return -1;
	more.session = s;
	more.request[0] = 21;
	o.more = &more;
	return lh_sem_acquire(its, &o, &a->lease);
}

/* Its process killed, whether it waited or had it. */
static void
taken_up(struct t_actor *a, bool granted)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_session *s = open_session(lh, "job2", HOUR_MS, 0, 0);
	struct lh_lease l[LIMIT], got;

	if (!granted)
		fill(l);
	t_begin(a, get_there, NULL);
	if (granted)
		is(t_result(a), 0, "a permit elsewhere");
	else
		ok(t_until(T_HANG_MS, waits(1)), "a wait elsewhere");
	t_actor_kill(a);
	if (!granted)
		empty(l);
	more.session = s;
	more.request[0] = 21;
	is(acquire(&more, T2_MS, &got), 0, "repeated here");
	ok(!granted || got.token == a->lease.token, "the same, if it was");
	is((int)held(), 1, "one permit is held");
	is(lh_sem_release(sem, &got), 0, "released");
	is((int)held(), 0, "none is");
	is(lh_session_destroy(s), 0, "the session ends");
	lh_session_close(s);
	t_actor_free(a);
}

static void
by_holder(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease a, b, c;

	more.holder = "me";
	is(acquire(&more, 0, &a), 0, "a permit of a holder");
	is(acquire(&more, 0, &b), 0, "once more");
	ok(a.token == b.token && a.key == b.key, "is the same permit");
	more.holder = "you";
	is(acquire(&more, 0, &c), 0, "another holder's");
	ok(a.key != c.key, "is another");
	is(acquire(NULL, 0, &b), -EAGAIN, "which are all");
	b = a;
	is(lh_sem_release(sem, &a), 0, "released once");
	is((int)held(), 2, "held still");
	is(lh_sem_release(sem, &b), 0, "released twice");
	is((int)held(), 1, "free");
	is(lh_sem_release(sem, &c), 0, "released");
}

static int
has_value(const struct lh_key_info *info, void *arg)
{
	*(int *)arg += info->value_len == 5;
	return 0;
}

static void
with_value(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease l;
	int n = 0;

	more.value = "worth";
	more.value_len = 5;
	is(acquire(&more, 0, &l), 0, "a permit with a value");
	is(lh_list(lh, "s\1permit", has_value, &n), 0, "listed");
	is(n, 1, "one has it");
	is(lh_sem_release(sem, &l), 0, "released");
}

int
main(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	const char *table = t_table();
	struct t_actor *a, *b;
	struct lh_session *s;
	struct lh_lease l;

	/* before this process has a second thread, for sanitizers */
	a = t_actor(table);
	b = t_actor(table);
	lh = t_open(table);
	is(lh_sem_open(lh, "s", LIMIT, &sem), 0, "a semaphore");
	into_session(false);
	into_session(true);
	by_request();
	taken_up(a, false);
	taken_up(b, true);
	by_holder();
	with_value();
	s = open_session(lh, "job3", HOUR_MS, 0, 0);
	more.session = s;
	more.policy = LH_POLICY_LIVE;
	is(acquire(&more, 0, &l), -EINVAL, "live, in a session");
	lh_session_close(s);
	is(lh_sem_close(sem), 0, "closed");
	t_close(lh);
	return done();
}
