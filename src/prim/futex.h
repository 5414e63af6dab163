/* SPDX-License-Identifier: MIT */
/* Sleeping on a shared 32-bit word, and waking who sleeps there. */
#ifndef LHI_FUTEX_H
#define LHI_FUTEX_H

#include <stdint.h>
#include "prim/shared.h"

/*
 * Sleep while *word is `asleep`, until the absolute CLOCK_MONOTONIC time
 * until_ns at the latest.  Returns for any reason at all (woken, value differs,
 * time, signal, spuriously): the caller looks again at what it waits for.
 */
void lhi_futex_wait(shm_u32 *word, uint32_t asleep, int64_t until_ns);

struct lhi_futex {
	shm_u32 *word;
	uint32_t asleep;
};

#define FUTEX_ANY_MAX 128u

/* The same on several words, as long as each has its value; n is 1 to
 * FUTEX_ANY_MAX.  Can it be done here? */
void lhi_futex_wait_any(const struct lhi_futex *on, uint32_t n,
    int64_t until_ns);
bool lhi_futex_any_works(void);

/* Wake one sleeper. */
void lhi_futex_wake(shm_u32 *word);

#endif
