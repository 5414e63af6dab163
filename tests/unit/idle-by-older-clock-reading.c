/* SPDX-License-Identifier: MIT */
/*
 * How long a lock word has been as it is.  The reading of the clock may be
 * older than the note that another process has left.  Then the answer is no
 * time, and not the 49 days of a difference of unsigned milliseconds.  (A
 * process that is preempted after it reads the clock has such a reading.)
 */
#include "base/clock.h"
#include "shm/evict.h"
#include "tap.h"

#define NS(ms)	((int64_t)(ms) * NS_PER_MS)
#define WRAP	(INT64_C(1) << 32)	/* of a note's milliseconds */

static struct shm_slot slot;
static uint32_t ver;

/* A new word, noted at one reading: how long has it been so by another? */
static uint32_t
idle(int64_t noted_ms, int64_t now_ms)
{
	uint64_t w = word_make(WORD_FREE, CAUSE_RELEASED, ++ver);

	is(lhi_idle_ms(&slot, w, 0, NS(noted_ms)), 0, "a new word: noted");
	return lhi_idle_ms(&slot, w, 0, NS(now_ms));
}

int
main(void)
{
	is(idle(1000, 1000), 0, "in the same millisecond");
	is(idle(1000, 1500), 500, "half a second later");
	is(idle(1000, 999), 0, "by a reading that is 1 ms older");
	is(idle(60000, 1000), 0, "a minute older");
	is(idle(WRAP - 10, WRAP + 10), 20, "over the wrap of the milliseconds");
	is(idle(WRAP + 10, WRAP - 10), 0, "and older, over the wrap");
	return done();
}
