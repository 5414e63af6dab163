/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, timing T2: with a reaper, the keys of a dead process are free
 * at once, although nobody asks, and its claims can be used by others.  Whether
 * it was killed or became another program, and whether the reaper has a
 * descriptor of the process or none to spare.  While a child has its liveness,
 * it is alive; a session that closed was never dead.
 *
 * Otherwise dead processes would fill a table that nobody waits in.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "behaviour/reaping.h"
#include "support/actor.h"
#include "tap.h"

#define WITH_FD_MS t_ms(50)	/* ten times T2 with a reaper */
#define KEYS 100		/* more than one chunk of claims */

static pid_t *sleeper;

/* KEYS keys, every other one shared. */
static int
hold_many(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh_lease l;
	char key[16];

	for (int i = (int)(intptr_t)arg; i < KEYS; i++) {
		int r;

		snprintf(key, sizeof(key), "m%d", i);
		o.mode = i % 2 ? LH_SHARED : LH_EXCLUSIVE;
		r = lh_acquire(a->lh, key, &o, &l);
		if (r != 0)
			return r;
	}
	return 0;
}

static int
become_another(struct t_actor *a, void *arg)
{
	(void)a;
	(void)arg;
	execl("/bin/sleep", "sleep", "20", (char *)NULL);
	return -errno;
}

static uint32_t
reserved(struct lh *lh)
{
	struct lh_stats s = { .size = sizeof(s) };

	return lh_stats(lh, &s) == 0 ? s.leases_reserved : UINT32_MAX;
}

struct trial {
	struct lh *lh;
	bool exec;
	int64_t within_ms;
};

static bool
is_buried(void *arg)
{
	const struct trial *t = arg;
	struct t_actor *a = t_actor(lh_table_name(t->lh));
	uint32_t had = reserved(t->lh);
	int64_t began, free_ms;

	is(t_do(a, hold_many, 0), 0, "a process holds %d keys", KEYS);
	is(t_do_acquire(a, "k", 3600000, 0), 0, "and one more");
	cmp(reserved(t->lh), >, had, "in claims of its own");
	t_sleep_ms(t_ms(100));		/* the reaper has seen it */
	began = t_now_ns();
	if (t->exec)
		t_begin(a, become_another, NULL);
	else
		t_signal(a->pid, SIGKILL);
	ok(t_until(T_HANG_MS, reaping_mode(t->lh, &a->lease) == WORD_FREE),
	    "it %s: free", t->exec ? "becomes another program" : "is killed");
	free_ms = t_since_ms(began);
	ok(t_until(T_HANG_MS, reserved(t->lh) == had),
	    "and its claims are nobody's");
	diag("after %lld ms", (long long)free_ms);
	t_actor_kill(a);
	t_actor_free(a);
	a = t_actor(lh_table_name(t->lh));
	is(t_do(a, hold_many, 0), 0, "all of its keys can be acquired");
	is(t_do_acquire(a, "k", 60000, 0), 0, "and that one");
	is(a->lease.notes, LH_NOTE_PREVIOUS_DIED, "with a note of death");
	t_actor_end(a);
	return free_ms <= t->within_ms;
}

/* A child has the descriptor that its parent lives by. */
static int
leave_child(struct t_actor *a, void *arg)
{
	struct lh_open_opts o = t_open_opts();
	pid_t pid;
	int fd;

	o.flags = LH_LIVENESS_FD;
	if (lh_close(a->lh) != 0 || lh_open(&a->lh, arg, &o) != 0)
		return 1;
	fd = lh_liveness_fd(a->lh);
	pid = fork();
	if (pid == 0) {
		execl("/bin/sleep", "sleep", "20", (char *)NULL);
		_exit(127);
	}
	*sleeper = pid;
	return pid < 0 ? -errno : close(fd);
}

static void
inherited(const char *table, struct lh *lh)
{
	struct t_actor *a = t_actor(table);

	is(t_do(a, leave_child, (void *)(uintptr_t)table), 0,
	    "a process leaves its liveness to a child");
	is(t_do_acquire(a, "k", 3600000, 0), 0, "and a key");
	t_sleep_ms(t_ms(100));
	t_actor_kill(a);
	t_sleep_ms(t_ms(200));
	is(reaping_mode(lh, &a->lease), WORD_X, "it is killed: held");
	is(*sleeper > 0 ? t_signal(*sleeper, SIGKILL) : -1, 0,
	    "the child, too");
	ok(t_until(T_HANG_MS, reaping_mode(lh, &a->lease) == WORD_FREE),
	    "free");
	t_actor_free(a);
}

/* Not under valgrind, nor with an old kernel. */
static bool
can_watch(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return fd >= 0 && close(fd) == 0;
}

static void
with_reaper(const char *table, struct lh *lh, bool fds)
{
	struct t_reaping *rp = t_reaping(table);
	struct lhi_reap_counts counts;
	struct trial t = { lh, false, fds ? WITH_FD_MS : T2_MS };
	struct t_actor *a;

	ok(t_tries(3, is_buried, &t), "within %lld ms",
	    (long long)t.within_ms);
	t.exec = true;
	t.within_ms = T2_MS;
	ok(t_tries(3, is_buried, &t), "within %lld ms",
	    (long long)t.within_ms);
	inherited(table, lh);
	a = t_actor(table);
	is(t_do_acquire(a, "k", 60000, 0), 0, "one more");
	t_sleep_ms(t_ms(100));
	t_actor_end(a);
	t_sleep_ms(t_ms(100));
	is(t_reaping_end(rp, &counts), 0, "all passes went well");
	cmp(counts.buried, >=, 3, "the dead were buried");
	cmp(counts.buried, <=, 7, "and nobody else");
	is(counts.sessions, 1, "one session is left");
	is(counts.watched, fds && can_watch() ? 1 : 0, "with%s a descriptor",
	    fds ? "" : "out");
	is(counts.expired, 0, "no lease ran out");
}

int
main(void)
{
	const char *table = t_table();
	struct rlimit few, most;
	struct lh *lh;

	sleeper = t_shared(sizeof(*sleeper));
	lh = t_open(table);
	with_reaper(table, lh, true);
	getrlimit(RLIMIT_NOFILE, &most);
	few = (struct rlimit){ 36, most.rlim_max };
	setrlimit(RLIMIT_NOFILE, &few);
	with_reaper(table, lh, false);
	setrlimit(RLIMIT_NOFILE, &most);
	t_close(lh);
	return done();
}
