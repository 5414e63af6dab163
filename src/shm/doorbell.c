/* SPDX-License-Identifier: MIT */
/*
 * Doorbells: tell a session to check its leases and waits now.
 *
 * Layout.  A session record has a futex word, which rises; its lowest bit says
 * that a thread listens.  A process that ends another's lease, asks for one, or
 * wakes a waiter without a thread, rings after that change.
 *
 *	ring	word += what; if it had LISTENS: FUTEX_WAKE, once
 *	listen	word |= LISTENS; compare with the value served last.
 *		If it differs: check.  If not: futex wait, for that value
 *
 *  I1	LISTENS is set before the listener compares.  So a ring that came before
 *	is seen by the comparison, and one that came after sees LISTENS, and
 *	the word that the kernel compares is another (Dekker: both sides
 *	read-modify-write first).
 *
 * It is a hint, and nothing relies on it.  The ringing process may die between
 * its change and the ring, or between the ring and the wake-up; the word may
 * have any value; and a listener also checks by itself at its usual times
 * (live/live_renew.c, op/acquire_wait.c). A needless ring costs a check.
 *
 * The record may be another session's by now, or unused: a needless ring.
 *
 * A crash or stop of the ringer, anywhere: the next check by the clock.
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

/* A named session that ends with its maker has no process of its own: rings its
 * maker, who has a live handle in it, or may have. */
static void
ring_maker(struct lhi_view *v, uint64_t sid, uint32_t what)
{
	const struct shm_session *se;

	if (sid == 0 || sid_idx(sid) >= v->geo.max_sessions ||
	    lhi_mutant_on(maker_unrung))
		return;
	se = &v->sessions[sid_idx(sid)];
	if (sess_st(sh64_load(&se->state)) == SESS_NAMED)
		lhi_doorbell_ring(v, sh64_load(&se->maker), what);
}

void
lhi_doorbell_ring_claim(struct lhi_view *v, uint32_t ci, uint32_t what)
{
	struct shm_chunk *ch = &v->chunks[ci / SHM_CHUNK];
	uint64_t owner = sh64_load(&ch->owner);
	uint64_t keeper = sh64_load(&ch->keeper);

	lhi_doorbell_ring(v, owner, what);
	ring_maker(v, owner, what);
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
