/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: one session, and one thread of it, holds ten thousand leases at
 * once in a table of the usual size; then two threads do, each releasing what
 * the other has acquired.  All verify, all are released, and others can acquire
 * the keys.
 *
 * Otherwise a program with many leases would fail or lose some.
 */
#include <errno.h>
#include <stdlib.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define LEASES 10000

static struct lh *lh;
static int n;
static struct t_event taken;

struct half {
	const char *form;
	struct lh_lease *own, *other;
	int good, released;
};

static int
take(const char *form, struct lh_lease *l)
{
	char name[32];
	int good = 0;

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), form, i);
		good += t_acquire(lh, name, 3600000, 0, &l[i]) == 0;
	}
	return good;
}

static int
give(struct lh_lease *l)
{
	int good = 0;

	for (int i = 0; i < n; i++)
		good += lh_verify(lh, &l[i]) == 0 &&
		    lh_release(lh, &l[i]) == 0;
	return good;
}

static void *
half(void *arg)
{
	struct half *h = arg;

	h->good = take(h->form, h->own);
	t_post(&taken);
	t_await(&taken, 2, T_HANG_MS);
	h->released = give(h->other);
	return NULL;
}

int
main(void)
{
	struct lh_lease *l[2], x;
	const char *table = t_table();
	struct half h[2];
	unsigned long thread;
	struct lh *twin;

	n = t_count(LEASES, 1000);
	for (int i = 0; i < 2; i++)
		l[i] = calloc((size_t)n, sizeof(struct lh_lease));
	is(lh_open(&lh, table, NULL), 0, "a table of the usual size");
	is(lh_open(&twin, table, NULL), 0, "another attachment");
	is(take("one-%d", l[0]), n, "a thread holds %d leases", n);
	is(t_acquire(twin, "one-7", 1000, 0, &x), -EAGAIN, "busy for others");
	is(give(l[0]), n, "each verifies and is released");
	is(t_acquire(twin, "one-7", 1000, 0, &x), 0, "and free for others");
	is(lh_release(twin, &x), 0, "released");
	is(take("one-%d", l[0]), n, "and once more");
	is(give(l[0]), n, "all of them");

	h[0] = (struct half){ "two-%d", l[0], l[1], 0, 0 };
	h[1] = (struct half){ "three-%d", l[1], l[0], 0, 0 };
	thread = t_thread(half, &h[1]);
	(void)half(&h[0]);
	t_join(thread);
	for (int i = 0; i < 2; i++) {
		is(h[i].good, n, "thread %d holds as many", i);
		is(h[i].released, n, "and releases the other's");
	}
	is(take("two-%d", l[0]), n, "again");
	is(give(l[0]), n, "all of them");
	is(lh_close(twin), 0, "closed");
	free(l[0]);
	free(l[1]);
	t_close(lh);
	return done();
}
