/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G8: pthread_cancel() of a thread that opens or destroys a
 * named session leaves no session record locked.  The thread is cancelled
 * before each of its accesses to shared memory in turn; another process must be
 * able to reclaim the dead session's record afterwards.
 *
 * Otherwise one cancelled thread would take a session record away from the
 * table for as long as its process lives.
 */
#include <pthread.h>
#include "prim/shared.h"
#include "replay.h"
#include "support/object.h"

static const char *table;
static struct lh *lh, *other;
static __thread int left;		/* accesses until it is cancelled */

static void
on_access(const char *what, const void *addr)
{
	(void)what;
	if (addr != NULL && left > 0 && --left == 0)
		(void)pthread_cancel(pthread_self());
}

static void *
open_cancelled(void *n)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s;

	left = *(int *)n;
	if (lh_session_open(lh, "s", &o, &s) == 0) {
		*(int *)n = left == 0 ? *(int *)n : 0;
		left = 0;
		(void)lh_session_destroy(s);
	}
	return NULL;
}

static int
attach_and_die(void *arg)
{
	struct lh *mine = replay_open(arg, 3);
	struct lh_lease l;

	(void)replay_try(mine, "k", &l);
	t_sleep_ms(60000);
	return 0;
}

static void
play_all(void)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s;
	int n = 0, at, good = 0;
	void (*replays)(const char *, const void *);

	table = replay_begin();
	replays = lhi_hook;
	lh = replay_open(table, 3);
	other = replay_open(table, 3);
	do {
		/* the third record is that of a killed process */
		at = ++n;
		replay_killed_at("child", "acquire.granted", attach_and_die,
		    (void *)(uintptr_t)table);
		lhi_hook = on_access;
		(void)t_join(t_thread(open_cancelled, &at));
		lhi_hook = replays;
		if (lh_session_open(other, "t", &o, &s) == 0) {
			good++;
			(void)lh_session_destroy(s);
		} else {
			diag("cancelled before access %d: %s", n,
			    lh_error_detail());
			break;
		}
	} while (at != 0);
	is(good, n,
	    "the record is used again, wherever the thread was cancelled");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	play_all();
	return done();
}
