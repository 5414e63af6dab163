/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, timing T2: a process that ends without lh_close() has died: by
 * exit(), _exit(), a signal's default action, or a crash.  Its leases are
 * freed, and the next holder's lease has the note.  A process that closes first
 * leaves no note.  The end of the main thread alone (pthread_exit) is no death.
 *
 * Otherwise the next holder would not know that the protected state may be half
 * changed.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

enum ending { BY_EXIT, BY__EXIT, BY_SIGTERM, BY_ABORT, BY_CLOSE, ENDINGS };

static const char *const names[] = { "exit()", "_exit()", "SIGTERM",
	"abort()", "lh_close()" };

static int
end_so(struct t_actor *a, void *arg)
{
	static const struct rlimit none;

	setrlimit(RLIMIT_CORE, &none);
	signal(SIGTERM, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	switch ((enum ending)(intptr_t)arg) {
	case BY_EXIT:
		exit(0);
	case BY__EXIT:
		_exit(0);
	case BY_SIGTERM:
		raise(SIGTERM);
		break;
	case BY_ABORT:
		abort();
	case BY_CLOSE:
		if (lh_close(a->lh) != 0)
			_exit(9);
		_exit(0);
	default:
		break;
	}
	return 0;
}

static bool
ending_frees(struct lh *lh, enum ending how)
{
	static const int want[] = { 0, 0, 256 + SIGTERM, 256 + SIGABRT, 0 };
	struct t_actor *a = t_actor(lh_table_name(lh));
	struct lh_lease mine;
	int64_t began_ns;
	bool quick;

	is(t_do_acquire(a, "k", 3600000, 0), 0, "held");
	began_ns = t_now_ns();
	t_begin(a, end_so, (void *)(intptr_t)how);
	is(t_acquire(lh, "k", 3600000, T_HANG_MS, &mine), 0,
	    "after %s the key is granted", names[how]);
	quick = t_since_ms(began_ns) <= 2 * T2_MS;
	is(mine.notes, how == BY_CLOSE ? 0 : LH_NOTE_PREVIOUS_DIED,
	    how == BY_CLOSE ? "without a note" : "noting a death");
	is(t_reap(a->pid, T_HANG_MS), want[how], "it did end so");
	is(lh_release(lh, &mine), 0, "released");
	t_actor_free(a);
	return quick;
}

static bool
all_endings(void *arg)
{
	bool quick = true;

	for (int how = 0; how < ENDINGS; how++)
		quick = ending_frees(arg, (enum ending)how) && quick;
	return quick;
}

static struct handed_over {
	struct lh *lh;
	struct lh_lease lease;
	struct t_event *go, *said;
} over;

static void *
go_on(void *arg)
{
	int r;

	(void)arg;
	t_await(over.go, 1, T_HANG_MS);
	r = lh_verify(over.lh, &over.lease);
	if (r == 0)
		r = lh_release(over.lh, &over.lease);
	if (r == 0)
		r = lh_close(over.lh);
	t_post(over.said);
	t_child_exit(r != 0);
}

static int
main_thread_ends(void *arg)
{
	over.lh = t_open(arg);
	over.lease = t_hold(over.lh, "k");
	t_thread(go_on, NULL);
	t_post(over.said);
	pthread_exit(NULL);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct lh_lease mine;
	pid_t pid;

	ok(t_tries(3, all_endings, lh), "all in time");

	over.go = t_shared(sizeof(*over.go));
	over.said = t_shared(sizeof(*over.said));
	pid = t_fork(main_thread_ends, (void *)(uintptr_t)table);
	ok(t_await(over.said, 1, T_HANG_MS), "a main thread ends");
	t_sleep_ms(t_ms(20));
	is(t_acquire(lh, "k", 1000, t_ms(60), &mine), -ETIMEDOUT,
	    "its process still holds");
	t_post(over.go);
	is(t_acquire(lh, "k", 3600000, T_HANG_MS, &mine), 0,
	    "until its other thread releases");
	is(mine.notes, 0, "which is no death");
	is(t_reap(pid, T_HANG_MS), 0, "that thread's calls all succeeded");
	is(lh_release(lh, &mine), 0, "released");
	t_close(lh);
	return done();
}
