/* SPDX-License-Identifier: MIT */
/* Sleeping on a shared 32-bit word, and waking the sleeper.  src/shm and src/op
 * use it. */
#ifndef LHI_FUTEX_H
#define LHI_FUTEX_H

#include <stdint.h>
#include "prim/shared.h"

/* Sleeps while *word is `asleep`, until the absolute CLOCK_MONOTONIC time
 * until_ns at the latest.  It may return for any reason (woken, other value,
 * time, signal, spuriously), so the caller checks its condition again. */
void lhi_futex_wait(shm_u32 *word, uint32_t asleep, int64_t until_ns);

struct lhi_futex {
	shm_u32 *word;
	uint32_t asleep;
};

#define FUTEX_ANY_MAX 128u

/* The same for n words (1 to FUTEX_ANY_MAX), while each has its value. */
void lhi_futex_wait_any(const struct lhi_futex *on, uint32_t n,
    int64_t until_ns);
/* True if the kernel supports lhi_futex_wait_any(). */
bool lhi_futex_any_works(void);

/* Wakes one sleeper; two. */
void lhi_futex_wake(shm_u32 *word);
void lhi_futex_wake_two(shm_u32 *word);

#endif
