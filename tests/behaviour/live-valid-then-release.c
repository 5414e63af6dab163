/* SPDX-License-Identifier: MIT */
/* test: slow 3 */
/*
 * Guarantees G3 and G9, issue 21 D3: a lease that lh_lock_valid() has reported
 * as lost stays lost: lh_lock_release() says the same, whichever thread noticed
 * first.  Under policy live, a lease whose deadline others have moved on is
 * valid.
 *
 * Otherwise a program would believe that its work was protected to the end
 * although it was not.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 40

enum { VALID = 10, RELEASED_AFTER_LOSS, LOST_TWICE };

static const char *table;

/* Is stopped past its deadline, and then asks before anything else. */
static int
stopped_holder(void *arg)
{
	struct lh_acquire_opts o = t_opts(t_ms(15), 0);
	struct lh *lh = t_open(table);
	struct lh_lock *l;
	int valid, released;

	(void)arg;
	if (lh_lock_open(lh, "k", NULL, &l) != 0 || lh_lock_acquire(l, &o) != 0)
		return 1;
	(void)raise(SIGSTOP);
	valid = lh_lock_valid(l);
	released = lh_lock_release(l);
	if (valid == 0)
		return VALID;
	return valid == -ESTALE && released == 0 ? RELEASED_AFTER_LOSS :
	    LOST_TWICE;
}

static void
stopped_past_the_deadline(void)
{
	int n[LOST_TWICE + 1] = { 0 }, status;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = t_fork(stopped_holder, NULL);

		(void)waitpid(pid, &status, WUNTRACED);
		t_sleep_ms(t_ms(15) + 10);
		(void)kill(pid, SIGCONT);
		(void)waitpid(pid, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) <= LOST_TWICE)
			n[WEXITSTATUS(status)]++;
	}
	is(n[RELEASED_AFTER_LOSS], 0, "never lost first and released then");
	ok(n[LOST_TWICE] > 0, "lost both times (%d of %d)", n[LOST_TWICE],
	    ROUNDS);
}

/* Nobody renews it; who wants the key sees that its holder runs. */
static void
moved_on_by_a_waiter(void)
{
	struct lh_acquire_opts o = t_opts(t_ms(200), 0);
	struct lh_acquire_opts want = t_opts(1000, t_ms(700));
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lock_opts own = LH_LOCK_OPTS_INIT;
	struct lh *lh = t_open(table), *other = t_open(table);
	struct lh_lease lease;
	struct lh_lock *l;

	more.policy = LH_POLICY_LIVE;
	o.more = &more;
	own.renew_ms = 0;
	is(lh_lock_open(lh, "live", &own, &l), 0, "not renewed");
	is(lh_lock_acquire(l, &o), 0, "held under policy live");
	/* (this thread is both) */
	want.flags |= LH_NO_DEADLOCK;
	is(lh_acquire(other, "live", &want, &lease), -ETIMEDOUT,
	    "wanted by another, past several deadlines");
	is(lh_lock_valid(l), 0, "it is valid");
	is(lh_lock_release(l), 0, "and released");
	is(lh_lock_close(l), 0, "closed");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	struct lh *lh;

	table = t_table();
	lh = t_open(table);
	stopped_past_the_deadline();
	moved_on_by_a_waiter();
	t_close(lh);
	return done();
}
