/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, timing T2: exec() is the death of a session, although the
 * process lives on: the keys that it held are freed, with the note, and the
 * keys that it waited for are granted to others.  The test checks that the
 * process still runs, as sleep(1), when the key is granted.
 *
 * Otherwise a program that replaces itself would keep keys that nobody can
 * release.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static int
become_another(struct t_actor *a, void *arg)
{
	(void)a;
	(void)arg;
	execl("/bin/sleep", "sleep", "20", (char *)NULL);
	return -errno;
}

static bool
exec_frees(void *arg)
{
	struct lh *lh = arg;
	struct t_actor *a = t_actor(lh_table_name(lh));
	struct lh_lease mine;
	int64_t began_ns;
	bool quick;

	is(t_do_acquire(a, "k", 3600000, 0), 0, "a process holds the key");
	began_ns = t_now_ns();
	t_begin(a, become_another, NULL);
	is(t_acquire(lh, "k", 3600000, T_HANG_MS, &mine), 0,
	    "it becomes another program: the key is free");
	quick = t_since_ms(began_ns) <= 2 * T2_MS;
	is(mine.notes, LH_NOTE_PREVIOUS_DIED, "with a note of death");
	cmp(mine.token, >, a->lease.token, "and a larger token");
	is(waitpid(a->pid, NULL, WNOHANG), 0, "while the process lives");
	is(lh_release(lh, &mine), 0, "released");
	t_actor_kill(a);
	t_actor_free(a);
	return quick;
}

int
main(void)
{
	struct lh *lh = t_open(t_table());

	ok(t_tries(3, exec_frees, lh), "in time");
	t_close(lh);
	return done();
}
