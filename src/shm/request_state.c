/* SPDX-License-Identifier: MIT */
/*
 * The facts behind a request: whether its worker is dead, its lease held, and
 * its record reusable.  Changes a record's state.  See request_record.c.
 *
 * Dead.  The record's word has the number of the worker's session record, and
 * its time.  The worker has ended if that record has no session now, or one
 * that began later; else the kernel is asked, as always (session_liveness.c).
 *
 * Held.  By the claim and the lock word that the lease names, in that use and
 * with that token, before its deadline; not by the record.  A reader's claim is
 * announced before it is in the chain, and others may be in it: so for a reader
 * that never learnt of its grant, the chain is read, too.  A lease is reported
 * as past its deadline only after it was made so (G3).
 *
 * While it is being converted or handed over, its claim is already in its next
 * use, and may return.  The word still grants the lease, and so does a reader's
 * claim's grant, which names its push.
 */
#include <errno.h>
#include <time.h>
#include "shm/damaged.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/lock_word.h"
#include "shm/request_record.h"
#include "shm/session_liveness.h"

#define LOOKS 100		/* at a lease that moves */
#define REMEMBER ((uint64_t)REQUEST_REMEMBER_NS >> TICK_SHIFT)

/* Returns the time in the units of deadlines. */
static uint64_t
now_ticks(const struct lhi_view *v)
{
	int64_t rel = lhi_now_ns(v) - v->t0_ns;

	return rel > 0 ? (uint64_t)rel >> TICK_SHIFT : 0;
}

uint64_t
lhi_request_age(const struct lhi_view *v, uint64_t state)
{
	return (now_ticks(v) - req_time(state)) & DEADLINE_MAX;
}

bool
lhi_request_move(struct lhi_view *v, struct lhi_request *q, unsigned st,
    uint32_t code)
{
	uint64_t to = req_make(st, req_seq(q->state) + 1,
	    st == REQ_FAILED || st == REQ_GRANTED ? code :
	    (uint32_t)(v->me - v->sessions), now_ticks(v));

	if (!sh64_cas(&q->r->state, q->state, to))
		return false;
	q->state = to;
	return true;
}

void
lhi_request_pass_tick(const struct lhi_view *v)
{
	const struct timespec nap = { 0, 1L << (TICK_SHIFT - 3) };
	int64_t began = (int64_t)sh64_load(&v->me->attached_ns) - v->t0_ns;

	/* (bounded: a damaged one may be later than now) */
	for (int i = 0; i < 16 && began > 0 &&
	    now_ticks(v) <= (uint64_t)began >> TICK_SHIFT; i++)
		(void)nanosleep(&nap, NULL);
}

static bool
is_final(uint64_t state)
{
	return req_st(state) >= REQ_RELEASED && req_st(state) <= REQ_FAILED;
}

bool
lhi_request_forgotten(const struct lhi_view *v, uint64_t state)
{
	return is_final(state) && lhi_request_age(v, state) > REMEMBER;
}

bool
lhi_request_gone(struct lhi_view *v, uint64_t state)
{
	uint32_t who = req_who(state);
	struct shm_session *se;
	uint64_t s;
	int64_t began;

	if (who >= v->geo.max_sessions)
		return true;
	se = &v->sessions[who];
	s = sh64_load(&se->state);
	if (sess_st(s) != SESS_ALIVE && sess_st(s) != SESS_CLOSING)
		return true;
	began = (int64_t)sh64_load(&se->attached_ns) - v->t0_ns;
	/* (nothing is written in a session's first tick) */
	if (began > 0 && (uint64_t)began >> TICK_SHIFT >= req_time(state))
		return true;
	return lhi_session_dead(v, sid_make(sess_inc(s), who), true);
}

static bool
is_reader(uint64_t st)
{
	return state_kind(st) == ST_READ;
}

static void
expire_lease(struct lhi_view *v, struct shm_slot *s, struct shm_claim *c,
    uint64_t st)
{
	uint64_t w;

	if (!is_reader(st))
		(void)lhi_lock_settle(v, s, lhi_now_ns(v), 0, &w);
	else
		(void)lhi_claim_mark(v, c, lhi_claim_owner(v,
		    (uint32_t)(c - v->claims)), st, ST_EXPIRED,
		    state_deadline(st));
}

/* True if word w grants the lease, whose claim's state was st. */
static bool
grants_lease(struct lhi_view *v, const struct lhi_request *q,
    struct shm_slot *s, struct shm_claim *c, uint64_t st, uint64_t w)
{
	uint64_t seq = lid_seq(q->lease);
	bool moving = state_seq(st) == ((seq + CONVERT_STEP) & MASK(SEQ_BITS));

	if (state_seq(st) != seq && !moving)
		return false;
	if (word_mode(w) == WORD_X)
		return word_idx(w) == lid_claim(q->lease) &&
		    lhi_lock_token(s, w) == q->token &&
		    (moving || !is_reader(st));
	return word_mode(w) == WORD_S && lhi_reader_token(s, c) == q->token &&
	    (moving ? lhi_reader_may_move(c, seq) : is_reader(st)) &&
	    lhi_readers_has(v, s, lid_claim(q->lease)) != 0;
}

/* True if it is held, its claim's state being st.  (That is compared
 * afterwards.) */
static bool
is_held_in_state(struct lhi_view *v, const struct lhi_request *q,
    struct shm_claim *c, uint64_t st)
{
	uint64_t slot_ref = sh64_load(&c->slot_ref), w;
	uint64_t owner = lhi_claim_owner(v, lid_claim(q->lease));
	struct shm_slot *s = lhi_slot(v, (uint32_t)slot_ref);

	if (!state_held(st) ||
	    lhi_claim_epoch(c) != lid_epoch(q->lease) || s == NULL ||
	    sh32_load(&s->gen) != slot_ref >> 32 ||
	    (sh64_load(&s->hash) != q->name.key &&
	    !(q->notes & REQUEST_SEVERAL)) || owner == 0 ||
	    lhi_session_dead(v, owner, true))
		return false;
	w = sh64_load(&s->word);
	if (!grants_lease(v, q, s, c, st, w))
		return false;
	lhi_point("request.judging");
	if (lhi_now_ns(v) < lhi_deadline_ns(v, state_deadline(st)))
		return true;
	expire_lease(v, s, c, st);
	return false;
}

bool
lhi_request_held(struct lhi_view *v, const struct lhi_request *q)
{
	struct shm_claim *c = lhi_claim(v, lid_claim(q->lease));
	bool held = false;
	uint64_t st;

	if (c == NULL || q->lease == 0)
		return false;
	/* again if it was extended meanwhile, or came to rest: otherwise it
	 * would be declared lost, for good */
	for (int i = 0; i < LOOKS; i++) {
		st = sh64_load(&c->state);
		held = is_held_in_state(v, q, c, st);
		if (sh64_load(&c->state) == st)
			break;
		if (lhi_mutant_on(request_looks_once))
			return false;
	}
	return held;
}

int
lhi_request_won(struct lhi_view *v, const struct lhi_request *q)
{
	uint32_t ci = lid_claim(q->lease);
	struct shm_claim *c = lhi_claim(v, ci);
	struct shm_slot *s;
	int has;

	if (!lhi_request_held(v, q))
		return 0;
	if (!is_reader(sh64_load(&c->state)))
		return 1;
	s = lhi_slot(v, lhi_claim_slot(c));
	has = s == NULL ? -EAGAIN : lhi_readers_has(v, s, ci);
	return has != -EUCLEAN ? has : lhi_damaged(v, "readers of a key cannot "
	    "be walked", lhi_slot_idx(v, s), ci);
}

unsigned
lhi_request_worth(struct lhi_view *v, struct lhi_request *q, bool probe)
{
	unsigned st = req_st(q->state);

	if (st == REQ_FREE || st > REQ_FAILED)
		return 5;
	if (lhi_request_forgotten(v, q->state))
		return 4;
	if (!probe)
		return 0;
	if (st <= REQ_PENDING && !lhi_request_gone(v, q->state))
		return 0;
	if (st == REQ_TAKEN || st == REQ_ASKED)
		return 2;
	if (lhi_session_dead(v, q->name.session, true))
		return 3;
	if (st == REQ_GRANTED && !lhi_request_held(v, q))
		(void)lhi_request_move(v, q, REQ_LOST, 0);	/* RQ9 */
	if (st == REQ_PENDING)
		return lhi_request_age(v, q->state) > REMEMBER &&
		    lhi_request_won(v, q) == 0 ? 2 : 0;
	return is_final(q->state) ? 1 : 0;
}
