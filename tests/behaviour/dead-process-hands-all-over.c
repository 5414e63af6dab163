/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, timing T2: a process is killed that holds 128 keys, each with a
 * waiter of its own, in threads of four processes.  Every waiter gets its key.
 * One of the processes is stopped; that keeps no key of the others from them,
 * though the kernel may have woken one of its threads first.
 *
 * Otherwise the one waiter that the kernel wakes would be the only one that
 * learns of the death in time.
 */
/* test: slow 2 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define PROCESSES 4
#define EACH 32
#define KEYS (PROCESSES * EACH)

struct shared {
	const char *table;
	struct t_event held, granted[PROCESSES];
	_Atomic int64_t at_ns[KEYS];
};

static struct shared *sh;

struct waiter {
	struct lh *lh;
	int key;
};

static int
hold_all(void *arg)
{
	struct lh *lh = t_open(sh->table);
	char key[16];

	(void)arg;
	for (int i = 0; i < KEYS; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		(void)t_hold(lh, key);
	}
	t_post(&sh->held);
	while (pause() < 0)	/* ends: it is killed */
		;
	return 0;
}

static void *
wait_for_one(void *arg)
{
	const struct waiter *w = arg;
	struct lh_lease l;
	char key[16];

	(void)snprintf(key, sizeof(key), "k%d", w->key);
	if (t_acquire(w->lh, key, 3600000, T_HANG_MS, &l) == 0 &&
	    l.notes & LH_NOTE_PREVIOUS_DIED) {
		sh->at_ns[w->key] = t_now_ns();
		t_post(&sh->granted[w->key / EACH]);
	}
	return NULL;
}

static int
wait_for_some(void *arg)
{
	struct lh *lh = t_open(sh->table);
	struct waiter w[EACH];
	unsigned long t[EACH];

	for (int i = 0; i < EACH; i++) {
		w[i] = (struct waiter){ lh, (int)(intptr_t)arg * EACH + i };
		t[i] = t_thread(wait_for_one, &w[i]);
	}
	for (int i = 0; i < EACH; i++)
		(void)t_join(t[i]);
	(void)lh_close(lh);
	return 0;
}

/* Returns when the last key of that process was granted, in us. */
static int64_t
last_us(int process, int64_t since_ns)
{
	int64_t last = 0;

	for (int i = process * EACH; i < (process + 1) * EACH; i++)
		if (sh->at_ns[i] - since_ns > last)
			last = sh->at_ns[i] - since_ns;
	return last / 1000;
}

static bool
hands_over(void *arg)
{
	struct lh *lh = arg;
	pid_t holder, pid[PROCESSES];
	int64_t killed_ns;
	bool soon = true;
	char key[16];

	sh->held.count = 0;
	holder = t_fork(hold_all, NULL);
	ok(t_await(&sh->held, 1, T_HANG_MS), "a process holds them all");
	for (int i = 0; i < PROCESSES; i++) {
		sh->granted[i].count = 0;
		pid[i] = t_fork(wait_for_some, (void *)(intptr_t)i);
	}
	for (int i = 0; i < KEYS; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		if (!t_await_waiters(lh, key, 1))
			bail_out("no waiter of %s", key);
	}
	t_stop(pid[0]);
	killed_ns = t_now_ns();
	t_kill(holder);
	for (int i = 1; i < PROCESSES; i++) {
		ok(t_await(&sh->granted[i], EACH, T_HANG_MS),
		    "process %d has its keys", i);
		diag("after %lld us", (long long)last_us(i, killed_ns));
		soon = soon && last_us(i, killed_ns) <= T2_MS * 1000;
	}
	t_cont(pid[0]);
	ok(t_await(&sh->granted[0], EACH, T_HANG_MS),
	    "and the one that was stopped, when it runs again");
	for (int i = 0; i < PROCESSES; i++)
		is(t_reap(pid[i], T_HANG_MS), 0, "it ends");
	return soon;
}

int
main(void)
{
	struct lh *lh;

	sh = t_shared(sizeof(*sh));
	sh->table = t_table();
	lh = t_open(sh->table);
	ok(t_tries(3, hands_over, lh), "in time");
	t_close(lh);
	return done();
}
