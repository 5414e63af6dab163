/* SPDX-License-Identifier: MIT */
/*
 * The death word: lets the kernel tell waiters that the process behind a
 * session may have ended.  lh_open(), lh_close() and each thread's first use of
 * a table call this file; op/death_hint.c reads the word.
 *
 * Layout.  shm_ring.death, one for each session of a process:
 *
 *	0			the kernel does not tell: look every 20 ms
 *	ARMED | thread		that thread has it in its robust list
 *	ARMED | MARKED		the kernel has walked that list
 *
 * Writers:
 *	its session's threads	arm (0 or MARKED -> ARMED | thread), disarm (0)
 *	the kernel		mark, by a swap from exactly that thread
 *	anybody else		nothing; but any value is safe
 *
 * A mark is a hint and never a proof.  It says that one thread is over.  Thread
 * exit and exec mark, too, and other threads run on for up to 40 us after a
 * kill. A waiter that sees it asks for the proof of death
 * (shm/session_liveness.c): the byte lock is free, or no thread of the process
 * has memory any more.  A missing mark costs promptness: then a waiter asks
 * after 20 ms, as without the word.
 *
 * It is armed by the thread that opens the table.  When that ends while the
 * process lives, the first use of the table by another thread arms the word
 * anew.  Threads that have used it before do nothing, so waiters may ask every
 * 20 ms from then on.  Nothing is done when a key is acquired.
 *
 * Crash or stop (row Z1 of doc/protocol.md): before the entry is linked, the
 * word names a thread whose end nobody marks; while the word is marked and not
 * armed anew, or after it was disarmed, nobody is woken.  In each case waiters
 * ask after 20 ms.
 *
 * Fork.  A child has no entry: its robust list is empty, and the word names a
 * thread of its parent.  Model: tests/model/death_word.pml.
 */
#include <errno.h>
#include <stddef.h>
#include "prim/robust_list.h"
#include "proc/death_word.h"
#include "proc/fork.h"

_Static_assert(offsetof(struct shm_ring, death) == ROBUST_WORD_AT &&
    sizeof(struct shm_ring) == 4096, "where the kernel finds the word");

/* True if the word names a thread.  (If others have scribbled there, it is
 * armed anew or not: nothing depends on it.) */
static bool
is_armed(const struct shm_ring *ring)
{
	uint32_t w = sh32_load(&ring->death);

	return w != 0 && !(w & ROBUST_MARKED);
}

void
lhi_death_word_arm(struct lh *lh)
{
	struct lhi_view *v = &lh->v;
	uint32_t idx = sid_idx(lh->sid);
	int saved = errno;

	if (v->ring == NULL)
		return;
	if (lh->death != NULL) {
		if (is_armed(v->ring) || lhi_mutant_on(armed_once) ||
		    lhi_robust_rearm(lh->death, &v->ring->death))
			return;
		lhi_robust_disarm(lh->death);
	}
	lh->death = lhi_robust_arm(lhi_view_fd(v), (off_t)(v->geo.rings_off +
	    idx * sizeof(struct shm_ring)), &v->ring->death, lhi_forks());
	if (lh->death == NULL)
		sh32_store(&v->ring->death, 0);
	errno = saved;
}

void
lhi_death_word_disarm(struct lh *lh)
{
	if (lh->death == NULL)
		return;
	sh32_store(&lh->v.ring->death, 0);
	lhi_robust_disarm(lh->death);
	lh->death = NULL;
}
