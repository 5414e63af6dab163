/* SPDX-License-Identifier: MIT */
/*
 * When a lease is renewed, and when the command is ended for want of it.  Pure
 * arithmetic on the table's clock; run_guard.c does what it says.
 *
 * Timeline of a lease of ttl t, whose deadline is D (30 s in brackets):
 *
 *	D - t		granted, or renewed
 *	D - 2t/3	renewal is due (10 s); it fails for now: again after
 *			t/20, at most a second
 *	D - t/4		at least D - 5 s: still not renewed: SIGTERM (25 s)
 *	D - t/10	at least D - 1 s: SIGKILL (29 s)
 *	D		others may have it
 *
 * A cluster key's lease may end sooner than its ttl says, and that end moves on
 * without us: t is then what was left when it was last seen to have moved.
 *
 * Renewing goes on in between: a renewal that succeeds while the command is
 * being ended gives it time, it does not call off its end.
 *
 * Where the lease is found lost (we were stopped, or an operator broke it),
 * others may have it already: SIGTERM at once, SIGKILL t/10 later, a second at
 * most.
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

/* Granted or renewed at now, until expires. */
void schedule_renewed(struct renewal_schedule *p, int64_t now_ns,
    int64_t expires_ns);

/* Not renewed at now, and not lost either. */
void schedule_failed(struct renewal_schedule *p, int64_t now_ns);

/* When to end the command if it has not been renewed by then. */
int64_t schedule_term_at_ns(const struct renewal_schedule *p);

/*
 * When to kill it, having sent SIGTERM at term: before the deadline unless that
 * is lost.
 */
int64_t schedule_kill_at_ns(const struct renewal_schedule *p, int64_t term_ns,
    int lost);

#endif
