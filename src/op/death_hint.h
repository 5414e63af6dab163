/* SPDX-License-Identifier: MIT */
/* Hints from the kernel that a key's holder has died: see death_hint.c. */
#ifndef LHI_DEATH_HINT_H
#define LHI_DEATH_HINT_H

#include "prim/process_end.h"
#include "shm/view.h"

struct lhi_death_hint {
	struct lhi_process_watch *watch; /* of the waiter, for the holder */
	uint64_t watched;	/* the session for which that was begun, or 0 */
	shm_u32 *word;		/* of the holder's session, or NULL */
	uint32_t value;		/* as it was read last */
	uint32_t naps;		/* sleeps since the mark was seen */
	int64_t since_ns;	/* the first look at it */
	bool told;		/* the mark is new: ask for the proof */
};

/* Turns to the holder that the key's word w names; before a sleep.  Returns the
 * latest time to wake up, not after `until`; `now` if the mark is new. */
int64_t lhi_death_hint_choose(struct lhi_view *v, struct lhi_death_hint *h,
    uint64_t w, int64_t now, int64_t until);

/* Forgets the holder: another waiter watches it, or the wait has ended. */
void lhi_death_hint_drop(struct lhi_death_hint *h);

/* True, once, if the kernel has marked the word: ask whether the holder lives.
 * Then two others that sleep on it have been woken, which do the same, and the
 * holder is known to be dead if its process was watched and has ended. */
bool lhi_death_hint_take(struct lhi_view *v, struct lhi_death_hint *h);

/* Sleeps on `park` while it is `asleep`, and on the death word, until that
 * absolute CLOCK_MONOTONIC time at the latest. */
void lhi_death_hint_sleep(const struct lhi_death_hint *h, shm_u32 *park,
    uint32_t asleep, int64_t until_ns);

#endif
