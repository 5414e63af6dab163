/* SPDX-License-Identifier: MIT */
/*
 * Hints of a holder's death: when the first waiter of a key asks whether its
 * holder still lives.  op/acquire_wait.c calls it.
 *
 * The first waiter sleeps on its own park and on the death word of the holder's
 * session (proc/death_word.c) together, and then does what follows:
 *
 *	read the word		before the proof is asked, so that a mark that
 *				comes later ends the next sleep
 *	a new mark		wake two others that sleep on the word, since
 *				the kernel wakes one, and each key that the
 *				process held has a first waiter; then ask at
 *				once
 *	no proof yet		threads are still on their way out: ask again
 *				after 20, 40, 80 us and so on, up to the usual
 *				20 ms.  (The watch below is asked once for each
 *				mark; then the byte and the list of threads.
 *				Never sched_yield(): the next thread
 *				may tear down a GiB before it gives the
 *				processor back.)
 *	armed anew		another thread of the holder has done that:
 *				sleep on the word again
 *
 * A waiter that begins to sleep again, after half a millisecond with the same
 * holder, watches its process (prim/process_end.h): two descriptors, until the
 * wait ends or another holder follows.  That takes 60 us.  The proof takes 10
 * us then instead of 50.
 *
 * The waiter asks every 20 ms as well, whatever the word says.  So a missing
 * mark costs promptness only: if the kernel has no futex_waitv(), if the word
 * was scribbled, or if a woken waiter dies or stops before it wakes the next
 * one (row Z2 of doc/protocol.md).
 */
#include "base/clock.h"
#include "op/death_hint.h"
#include "prim/futex.h"
#include "prim/robust_list.h"
#include "shm/session_liveness.h"

#define NAP_NS INT64_C(20000)
#define WATCH_NS INT64_C(500000)
#define NAPS_MAX 10		/* the last one is of 20 ms */

void
lhi_death_hint_drop(struct lhi_death_hint *h)
{
	struct lhi_process_watch *w = h->watch;

	lhi_process_watch_end(w);
	*h = (struct lhi_death_hint){ .watch = w };
}

/* Reads the word again. */
static void
read_word(struct lhi_death_hint *h)
{
	uint32_t was = h->value;

	h->value = sh32_load(h->word);
	if (!(h->value & ROBUST_MARKED)) {
		h->naps = 0;
		h->told = false;
	} else if (!(was & ROBUST_MARKED)) {
		h->naps = 0;
		h->told = true;
	}
}

int64_t
lhi_death_hint_choose(struct lhi_view *v, struct lhi_death_hint *h, uint64_t w,
    int64_t now, int64_t until)
{
	uint64_t owner = word_mode(w) == WORD_FREE ||
	    lhi_claim(v, word_idx(w)) == NULL || lhi_mutant_on(hint_unread) ?
	    0 : lhi_claim_owner(v, word_idx(w));
	shm_u32 *word = owner == 0 ? NULL : lhi_session_death_word(v, owner);
	int64_t nap;

	if (word != h->word) {
		lhi_death_hint_drop(h);
		h->word = word;
		h->since_ns = now;
	}
	if (word == NULL)
		return until;
	read_word(h);
	if (h->told)
		return now;
	if (!(h->value & ROBUST_MARKED)) {
		if (h->value != 0 && h->watched != owner &&
		    now - h->since_ns >= WATCH_NS) {
			h->watched = owner;
			lhi_session_watch(v, owner, h->watch);
		}
		return until;
	}
	nap = now + (NAP_NS << h->naps);
	if (h->naps < NAPS_MAX)
		h->naps++;
	return nap < until ? nap : until;
}

bool
lhi_death_hint_take(struct lhi_view *v, struct lhi_death_hint *h)
{
	if (h->word == NULL)
		return false;
	read_word(h);
	if (!h->told)
		return false;
	h->told = false;
	lhi_point("hint.told");
	if (!lhi_mutant_on(hint_not_passed_on))
		lhi_futex_wake_two(h->word);
	if (h->watched != 0)
		(void)lhi_session_watched_dead(v, h->watched, h->watch);
	return true;
}

void
lhi_death_hint_sleep(const struct lhi_death_hint *h, shm_u32 *park,
    uint32_t asleep, int64_t until_ns)
{
	const struct lhi_futex on[] = { { park, asleep },
	    { h->word, h->value } };

	if (h->word != NULL && h->value != 0 && !(h->value & ROBUST_MARKED) &&
	    lhi_futex_any_works())
		lhi_futex_wait_any(on, 2, until_ns);
	else
		lhi_futex_wait(park, asleep, until_ns);
}
