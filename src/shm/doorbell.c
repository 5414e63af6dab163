/* SPDX-License-Identifier: MIT */
/*
 * Doorbells: answers "should I look at my leases and waits now, rather than
 * when I would anyway?"
 *
 * Layout.  A session record has a futex word, which rises; its lowest bit says
 * that somebody listens.  Whoever ends a lease for somebody else, asks for one,
 * or wakes a waiter that has no thread, rings after having made it so.
 *
 *	ring	word += what; if it had LISTENS: FUTEX_WAKE, once
 *	listen	word |= LISTENS; is it what was served last?  If not: look.
 *		If so: futex wait, for that value
 *
 *  I1	LISTENS is set before the listener compares.  So a ring that came before
 *	is seen by the comparison, and one that came after sees LISTENS, and
 *	the word that the kernel compares is another (Dekker: both sides
 *	read-modify-write first).
 *
 * It is a hint, and nothing rests on it: who rings may die between what he did
 * and the ring, or between the ring and the wake-up, the word may be any value,
 * and who listens looks by himself as often as he did before there were bells
 * (live/live_renew.c, op/acquire_wait.c).  A ring too many costs a look.
 *
 * The record may be another session's by now, or nobody's: a needless ring.
 *
 * A crash or stop of the ringer, anywhere: the next look by the clock.
 */
#include "prim/futex.h"
#include "shm/doorbell.h"

static void
ring_session(struct shm_session *se, uint32_t what)
{
	/* pairs with: lhi_doorbell_listen(), then the comparison (I1) */
	uint32_t old = sh32_fetch_add(&se->doorbell, what);

	lhi_point("bell.risen");
	if (old & BELL_LISTENS)
		lhi_futex_wake(&se->doorbell);
}

void
lhi_doorbell_ring(struct lhi_view *v, uint64_t sid, uint32_t what)
{
	if (sid != 0 && sid_idx(sid) < v->geo.max_sessions)
		ring_session(&v->sessions[sid_idx(sid)], what);
}

void
lhi_doorbell_ring_claim(struct lhi_view *v, uint32_t ci, uint32_t what)
{
	struct shm_chunk *ch = &v->chunks[ci / SHM_CHUNK];
	uint64_t owner = sh64_load(&ch->owner);
	uint64_t keeper = sh64_load(&ch->keeper);

	lhi_doorbell_ring(v, owner, what);
	if (keeper != owner)
		lhi_doorbell_ring(v, keeper, what);
}

void
lhi_doorbell_ring_all(struct lhi_view *v, uint32_t what)
{
	for (uint32_t i = 0; i < v->geo.max_sessions; i++) {
		if (sh32_load(&v->sessions[i].doorbell) & BELL_LISTENS)
			ring_session(&v->sessions[i], what);
	}
}

uint32_t
lhi_doorbell_listen(struct lhi_view *v)
{
	/* pairs with: ring() */
	return sh32_fetch_or(&v->me->doorbell, BELL_LISTENS) | BELL_LISTENS;
}

void
lhi_doorbell_ignore(struct lhi_view *v)
{
	(void)sh32_fetch_and(&v->me->doorbell, ~BELL_LISTENS);
}
