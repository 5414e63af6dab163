/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, its safe side: a forked child owns nothing, so its end frees
 * nothing.  The parent holds one key and waits for another in a thread;
 * children with the parent's mapping end in every way.  Nothing of the parent's
 * counts as dead, then or later.  The other way round, the parent's death is
 * noticed although a child lives on with copies of everything.
 *
 * Otherwise each short-lived child would free its parent's keys.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static struct lh_key *key;
static struct lh_lease waited;

static void *
wait_for_it(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)t_acquire(lh, "other", 3600000, 3600000,
	    &waited);
}

/* How a child may end: 0 at once, 1 exit(), 2 after trying to clean up,
 * 3 killed. */
static int
child_end(int how, struct lh_lease *lease)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		bail_out("fork: %s", strerror(errno));
	if (pid > 0) {
		waitpid(pid, &status, 0);
		return WIFEXITED(status) ? WEXITSTATUS(status) :
		    256 + WTERMSIG(status);
	}
	t_child_begin();
	if (how == 1)
		exit(0);
	if (how == 2) {
		lh_release(lh, lease);
		lh_key_close(key);
		lh_close(lh);
	}
	if (how == 3)
		raise(SIGKILL);
	_exit(0);
}

/* Hold a key, leave a child behind, and die without it. */
static int
orphan_maker(struct t_actor *a, void *arg)
{
	int r = t_acquire(a->lh, "orphaned", 3600000, 0, &a->lease);
	pid_t pid;

	if (r != 0)
		return r;
	pid = fork();
	if (pid == 0) {
		/* is killed by the test, or ends by itself */
		t_sleep_ms(20000);
		_exit(0);
	}
	*(pid_t *)arg = pid;
	return pid > 0 ? 0 : -errno;
}

static void
play(void)
{
	const char *table = t_table();
	struct t_actor *b, *parent;
	struct lh_lease mine, after;
	unsigned long thread;
	pid_t *orphan = t_shared(sizeof(*orphan));
	int64_t killed_ns;
	int r;

	b = t_actor(table);
	parent = t_actor(table);
	is(t_do_acquire(b, "other", 3600000, 0), 0, "b holds the other key");
	lh = t_open(table);
	is(lh_key_open(lh, "k", 0, &key), 0, "k is opened");
	mine = t_hold(lh, "k");
	thread = t_thread(wait_for_it, NULL);
	ok(t_await_waiters(lh, "other", 1), "a thread waits for the other");

	for (int how = 0; how < 4; how++) {
		r = child_end(how, &mine);
		is(r, how == 3 ? 256 + SIGKILL : 0, "child %d ends", how);
		is(lh_verify(lh, &mine), 0, "the parent still holds");
		is(t_do_acquire(b, "k", 1000, 20), -ETIMEDOUT,
		    "another process looks, and its wait times out");
		is(t_waiters(lh, "other"), 1, "the thread still waits");
	}
	is(t_do_release(b), 0, "b releases the other key");
	is((intptr_t)t_join(thread), 0, "the waiting thread gets it");
	is(lh_verify(lh, &waited), 0, "for good");
	is(lh_release(lh, &waited), 0, "and releases it");
	is(lh_release(lh, &mine), 0, "the first is released, too");
	is(lh_key_close(key), 0, "and closed");

	is(t_do(parent, orphan_maker, orphan), 0, "a holder has a child");
	killed_ns = t_now_ns();
	t_actor_kill(parent);
	is(t_acquire(lh, "orphaned", 3600000, T_HANG_MS, &after), 0,
	    "killed: its key is free although its child lives");
	cmp(t_since_ms(killed_ns), <=, 2 * T2_MS, "in time");
	is(after.notes, LH_NOTE_PREVIOUS_DIED, "with a note");
	if (cmp(*orphan, >, 0, "it had a child")) {
		is(kill(*orphan, 0), 0, "which did live");
		t_signal(*orphan, SIGKILL);
	}
	t_actor_free(parent);
	t_actor_end(b);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 1000, "fork child exit frees nothing");
	return done();
}
