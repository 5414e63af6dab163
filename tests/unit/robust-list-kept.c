/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12, prim/robust_list.c: the entry that arms a death word disturbs
 * neither the application's robust mutexes nor those of its threads and forked
 * children, whatever is locked, unlocked, opened and closed in
 * between.  A process that dies with such a mutex leaves it to the next one
 * (EOWNERDEAD), and marks the word.
 *
 * Otherwise a program that uses robust mutexes would crash or hang because it
 * opened a table.
 */
/* test: tsan */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "prim/robust_list.h"
#include "proc/attachment.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static pthread_mutex_t *own;	/* three, shared */
static const char *table;

static uint32_t
word_of(const struct lh *lh)
{
	return sh32_load(&lh->v.rings[sid_idx(lh->sid)].death);
}

static bool
is_armed_here(const struct lh *lh)
{
	return word_of(lh) == (ROBUST_ARMED | (uint32_t)syscall(SYS_gettid));
}

/* Locks three robust mutexes, and unlocks them in each order. */
static bool
use_mutexes(void)
{
	static const int order[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 0, 2 },
	    { 1, 2, 0 }, { 0, 2, 1 }, { 2, 0, 1 } };
	int bad = 0;

	for (int k = 0; k < 6; k++) {
		for (int i = 0; i < 3; i++)
			bad |= pthread_mutex_lock(&own[i]);
		for (int i = 0; i < 3; i++)
			bad |= pthread_mutex_unlock(&own[order[k][i]]);
	}
	return bad == 0;
}

static void *
open_in_thread(void *arg)
{
	struct lh *lh = t_open(table);

	(void)arg;
	return is_armed_here(lh) && use_mutexes() ? lh : NULL;
}

static int
use_in_child(void *arg)
{
	struct lh *lh, *parent = arg;
	uint32_t was = word_of(parent);
	bool fine = use_mutexes();

	lh = t_open(table);
	fine = fine && is_armed_here(lh) && use_mutexes();
	(void)lh_close(lh);
	return fine && use_mutexes() && word_of(parent) == was ? 0 : 3;
}

static int
die_with_mutex(void *arg)
{
	(void)t_open(table);
	(void)pthread_mutex_lock(&own[1]);
	if (arg == NULL)
		(void)kill(getpid(), SIGKILL);
	_exit(0);
}

static void
make_mutexes(void)
{
	pthread_mutexattr_t a;

	own = t_shared(3 * sizeof(*own));
	(void)pthread_mutexattr_init(&a);
	(void)pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	(void)pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	for (int i = 0; i < 3; i++)
		(void)pthread_mutex_init(&own[i], &a);
}

/* Tables that come and go use the same entries again. */
static void
open_often(void)
{
	struct lh *lh[3];
	int armed = 0;

	for (int k = 0; k < 700; k++) {	/* 3 x 700 entries would be too many */
		for (int i = 0; i < 3; i++) {
			lh[i] = t_open(table);
			armed += is_armed_here(lh[i]);
		}
		for (int i = 0; i < 3; i++)
			(void)lh_close(lh[(i + k) % 3]);
	}
	is(armed, 2100, "opened and closed 2,100 times: always armed");
	ok(use_mutexes(), "and the mutexes work");
}

int
main(void)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh *lh, *second, *of_thread;

	make_mutexes();
	table = t_table();
	lh = t_open(table);
	ok(is_armed_here(lh), "armed by the thread that opens");
	ok(use_mutexes(), "robust mutexes work beside it");
	is(pthread_mutex_lock(&own[0]), 0, "while one is held");
	second = t_open(table);
	is(word_of(second), 0, "another attachment is not armed");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.deaths_told, 1, "say so: one session");
	is(st.sessions, 2, "of two");
	is(pthread_mutex_unlock(&own[0]), 0, "it is unlocked");
	(void)t_hold(second, "k");
	ok(is_armed_here(second), "the first use of the table arms it");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.deaths_told, 2, "both sessions");
	is(t_reap(t_fork(use_in_child, lh), T_HANG_MS), 0,
	    "a child uses mutexes and a table of its own");
	of_thread = t_join(t_thread(open_in_thread, NULL));
	ok(of_thread != NULL, "so does a thread");
	is(word_of(of_thread), ROBUST_ARMED | ROBUST_MARKED,
	    "its end is marked");
	ok(is_armed_here(lh), "and not that of others");
	(void)t_hold(of_thread, "another");
	ok(is_armed_here(of_thread), "its session is armed anew by this one");
	is(lh_close(of_thread), 0, "closed");
	is(t_reap(t_fork(die_with_mutex, NULL), T_HANG_MS), 256 + SIGKILL,
	    "a process is killed that has a mutex and a table");
	is(pthread_mutex_lock(&own[1]), EOWNERDEAD, "it left the mutex");
	is(pthread_mutex_consistent(&own[1]), 0, "made consistent");
	is(pthread_mutex_unlock(&own[1]), 0, "unlocked");
	open_often();
	is(lh_close(second), 0, "closed");
	t_close(lh);
	ok(use_mutexes(), "mutexes work when all is closed");
	return done();
}
