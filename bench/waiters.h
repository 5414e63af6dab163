/* SPDX-License-Identifier: MIT */
/* Processes that wait for one lock, and what that costs.  See waiters.c. */
#ifndef WAITERS_H
#define WAITERS_H

/* Called by each waiter just before it begins to wait. */
void waiters_begin(void);

/* Returns the processor time in ns that n processes take in a second, each of
 * which calls wait().  They are measured over span_us and killed. */
double waiters_spend(unsigned int n, void (*wait)(void), unsigned int span_us);

#endif
