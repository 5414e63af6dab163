/* SPDX-License-Identifier: MIT */
/*
 * Decides when a lease is renewed, and when the command is ended because the
 * lease was not.  Pure arithmetic on the table's clock; run_guard.c acts on it.
 *
 * Timeline of a lease of ttl t, whose deadline is D (30 s in brackets):
 *
 *	D - t		granted, or renewed
 *	D - 2t/3	renewal is due (10 s); if it fails, it is tried
 *			again after t/20, at most a second
 *	D - t/4		at least D - 5 s: still not renewed: SIGTERM (25 s)
 *	D - t/10	at least D - 1 s: SIGKILL (29 s)
 *	D		others may have the key
 *
 * The lease of a cluster key may end sooner than its ttl says, and that end
 * advances without us.  t is then the time that was left when the end was last
 * seen to advance.
 *
 * Renewal continues in between.  A renewal that succeeds while the command is
 * being ended gives the command more time to end, but does not cancel the end.
 *
 * If the lease is found lost (we were stopped, or an operator broke it), others
 * may hold the key already: SIGTERM at once, SIGKILL after t/10, at most a
 * second.
 */
#ifndef TOOLS_RENEWAL_SCHEDULE_H
#define TOOLS_RENEWAL_SCHEDULE_H

#include <stdint.h>

struct renewal_schedule {
	int64_t ttl_ns;
	int64_t span_ns;	/* t */
	int64_t expires_ns;
	int64_t renew_at_ns;
	int failures;		/* since the last renewal */
};

/* Records a grant or renewal at now, valid until expires. */
void schedule_renewed(struct renewal_schedule *p, int64_t now_ns,
    int64_t expires_ns);

/* Records a renewal that failed at now, without a loss of the lease. */
void schedule_failed(struct renewal_schedule *p, int64_t now_ns);

/* Returns when to end the command if no renewal succeeds by then. */
int64_t schedule_term_at_ns(const struct renewal_schedule *p);

/* Returns when to kill the command after SIGTERM at term.  This is before the
 * deadline, unless the lease is lost. */
int64_t schedule_kill_at_ns(const struct renewal_schedule *p, int64_t term_ns,
    int lost);

#endif
