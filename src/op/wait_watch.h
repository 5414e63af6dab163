/* SPDX-License-Identifier: MIT */
/* Decides how soon a waiter looks at its key by itself: see wait_watch.c. */
#ifndef LHI_WAIT_WATCH_H
#define LHI_WAIT_WATCH_H

#include "op/admission.h"

/* A waiter's part in the watch over its key. */
struct lhi_wait_watch {
	uint32_t first;		/* the first waiter that is not suspect */
	uint32_t ahead;		/* so many waiters before it, to a limit */
	uint32_t behind;	/* so many other sessions behind it run, to a
				 * limit; 0 of the first */
	int64_t period_ns;	/* it looks again after that */
	uint32_t seen;		/* the first waiter, when it last looked by
				 * itself; 0: it has not */
};

/* Finds the part of the queued claim t->ci.  `threads` of its attachment wait,
 * for whatever key; 0: not known.  Any answer is safe: it decides only when
 * the waiter looks. */
void lhi_wait_watch_read(struct lhi_admission *t, uint32_t threads,
    struct lhi_wait_watch *w);

/* The waiter has looked by itself, and w was read.  If it is the deputy: wakes
 * a first waiter that it has not seen, because the waiter that left before that
 * one may have died before it woke it. */
void lhi_wait_watch_first(struct lhi_admission *t, struct lhi_wait_watch *w);

#endif
