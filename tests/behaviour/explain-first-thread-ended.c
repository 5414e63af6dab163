/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 A11, lh_explain(): a holder's first thread acquired the key and has
 * ended while another thread runs.  The process lives and holds the key, so the
 * explanation must not call it dead, although /proc shows that thread, and at
 * first sight the process, as a zombie.
 *
 * Otherwise an operator would break the lease of a living holder.
 */
#include <pthread.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const char *table;
static struct t_event *held;

static void *
hold_on(void *first)
{
	(void)pthread_join(*(pthread_t *)first, NULL);
	t_post(held);
	for (;;)
		(void)pause();
	return NULL;
}

static int
acquire_and_end(void *arg)
{
	static pthread_t first;
	struct lh *lh = t_open(table);
	pthread_t thread;

	(void)arg;
	(void)t_hold(lh, "k");
	first = pthread_self();
	if (pthread_create(&thread, NULL, hold_on, &first) != 0)
		return 1;
	pthread_exit(NULL);
}

static int
note_run(const struct lh_key_info *info, void *arg)
{
	if (info->n_holders == 1)
		*(uint32_t *)arg = info->holders[0].run;
	return 0;
}

int
main(void)
{
	uint32_t run = LH_RUN_UNSEEN;
	struct lh *lh;
	pid_t pid;

	table = t_table();
	lh = t_open(table);
	held = t_shared(sizeof(*held));
	pid = t_fork(acquire_and_end, NULL);
	ok(t_await(held, 1, T_HANG_MS), "the holder's first thread has ended");
	is(lh_explain(lh, "k", note_run, &run), 0, "explain");
	ok(run == LH_RUN_SLEEPING || run == LH_RUN_RUNNING ||
	    run == LH_RUN_BLOCKED, "the holder lives: %u", run);
	t_kill(pid);
	is(lh_explain(lh, "k", note_run, &run), 0, "after its death, too");
	t_close(lh);
	return done();
}
