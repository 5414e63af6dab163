/* SPDX-License-Identifier: MIT */
/* test: slow 8 */
/*
 * Policy live: a holder whose control group is frozen (docker pause) looks as
 * if it slept (version 2) or waited for a disk (version 1), and its lease must
 * end at its deadline all the same.  A holder that only sleeps, or waits in the
 * kernel for long, keeps it.  Where the groups cannot be seen, the kernel's
 * word for its wait decides, and an unknown state ends at the deadline.
 *
 * Otherwise a frozen container would keep its keys for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/control_group.h"
#include "support/support.h"
#include "tap.h"

#define TRIES 4

static struct lh_acquire_more live = LH_ACQUIRE_MORE_INIT;
static int64_t ttl_ms;

static void
hold(struct t_actor *a)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);

	o.more = &live;
	t_begin_acquire_opts(a, "k", &o);
	is(t_result(a), 0, "another process holds the key");
}

/* The lease ends at its deadline, and its holder can see that. */
static void
lost(struct lh *lh, struct t_actor *a)
{
	struct lh_lease l;

	is(t_acquire(lh, "k", 1000, T_HANG_MS, &l), 0,
	    "frozen, it loses the key");
	is(l.notes, LH_NOTE_PREVIOUS_EXPIRED, "at its deadline");
	t_group_thaw();
	is(t_do_verify(a), -ESTALE, "thawed, it finds the lease lost");
	is(lh_release(lh, &l), 0, "released");
}

static int
note_run(const struct lh_key_info *info, void *arg)
{
	if (info->n_holders == 1)
		*(uint32_t *)arg = info->holders[0].run;
	return 0;
}

/* True if the sleeping holder kept it; a waiter that is late itself lets the
 * lease end rightly: a longer ttl then. */
static bool
play(const char *table, bool hidden)
{
	struct t_actor *a = t_actor(table);
	struct lh *lh;
	uint32_t run = LH_RUN_UNSEEN;
	struct lh_lease l;
	bool kept;

	t_group_enter(a->pid);
	if (hidden && !t_mount("/sys/fs/cgroup", ""))
		bail_out("no mount: %s", strerror(errno));
	lh = t_open(table);
	hold(a);
	kept = t_acquire(lh, "k", 1000, 5 * ttl_ms / 2, &l) == -ETIMEDOUT;
	if (kept) {
		ok(t_group_freeze(a->pid), "its group is frozen, and so is it");
		is(lh_explain(lh, "k", note_run, &run), 0, "explain");
		if (!hidden)
			is(run, LH_RUN_FROZEN, "calls it frozen");
		lost(lh, a);
	} else if (lh_release(lh, &l) != 0) {
		fail("released");
	}
	t_actor_end(a);
	t_close(lh);
	return kept;
}

static int
play_hidden(void *arg)
{
	return play(arg, true) ? 0 : 2;
}

static void
freeze(int kind, bool hidden)
{
	int kept = 2;

	if (!t_group_make(kind))
		return;
	ttl_ms = t_ms(150);
	for (int i = 0; i < TRIES && kept == 2; i++, ttl_ms *= 2) {
		const char *table = t_table();

		kept = !hidden ? play(table, false) ? 0 : 2 :
		    t_reap(t_fork(play_hidden, (void *)(uintptr_t)table),
		    10 * T_HANG_MS);
	}
	is(kept, 0, "%s%s: kept while it slept, lost when frozen",
	    t_group_kinds[kind], hidden ? ", not to be seen" : "");
	t_group_remove();
}

/* A parent waits for a child of vfork() in state D. */
static int
wait_in_kernel(struct t_actor *a, void *arg)
{
	(void)a;
	(void)arg;
	if (vfork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	return 0;
}

static bool
play_in_kernel(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct lh *lh = t_open(table);
	struct lh_lease l;
	bool kept;

	hold(a);
	t_begin(a, wait_in_kernel, NULL);
	ok(t_until(T_HANG_MS, t_in_kernel(a->pid)), "it waits in the kernel");
	kept = t_acquire(lh, "k", 1000, 5 * ttl_ms / 2, &l) == -ETIMEDOUT;
	if (!kept && lh_release(lh, &l) != 0)
		fail("released");
	t_actor_kill(a);
	t_actor_free(a);
	t_close(lh);
	return kept;
}

int
main(void)
{
	bool kept = false;

	live.policy = LH_POLICY_LIVE;
	ttl_ms = t_ms(150);
	for (int i = 0; i < TRIES && !kept; i++, ttl_ms *= 2)
		kept = play_in_kernel();
	ok(kept, "one that waits in the kernel keeps it");
	for (int i = 0; i < T_GROUP_KINDS; i++) {
		freeze(i, false);
		if (geteuid() == 0)
			freeze(i, true);
	}
	return done();
}
