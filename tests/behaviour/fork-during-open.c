/* SPDX-License-Identifier: MIT */
/* test: alone: it defines open() */
/*
 * Guarantee G4: a fork by another thread in the middle of lh_open() gives the
 * child no copy of the descriptor that keeps the new session alive: when the
 * parent is killed, its leases are freed although the child lives on.  The
 * test's own openat(), which the library calls, lets another thread fork after
 * each descriptor that is opened.
 *
 * Otherwise a dead parent's keys would stay held for as long as a child of it
 * lives.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

struct shared {
	struct t_event wanted, forked;	/* forks, each after an open() */
	struct t_event ready, end;
	_Atomic int children;
	_Atomic bool armed;
	struct lh_lease lease;
};

static struct shared *sh;
static const char *table;

int
openat(int dir, const char *path, int flags, ...)
{
	uint32_t n;
	va_list ap;
	mode_t mode;
	int fd;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	fd = (int)syscall(SYS_openat, dir, path, flags, mode);
	if (fd >= 0 && sh != NULL && sh->armed &&
	    strstr(path, "/leasehold.") != NULL) {
		n = atomic_load(&sh->wanted.count) + 1;
		t_post(&sh->wanted);
		(void)t_await(&sh->forked, n, t_long(40));
	}
	return fd;
}

/* Forks once for each descriptor; the children live until the end is posted. */
static void *
forker(void *arg)
{
	(void)arg;
	for (uint32_t n = 1; t_await(&sh->wanted, n, T_HANG_MS); n++) {
		pid_t pid = fork();

		if (pid == 0) {
			(void)t_await(&sh->end, 1, T_HANG_MS);
			_exit(0);
		}
		if (pid > 0)
			sh->children++;
		t_post(&sh->forked);
	}
	return NULL;
}

static int
open_and_hold(void *arg)
{
	struct lh *lh;

	(void)arg;
	(void)t_thread(forker, NULL);
	sh->armed = true;
	lh = t_open(table);
	/* those that were held back come now, at the latest */
	if (!t_await(&sh->forked, atomic_load(&sh->wanted.count), T_HANG_MS))
		return 1;
	sh->armed = false;
	is(t_acquire(lh, "k", 3600000, 0, &sh->lease), 0, "it holds the key");
	t_post(&sh->ready);
	t_sleep_ms(T_HANG_MS);
	return tap_child_status();
}

static void
play(void)
{
	struct lh_lease l = { .notes = 0 };
	int64_t killed_ns, took;
	struct lh *lh;
	pid_t pid;

	table = t_table();
	sh = t_shared(sizeof(*sh));
	lh = t_open(table);
	pid = t_fork(open_and_hold, NULL);
	ok(t_await(&sh->ready, 1, T_HANG_MS), "a process opens, and holds");
	cmp(sh->children, >=, 1, "it has children of that time");
	is(t_acquire(lh, "k", 1000, t_long(30), &l), -ETIMEDOUT, "it lives");
	killed_ns = t_now_ns();
	t_kill(pid);
	is(t_acquire(lh, "k", 3600000, 3 * T2_MS, &l), 0,
	    "it is killed, its children are not: the key is free");
	took = t_since_ms(killed_ns);
	cmp(took, <=, 2 * T2_MS, "in time");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "and the death is noted");
	if (l.token != 0)
		is(lh_release(lh, &l), 0, "released");
	t_post(&sh->end);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 1000, "fork during open");
	return done();
}
