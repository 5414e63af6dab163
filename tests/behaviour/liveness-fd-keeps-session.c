/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: while a copy of a session's liveness descriptor is open
 * anywhere, its process's death does not count: a lease for a child program
 * outlives the parent, up to its deadline.  When the last copy is closed, the
 * session is dead.  The child is sleep(1), which knows nothing of leasehold and
 * only has the descriptor open, like a job of `leasehold run`.
 *
 * Otherwise kill -9 of the wrapper would free the key while its job still
 * works.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

static pid_t *sleeper;

static int
reopen(struct t_actor *a, void *arg)
{
	struct lh_open_opts o = t_open_opts();

	o.flags = (uint32_t)(uintptr_t)arg;
	if (lh_close(a->lh) != 0)
		return 1;
	return lh_open(&a->lh, a->key, &o);
}

/* Give a new program the descriptor. */
static int
start_child(struct t_actor *a, void *arg)
{
	int fd = lh_liveness_fd(a->lh);
	pid_t pid;

	(void)arg;
	if (fd < 0)
		return fd;
	if (fcntl(fd, F_GETFD) & FD_CLOEXEC)
		return 1;
	pid = fork();
	if (pid == 0) {
		execl("/bin/sleep", "sleep", "20", (char *)NULL);
		_exit(127);
	}
	close(fd);
	*sleeper = pid;
	return pid > 0 ? 0 : -errno;
}

static int
ask(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_liveness_fd(a->lh);
}

static struct t_actor *
parent(struct lh *lh, int64_t ttl_ms)
{
	struct t_actor *a = t_actor(lh_table_name(lh));

	snprintf(a->key, sizeof(a->key), "%s", lh_table_name(lh));
	is(t_do(a, reopen, (void *)(uintptr_t)LH_LIVENESS_FD), 0,
	    "a process that will want the descriptor");
	is(t_do_acquire(a, "k", ttl_ms, 0), 0, "holds a key");
	is(t_do(a, start_child, NULL), 0, "has a child with the descriptor");
	return a;
}

static void
play(void)
{
	const char *table;
	struct t_actor *a, *w;
	struct lh_lease l;
	struct lh *lh;
	int64_t ns;
	int fd;

	table = t_table();
	sleeper = t_shared(sizeof(*sleeper));
	w = t_actor(table);
	lh = t_open(table);
	is(lh_liveness_fd(lh), -EOPNOTSUPP, "it must be wanted at opening");
	ok(t_has_detail(), "as is said");
	is(lh_liveness_fd(NULL), -EINVAL, "of nothing: refused");

	a = parent(lh, 3600000);
	t_actor_kill(a);
	is(t_acquire(lh, "k", 1000, t_long(150), &l), -ETIMEDOUT,
	    "the holder is killed, its child lives: held");
	is(t_holders(lh, "k"), 1, "as status says");
	t_begin_acquire(w, "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", 1), "another waits");
	ns = t_now_ns();
	t_signal(*sleeper, SIGKILL);
	is(t_result(w), 0, "the child is killed, too: free");
	cmp(t_since_ms(ns), <=, 2 * T2_MS, "in time");
	is(w->lease.notes, LH_NOTE_PREVIOUS_DIED, "with a note of death");
	is(t_do_release(w), 0, "released");
	t_actor_free(a);

	a = parent(lh, t_long(200));
	t_actor_kill(a);
	is(t_acquire(lh, "k", 3600000, T_HANG_MS, &l), 0,
	    "held for a child: free in the end");
	cmp(t_now_ns(), >=, a->lease.expires_ns, "at the deadline");
	is(l.notes, LH_NOTE_PREVIOUS_EXPIRED, "as expired");
	is(t_signal(*sleeper, SIGKILL), 0, "while the child lived");
	is(lh_release(lh, &l), 0, "released");
	t_actor_free(a);

	snprintf(w->key, sizeof(w->key), "%s", table);
	is(t_do(w, reopen, (void *)(uintptr_t)LH_LIVENESS_FD), 0, "another");
	fd = t_do(w, ask, NULL);
	cmp(fd, >, 2, "gets a descriptor");
	is(t_do_acquire(w, "k", 3600000, 0), 0, "holds");
	is(t_do_close(w), 0, "and closes while it is open");
	is(t_acquire(lh, "k", 1000, 0, &l), 0,
	    "that is an end, whatever is open");
	is(l.notes, 0, "and a clean one");
	is(lh_release(lh, &l), 0, "released");
	t_actor_end(w);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 1000, "liveness fd keeps session");
	return done();
}
