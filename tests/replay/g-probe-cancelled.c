/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G8: pthread_cancel() of a thread that looks whether a
 * holder is alive leaves no descriptor behind, and the dead are found
 * afterwards.  The thread is cancelled at each access to the table, and each
 * named point, in turn.  The descriptor of the live file was closed, so that
 * the thread opens another one.
 *
 * Otherwise each cancelled look would leak a descriptor, or this process would
 * never find a death again.
 *
 * no mutant: a look closes only what it opened without success, which no point
 * meets
 */
#include <pthread.h>
#include <unistd.h>
#include "prim/shared.h"
#include "proc/attachment.h"
#include "replay.h"
#include "shm/live_file.h"

#define PLACES_MAX 200000

static struct lh *lh;
static const char *table;
static __thread int left;
static int (*op)(void);

static void
on_any(const char *what, const void *addr)
{
	(void)what;
	(void)addr;
	if (left > 0 && --left == 0)
		(void)pthread_cancel(pthread_self());
}

static int
look(const struct lh_key_info *i, void *arg)
{
	(void)i;
	(void)arg;
	return 0;
}

static int
status(void)
{
	return lh_status(lh, "k", NULL, look, NULL);
}

static int
list(void)
{
	return lh_list(lh, NULL, look, NULL);
}

static int
explain(void)
{
	return lh_explain(lh, "k", look, NULL);
}

static int
take(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease l;
	int e = lh_acquire(lh, "k", &o, &l);

	return e != 0 ? e : lh_release(lh, &l);
}

static void *
do_cancelled(void *arg)
{
	(void)close(atomic_load(&lh->v.probe_fd));
	left = *(int *)arg;
	(void)op();
	*(int *)arg = left > 0 ? 0 : *(int *)arg;
	left = 0;
	pthread_testcancel();
	return NULL;
}

/* Acquires the key and exits with it. */
static int
die_holding(void *arg)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh *mine = replay_open(table, 0);
	struct lh_lease l;

	(void)arg;
	return -lh_acquire(mine, "k", &o, &l);
}

static void
each(int (*fn)(void), const char *what, int step)
{
	void (*replays)(const char *, const void *) = lhi_hook;
	int before, at, n = 1, leaks = 0, bad = 0;
	bool buried = true;

	op = fn;
	(void)take();
	before = t_descriptors();
	do {
		if (buried)
			bad += t_reap(t_fork(die_holding, NULL),
			    REPLAY_MS) != 0;
		at = n += step;
		lhi_hook = on_any;
		(void)t_join(t_thread(do_cancelled, &at));
		lhi_hook = replays;
		bad += lhi_live_probe_fd(&lh->v) < 0;
		leaks += t_descriptors() != before;
		before = t_descriptors();
		buried = n / step % 8 == 0;
		bad += buried && !t_until(REPLAY_MS, take() == 0);
	} while (at != 0 && n < PLACES_MAX);
	is(at, 0, "%s, cancelled at each of %d places", what, n - 1);
	is(leaks, 0, "no descriptor is left");
	is(bad, 0, "and the dead are found");
}

int
main(void)
{
	table = replay_begin();
	lh = replay_open(table, 0);
	each(status, "status", 1);
	each(list, "list", 89);
	each(explain, "explain", 1);
	each(take, "acquire", 1);
	is(lh_close(lh), 0, "closed");
	return done();
}
