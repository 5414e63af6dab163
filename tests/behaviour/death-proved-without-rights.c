/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, timing T2, issue 21 A8: lh_open() opens and keeps everything
 * that a proof of death needs.  A process that has changed its user and its
 * root since, and is at its limit of descriptors, finds a killed holder dead in
 * time.  One that has closed its descriptors as well cannot tell: it says so in
 * the error and in the counter `blind`, and takes neither the living nor the
 * dead for dead.
 *
 * Otherwise a daemon that drops its rights would wait for dead holders for
 * ever, or take the key of a living one.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define NOBODY 65534

enum { SETUID = 1, CHROOT = 2, NO_DESCRIPTORS = 4, CLOSED = 8 };

static int
lose(struct t_actor *a, void *arg)
{
	struct rlimit few = { 64, 64 };
	int what = (int)(intptr_t)arg;
	char dir[] = "/tmp/leasehold-empty-XXXXXX";

	(void)a;
	if (what & CHROOT) {
		if (mkdtemp(dir) == NULL || chroot(dir) != 0)
			return -errno;
		(void)rmdir("/");
	}
	if (what & NO_DESCRIPTORS) {
		if (setrlimit(RLIMIT_NOFILE, &few) != 0)
			return -errno;
		while (dup(0) >= 0)
			continue;
	}
	if (what & CLOSED)
		closefrom(3);
	if ((what & SETUID) && (setgroups(0, NULL) != 0 ||
	    setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
		return -errno;
	return 0;
}

static int
blind(struct t_actor *a, void *arg)
{
	struct lh_stats st = { .size = sizeof(st) };

	(void)arg;
	if (lh_stats(a->lh, &st) != 0)
		return -1;
	return (int)st.counters.blind;
}

static void
proves(const char *table, int what, const char *how)
{
	struct t_actor *holder = t_actor(table), *a = t_actor(table);
	int64_t killed_ns;

	is(t_do(a, lose, (void *)(intptr_t)what), 0, "%s", how);
	is(t_do_acquire(holder, "k", 3600000, 0), 0, "a process holds");
	is(t_do_acquire(a, "k", 3600000, t_long(25)), -ETIMEDOUT,
	    "%s: the living is not taken for dead", how);
	killed_ns = t_now_ns();
	t_actor_kill(holder);
	is(t_do_acquire(a, "k", 3600000, T_HANG_MS), 0,
	    "%s: the dead is found dead", how);
	cmp(t_since_ms(killed_ns), <=, 2 * T2_MS, "in time");
	is(t_do(a, blind, NULL), 0, "every look could tell");
	t_actor_free(holder);
	t_actor_end(a);
}

static void
cannot_tell(const char *table, struct lh *lh)
{
	struct t_actor *holder = t_actor(table), *a = t_actor(table);
	struct lh_lease l;

	is(t_do(a, lose, (void *)(intptr_t)(SETUID | CLOSED)), 0,
	    "it has closed all, and is another user");
	is(t_do_acquire(holder, "k", 3600000, 0), 0, "a process holds");
	is(t_do_acquire(a, "k", 3600000, t_long(25)), -ETIMEDOUT,
	    "the living is not taken for dead");
	t_actor_kill(holder);
	is(t_do_acquire(a, "k", 3600000, t_long(100)), -ETIMEDOUT,
	    "nor is the dead");
	ok(strstr(a->detail, "cannot tell whether the holder lives") != NULL,
	    "it says so: %s", a->detail);
	cmp(t_do(a, blind, NULL), >, 0, "and counts it");
	is(t_acquire(lh, "k", 3600000, T_HANG_MS, &l), 0,
	    "a process with its rights finds it dead");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "and notes it");
	is(lh_release(lh, &l), 0, "released");
	t_actor_free(holder);
	t_actor_end(a);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);

	if (geteuid() != 0)
		skip_all("only root can change its user and its root");
	proves(table, SETUID, "another user");
	proves(table, CHROOT, "another root");
	proves(table, NO_DESCRIPTORS, "no descriptor left");
	proves(table, SETUID | CHROOT | NO_DESCRIPTORS, "all three");
	cannot_tell(table, lh);
	t_close(lh);
	return done();
}
