/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G2: threads acquire into one session, hand leases on and
 * release each other's, while it is renewed and now and then destroyed.  Two
 * never hold the key at once, tokens rise, and nothing is left over.
 *
 * Otherwise a shared session would grant one key twice.
 */
#include <errno.h>
#include <stdatomic.h>
#include "session.h"
#include "support/child.h"

#define THREADS 6
#define KEYS 2

static struct lh *lh;
static struct lh_session *s;
static _Atomic int inside[KEYS], clashes, grants, strange;
static _Atomic uint64_t top[KEYS];
static int rounds;

static void
count_strange(int error, int allowed)
{
	if (error != 0 && error != allowed && error != -EAGAIN)
		atomic_fetch_add(&strange, 1);
}

static void *
use(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	const char *const key[KEYS] = { "a", "b" };
	struct lh_lease l;

	for (int i = 0; i < rounds; i++) {
		unsigned k = (me + (unsigned)i) % KEYS;
		int error = acquire_into(lh, s, key[k], LH_EXCLUSIVE, &l);

		count_strange(error, 0);
		if (error != 0)
			continue;
		atomic_fetch_add(&grants, 1);
		if (atomic_fetch_add(&inside[k], 1) != 0 ||
		    atomic_exchange(&top[k], l.token) >= l.token)
			atomic_fetch_add(&clashes, 1);
		if (i % 3 == 0) {
			error = lh_handoff(lh, &l, i % 2 ? s : NULL);
			count_strange(error, 0);
			if (atomic_exchange(&top[k], l.token) >= l.token)
				atomic_fetch_add(&clashes, 1);
		}
		count_strange(lh_verify(lh, &l), 0);
		if (i % 16 == 0 && lh_session_renew(s) < 0)
			atomic_fetch_add(&strange, 1);
		atomic_fetch_sub(&inside[k], 1);
		count_strange(lh_release(lh, &l), 0);
	}
	return NULL;
}

static void *
read_on(void *arg)
{
	struct lh_lease l;

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		int error = acquire_into(lh, s, "r", LH_SHARED, &l);

		count_strange(error, 0);
		if (error != 0)
			continue;
		if (i % 2)
			count_strange(lh_handoff(lh, &l, NULL), 0);
		count_strange(lh_verify(lh, &l), 0);
		count_strange(lh_release(lh, &l), 0);
	}
	return NULL;
}

/* Another session, again and again, under a user's hands. */
static void *
make_and_destroy(void *arg)
{
	struct lh_lease l;

	(void)arg;
	for (int i = 0; i < rounds / 8; i++) {
		struct lh_session *t;
		int error = lh_session_open(lh, "short", NULL, &t);

		count_strange(error, 0);
		if (error != 0)
			continue;
		count_strange(acquire_into(lh, t, "c", LH_EXCLUSIVE, &l),
		    -ESTALE);
		count_strange(lh_session_destroy(t), -ESTALE);
		lh_session_close(t);
	}
	return NULL;
}

int
main(void)
{
	unsigned long thread[THREADS + 3];
	struct lh_stats st = { .size = sizeof(st) };
	int n = 0;

	rounds = t_count(1500, 60);
	lh = t_open(t_table());
	s = open_session(lh, "crowd", t_ms(30000), 0, 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		thread[n++] = t_thread(use, (void *)i);
	thread[n++] = t_thread(read_on, NULL);
	thread[n++] = t_thread(make_and_destroy, NULL);
	thread[n++] = t_thread(make_and_destroy, NULL);
	while (n > 0)
		(void)t_join(thread[--n]);
	is(clashes, 0, "never two, and tokens rise");
	is(strange, 0, "no call says what it should not");
	cmp(grants, >, rounds / 4, "grants");
	is(t_holders(lh, "a") + t_holders(lh, "b") + t_holders(lh, "r"), 0,
	    "nothing is held in the end");
	is(lh_session_destroy(s), 0, "destroyed");
	lh_session_close(s);
	is(lh_stats(lh, &st), 0, "stats");
	cmp(st.leases_reserved, <=, 64 * (THREADS + 3), "its claims are back");
	t_close(lh);
	return done();
}
