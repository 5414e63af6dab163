/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G8: a fork at any moment of other threads' operations
 * leaves a child that neither hangs nor owns anything, and does not disturb the
 * parent.  Threads acquire, release, look keys up, open and close attachments,
 * and wait, while the main thread forks.  Each child attaches again, works, is
 * refused what it inherited, and ends in time.
 *
 * Otherwise a forked child would hang on a lock of the library.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define FORKS	60

static struct lh *lh;
static const char *table;
static _Atomic bool stop;
static _Atomic int wrong;

static void *
lock_and_unlock(void *arg)
{
	const char *name = arg;
	struct lh_lease l;

	while (!stop) {
		if (t_acquire(lh, name, 3600000, 3600000, &l) != 0 ||
		    lh_release(lh, &l) != 0)
			wrong++;
	}
	return NULL;
}

static void *
open_and_close(void *arg)
{
	struct lh_key *k;
	struct lh *other;

	(void)arg;
	while (!stop) {
		other = t_open(table);
		if (lh_key_open(other, "opened", 0, &k) != 0 ||
		    lh_key_close(k) != 0 || lh_close(other) != 0)
			wrong++;
		t_nap();
	}
	return NULL;
}

static int
child(void *arg)
{
	struct lh *own = t_open(table);
	struct lh_lease l;
	char name[32];

	(void)arg;
	snprintf(name, sizeof(name), "of %d", (int)getpid());
	is(t_acquire(own, name, 1000, 0, &l), 0, "a key of its own");
	is(lh_verify(own, &l), 0, "is held");
	is(lh_release(own, &l), 0, "and released");
	is(t_acquire(own, "contended", 3600000, T_HANG_MS, &l), 0,
	    "the contended key, too");
	is(lh_release(own, &l), 0, "and released");
	is(t_acquire(lh, "free", 1000, 0, &l), -EPERM,
	    "the inherited attachment is refused");
	is(lh_close(own), 0, "closed");
	return tap_child_status();
}

int
main(void)
{
	unsigned long threads[4];
	int64_t worst = 0;
	int good = 0, n = t_count(FORKS, 10);

	table = t_table();
	lh = t_open(table);
	threads[0] = t_thread(lock_and_unlock, "contended");
	threads[1] = t_thread(lock_and_unlock, "contended");
	threads[2] = t_thread(lock_and_unlock, "alone");
	threads[3] = t_thread(open_and_close, NULL);
	for (int i = 0; i < n; i++) {
		int64_t began_ns = t_now_ns(), took;
		int r = t_reap(t_fork(child, NULL), T_HANG_MS);

		if (r != 0)
			diag("child %d: %d", i, r);
		good += r == 0;
		took = t_since_ms(began_ns);
		if (took > worst)
			worst = took;
	}
	stop = true;
	for (int i = 0; i < 4; i++)
		t_join(threads[i]);
	diag("the slowest child took %lld ms", (long long)worst);
	is(good, n, "every child ended, and saw what it should");
	is(wrong, 0, "nothing went wrong in the parent");
	is(t_holders(lh, "contended"), 0, "nothing is held");
	is(t_waiters(lh, "contended"), 0, "nobody waits");
	t_close(lh);
	return done();
}
