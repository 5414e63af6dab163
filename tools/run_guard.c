/* SPDX-License-Identifier: MIT */
/*
 * While the command runs: renews its lease and passes signals on.  If the lease
 * cannot be kept, ends all processes of the command before others may acquire
 * the key.
 *
 * One loop sleeps in ppoll(2) on the signal descriptor and on events of the
 * library (run_events.c), until the next time that renewal_schedule.h names.
 * SIGCHLD arrives on the signal descriptor, so no pidfd is needed.  Each turn
 * has a fixed order, which matters to a process that was stopped for a while:
 *
 *	reap	if the command ended while we were stopped, lh_release()
 *		says whether the lease covered it;
 *	renew	before any signal is passed on: the SIGCONT that woke us must
 *		not wake a command whose lease is gone;
 *	end	send SIGTERM and SIGKILL if they are due;
 *	pass on	the signals that arrived.
 *
 * Invariants.
 *  I1	After a loss nothing is renewed (guarantee G9), and the loss pipe is
 *	closed: its reading end in the command becomes readable.  This also
 *	happens if we are killed.
 *  I2	The command ends by SIGKILL before its lease's deadline, or we learnt
 *	of the loss only after it (stopped, suspended, broken).
 *  I3	When the end of a lost command is reported, no descendant is left: we
 *	are their reaper and see them.  If the kernel cannot end one within
 *	GIVE_UP_NS, a message says so.
 *  I4	Of several keys the loss of one is the loss of all.  The others are
 *	released at once if the command goes on without its lease, and
 *	otherwise when the command has ended.
 *
 * Signals that end a process (INT, TERM, HUP, QUIT) go to all descendants of
 * the command in our process group, because a shell that alone gets the signal
 * dies and leaves its worker running.  Signals from the terminal were sent to
 * the whole group by the kernel and are not sent twice.  After such a signal
 * the lease is kept until those descendants are gone, for LINGER_NS at most: a
 * worker that is still cleaning up is still working.  USR1, USR2 and WINCH go
 * to the command itself.  On TSTP we renew the lease and stop.
 *
 * Not guaranteed: anything while we are stopped.  Then only the token fences.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "message.h"
#include "process_tree.h"
#include "renewal_schedule.h"
#include "run.h"
#include "run_child.h"
#include "run_events.h"
#include "run_guard.h"
#include "run_keys.h"

#define NS_PER_MS	INT64_C(1000000)
#define NS_PER_S	INT64_C(1000000000)
#define AGAIN_NS	(20 * NS_PER_MS)	/* check for remaining
						 * processes again */
#define LINGER_NS	(10 * NS_PER_S)
#define LOOK_NS		(500 * NS_PER_MS) /* interval of checks without
					   * events */
#define GIVE_UP_NS	(5 * NS_PER_S)

struct guard {
	struct run *r;
	struct renewal_schedule schedule;
	struct run_events events;
	int sigfd;
	int loss_fd;		/* writing end, -1: closed */
	pid_t command;		/* 0: it has ended with `status` */
	int status;
	bool no_children;
	bool lost;
	bool ending;		/* the lease is lost; killed at kill_at */
	int64_t kill_at_ns;
	int64_t look_at_ns;
	bool told_to_end;	/* it got INT, TERM, ... */
	int64_t linger_until_ns;	/* 0: the command runs */
	bool cont;		/* a SIGCONT is to be passed on */
};

static int64_t
now_ns(const struct guard *g)
{
	return lh_clock_ns(g->r->lh);
}

static void
reap_children(struct guard *g)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != g->command)
			continue;
		g->command = 0;
		g->status = status;
		g->linger_until_ns = now_ns(g) + LINGER_NS;
	}
	g->no_children = pid < 0 && errno == ECHILD;
}

/* Signals every descendant, or those in our group; at least the command. */
static void
signal_command(struct guard *g, int sig, bool all)
{
	if (process_tree_signal(sig, all ? 0 : getpgrp()) < 0 &&
	    g->command != 0)
		(void)kill(g->command, sig);
}

static void
end_command(struct guard *g, const char *why)
{
	int64_t now = now_ns(g);

	g->ending = true;
	g->kill_at_ns = schedule_kill_at_ns(&g->schedule, now, g->lost);
	signal_command(g, SIGTERM, true);
	signal_command(g, SIGCONT, true);	/* for the stopped ones */
	message("ending the command: %s", why);
}

/* Handles a loss. detail: the library's reason; NULL: not known. */
static void
handle_loss(struct guard *g, const char *detail)
{
	char why[512];

	g->lost = true;
	run_events_close(&g->events);
	(void)close(g->loss_fd);
	g->loss_fd = -1;
	if (detail != NULL)
		(void)snprintf(why, sizeof(why), "%s (token %" PRIu64 ")",
		    detail, g->r->leases[g->r->lost].token);
	else
		(void)snprintf(why, sizeof(why), "the lease on '%.100s' "
		    "(token %" PRIu64 ") is lost", g->r->name,
		    g->r->leases[g->r->lost].token);
	if (g->ending)
		return;
	if (g->r->warn_only) {
		message("%s; the command goes on without it", why);
		(void)run_keys_release(g->r);	/* the other keys: invariant
						 * I4 */
	} else {
		end_command(g, why);
	}
}

static void
renew_lease(struct guard *g)
{
	int e = run_keys_extend(g->r);
	bool known;

	if (e == 0) {
		if (g->schedule.failures > 0)
			message("renewed '%s' after %d failures", g->r->name,
			    g->schedule.failures);
		schedule_renewed(&g->schedule, now_ns(g), g->r->expires_ns);
		return;
	}
	known = run_keys_are_lost(g->r, e);
	if (known || now_ns(g) >= g->schedule.expires_ns) {
		handle_loss(g, known ? lh_error_detail() : NULL);
		return;
	}
	if (g->schedule.failures == 0)
		(void)message_error(e, lh_error_detail(), "cannot renew '%s' "
		    "for now", g->r->name);
	schedule_failed(&g->schedule, now_ns(g));
}

static void
handle_request(struct guard *g)
{
	message("somebody asks for '%s'%s", g->r->name, g->r->term_on_ask ? ": "
	    "asking the command to end" : "");
	if (g->r->term_on_ask) {
		g->told_to_end = true;
		signal_command(g, SIGTERM, false);
	}
}

/*
 * Between renewals, checks whether an operator broke the lease, removed the
 * table by force, or asks for the lease.
 */
static void
check_lease(struct guard *g)
{
	int e = run_keys_verify(g->r);

	if (run_keys_are_lost(g->r, e))
		handle_loss(g, lh_error_detail());
	else if (run_keys_asked(g->r))
		handle_request(g);
	g->look_at_ns = now_ns(g) + LOOK_NS;
}

/* Handles the events that arrived. */
static void
handle_events(struct guard *g)
{
	uint32_t what = run_events_take(&g->events);

	if (what & LH_EVENT_LOST)
		g->look_at_ns = 0;
	if (what & LH_EVENT_ASKED)
		handle_request(g);
}

/* A lease that is renewed and ends nevertheless is limited by the cluster. */
static const char *
why_not_renewed(const struct guard *g)
{
	return g->schedule.failures > 0 ? "its lease cannot be renewed" :
	    "its lease cannot be renewed: the cluster does not confirm that "
	    "this host has the key";
}

/* Renews when due, and ends the command if renewals failed for too long. */
static void
keep_lease(struct guard *g)
{
	handle_events(g);
	if (!g->lost && now_ns(g) >= g->look_at_ns)
		check_lease(g);
	if (!g->lost && now_ns(g) >= g->schedule.renew_at_ns)
		renew_lease(g);
	if (!g->lost && !g->ending && !g->r->warn_only &&
	    now_ns(g) >= schedule_term_at_ns(&g->schedule))
		end_command(g, why_not_renewed(g));
	if (g->ending && now_ns(g) >= g->kill_at_ns)
		signal_command(g, SIGKILL, true);
}

/* Stops this process as SIGTSTP does, under the kernel's rules for orphans. */
static void
stop_ourselves(struct guard *g)
{
	sigset_t stop;

	if (!g->lost)
		renew_lease(g);
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTSTP);
	(void)raise(SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &stop, NULL);	/* it stops here */
	(void)sigprocmask(SIG_BLOCK, &stop, NULL);
}

static void
pass_signal_on(struct guard *g, int sig, bool by_kernel)
{
	if (sig == SIGCHLD)
		return;
	if (run_child_is_ending(sig)) {
		g->told_to_end = true;
		if (!by_kernel)
			signal_command(g, sig, false);
	} else if (sig == SIGTSTP) {
		if (!by_kernel)
			signal_command(g, sig, false);
		stop_ourselves(g);
	} else if (sig == SIGCONT) {
		g->cont = !by_kernel;
	} else if (!by_kernel && g->command != 0) {
		(void)kill(g->command, sig);
	}
}

/* True if the loop must go on. */
static bool
has_reason_to_stay(struct guard *g)
{
	int64_t now = now_ns(g);

	if (g->ending) {
		if (g->no_children || (g->command == 0 &&
		    process_tree_signal(0, 0) == 0))
			return false;
		if (now < g->kill_at_ns + GIVE_UP_NS)
			return true;
		message("some processes of the command could not be ended");
		return false;
	}
	if (g->command != 0)
		return true;
	if (!g->told_to_end || g->no_children ||
	    process_tree_signal(0, getpgrp()) <= 0)
		return false;
	if (now < g->linger_until_ns)
		return true;
	message("the command has ended, but not all that it started; releasing "
	    "'%s'", g->r->name);
	return false;
}

static int64_t
next_turn_ns(const struct guard *g)
{
	int64_t at = INT64_MAX;

	if (!g->lost) {
		at = g->schedule.renew_at_ns < g->look_at_ns ?
		    g->schedule.renew_at_ns : g->look_at_ns;
		if (!g->ending && !g->r->warn_only &&
		    schedule_term_at_ns(&g->schedule) < at)
			at = schedule_term_at_ns(&g->schedule);
	}
	if (g->ending && g->kill_at_ns < at)
		at = g->kill_at_ns;
	if ((g->ending && now_ns(g) >= g->kill_at_ns) || g->command == 0) {
		if (now_ns(g) + AGAIN_NS < at)
			at = now_ns(g) + AGAIN_NS;
	}
	return at;
}

static void
sleep_until(struct guard *g, int64_t at_ns)
{
	struct pollfd fds[1 + LH_MANY_MAX] = {
		{ .fd = g->sigfd, .events = POLLIN }
	};
	int64_t left = at_ns == INT64_MAX ? 3600 * NS_PER_S :
	    at_ns - now_ns(g);
	struct timespec ts;

	if (left < 0)
		left = 0;
	ts.tv_sec = (time_t)(left / NS_PER_S);
	ts.tv_nsec = (long)(left % NS_PER_S);
	run_events_pollfds(&g->events, fds + 1);
	(void)ppoll(fds, 1 + g->events.n, &ts, NULL);
}

static void
guard_loop(struct guard *g)
{
	bool by_kernel;
	int sig;

	for (;;) {
		reap_children(g);
		if (!has_reason_to_stay(g))
			return;
		keep_lease(g);
		if (g->cont && !g->lost)
			signal_command(g, SIGCONT, false);
		g->cont = false;
		sleep_until(g, next_turn_ns(g));
		while ((sig = run_child_next_signal(g->sigfd, &by_kernel)) != 0)
			pass_signal_on(g, sig, by_kernel);
	}
}

static int
command_status(int status)
{
	if (WIFSIGNALED(status))
		return EX_SIGNAL + WTERMSIG(status);
	return WEXITSTATUS(status);
}

/* With --robust, a command that succeeds has repaired what the key guards. */
static void
mark_consistent(struct guard *g)
{
	struct run *r = g->r;

	if (!r->robust || g->lost || g->ending || command_status(g->status) !=
	    EX_YES)
		return;
	for (size_t i = 0; i < r->n; i++) {
		if ((r->leases[i].notes & LH_NOTE_INCONSISTENT) &&
		    lh_mark_consistent(r->lh, &r->leases[i]) == 0)
			message("'%s' is marked consistent", r->name);
	}
}

/* Releases the lease, and finds out whether it covered the command. */
static int
finish_run(struct guard *g)
{
	int e;

	run_events_close(&g->events);
	mark_consistent(g);
	e = run_keys_release(g->r);
	if (g->lost || g->ending)
		return g->r->lost_code;
	if (run_keys_are_lost(g->r, e)) {
		message("the lease on '%s' was lost before the command ended",
		    g->r->name);
		return g->r->lost_code;
	}
	if (e != 0)
		(void)message_error(e, lh_error_detail(), "cannot release '%s'",
		    g->r->name);
	else if (g->r->verbose)
		message("released '%s'", g->r->name);
	return command_status(g->status);
}

int
run_guard(struct run *r, int sigfd, pid_t command, int loss_fd)
{
	struct guard g = {
		.r = r,
		.sigfd = sigfd,
		.command = command,
		.loss_fd = loss_fd,
		.schedule.ttl_ns = r->ttl_ms * NS_PER_MS,
	};

	run_events_open(&g.events, r);
	schedule_renewed(&g.schedule, lh_clock_ns(r->lh), r->expires_ns);
	guard_loop(&g);
	return finish_run(&g);
}
