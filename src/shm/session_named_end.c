/* SPDX-License-Identifier: MIT */
/*
 * The end of a named session: how its leases count as ended, which keys are
 * delayed or removed, and when its chunks may be reclaimed.  See
 * session_named.c.
 *
 * All of it is read from the record of a session that is DEAD, so nothing in it
 * changes before the reclaiming is over.  Any process that frees a word of the
 * session's, or reclaims it, reads it; each step may be repeated.  If the
 * record says nothing about a session (it was no named one, or left a chunk to
 * a later incarnation), its leases end as those of the dead.
 *
 * A lease that was not checked until both its deadline and its session's end
 * had passed counts as ended by the latter (shm/lock_word.c). Otherwise a key
 * with a lock-delay could be acquired at once.
 *
 * A claim that is being handed over, from it or to it, or downgraded, or freed,
 * is MOVING: set before the word is swapped, cleared when the outcome is
 * certain, left by a killed process.  The state of such a claim does not say
 * whether it held its key at the session's end.  So the key is removed only if
 * reclaiming has found the claim in the word, or in the chain.  A reader's may
 * have been held exclusively, so its key is delayed.  (A reader's that is
 * handed over is in the chain for as long as it is held: it needs no mark.)
 *
 * Many callers may present one lease at once.  So only the winner of a use's
 * state marks that use as moving, if the claim still is in it, and clears
 * exactly its own mark: marks of another use stay.  (A release marks the use
 * that it finds; if it comes too late at the word, it finds the lease over.)
 * Uses are distinguished by the low bits of their numbers; the whole number is
 * compared in the claim's state, between the read of the mark and its swap.
 * Model: tests/model/claim_note.pml.
 *
 * A chunk's keeper is gone when its session's lock is, whatever pid namespace
 * it is in.  If no lock proves a death (SESS_NOPROOF) it is gone when its
 * process is.  A keeper whose process cannot be seen (in another pid namespace)
 * keeps the chunk, 64 claims, and the ended session's record; the rest of the
 * session is reclaimed.  It cannot be taken by force: a stopped keeper stores
 * into a claim when it goes on.
 *
 * A key that is to be removed (NAMED_DELETE) is evicted by the reclaiming
 * process (claim_record.c) while the claim that held it is still in its last
 * use.  If that process is killed in between, the next one finds the claim so,
 * and evicts the key.  A process that was quicker to acquire the key keeps it.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "shm/session_named.h"

#define DELAY_BITS	28
#define DELAY_SEED	0xau
#define TICK_MS		16u
#define TICK_NS		(TICK_MS * NS_PER_MS)
#define DELAY_MOST	(NAMED_DELAY_MAX_MS / TICK_MS + 2)

/* Returns the record of a named session that has ended so; NULL. */
static const struct shm_session *
ended_record(const struct lhi_view *v, uint64_t sid, enum lhi_named_end *how)
{
	const struct shm_session *se;
	uint64_t s;

	if (sid == 0 || sid_idx(sid) >= v->geo.max_sessions)
		return NULL;
	se = &v->sessions[sid_idx(sid)];
	s = sh64_load(&se->state);
	if (sess_st(s) != SESS_DEAD || !sess_marked(s) ||
	    sess_inc(s) != sid_inc(sid))
		return NULL;
	*how = (enum lhi_named_end)(state_deadline(sh64_load(&se->until)) &
	    (UNTIL_FIRST - 1));
	/* and that was its own word still */
	return sh64_load(&se->state) == s ? se : NULL;
}

enum lhi_cause
lhi_named_cause(const struct lhi_view *v, uint64_t sid)
{
	enum lhi_named_end how;

	return ended_record(v, sid, &how) != NULL && how == NAMED_DESTROYED ?
	    CAUSE_RELEASED : CAUSE_DIED;
}

/*
 * A key's delay is a number of ticks on the table's clock and the XOR of its
 * hexadecimal digits, so that no bit of it can change unseen.
 */
static uint32_t
delay_make(uint32_t ticks)
{
	uint32_t sum = DELAY_SEED, t = ticks & (uint32_t)MASK(DELAY_BITS);

	for (int i = 0; i < DELAY_BITS; i += 4)
		sum ^= t >> i & 0xf;
	return t << 4 | sum;
}

bool
lhi_named_delay_sound(const struct shm_slot *s)
{
	uint32_t delay = sh32_load_rlx(&s->delay);

	return delay == 0 || delay == delay_make(delay >> 4);
}

static uint32_t
now_in_ticks(const struct lhi_view *v)
{
	return (uint32_t)(lhi_now_ns(v) / TICK_NS & (int64_t)MASK(DELAY_BITS));
}

/*
 * Returns how many ticks a delay still lasts; more than DELAY_MOST: it is over.
 */
static uint32_t
ticks_left(uint32_t delay, uint32_t now)
{
	return ((delay >> 4) - now) & (uint32_t)MASK(DELAY_BITS);
}

/* Delays the key for that long. */
static void
keep_key_back(struct lhi_view *v, struct shm_slot *s, uint32_t ms)
{
	uint32_t was, now, n = 0, ticks = ms / TICK_MS + 2;

	if (ms == 0 || ms > NAMED_DELAY_MAX_MS)
		return;
	/* never earlier than a delay that was set meanwhile, for the session
	 * that was the next to hold the key */
	do {
		was = sh32_load(&s->delay);
		now = now_in_ticks(v);
		if (was != 0 && ticks_left(was, now) >= ticks &&
		    ticks_left(was, now) <= DELAY_MOST)
			return;
		lhi_point("named.delaying");
	} while (!sh32_cas(&s->delay, was, delay_make(now + ticks)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		(void)lhi_damaged_restless(v, "how long a key is kept back",
		    lhi_slot_idx(v, s));
}

void
lhi_named_delay(struct lhi_view *v, struct shm_slot *s, uint64_t sid)
{
	enum lhi_named_end how;
	const struct shm_session *se = ended_record(v, sid, &how);

	if (se != NULL && how != NAMED_DESTROYED)
		keep_key_back(v, s, sh32_load_rlx(&se->lock_delay_ms));
}

uint32_t
lhi_named_delay_of(const struct lhi_view *v, uint64_t sid)
{
	uint32_t ms;

	if (!lhi_named_is(v, sid))
		return 0;
	ms = sh32_load(&v->sessions[sid_idx(sid)].lock_delay_ms);
	return lhi_named_is(v, sid) ? ms : 0;
}

void
lhi_named_delay_late(struct lhi_view *v, struct shm_slot *s, uint64_t sid,
    uint32_t ms)
{
	enum lhi_named_end how;

	if (ended_record(v, sid, &how) == NULL || how != NAMED_DESTROYED)
		keep_key_back(v, s, ms);
}

void
lhi_named_delay_moved(struct lhi_view *v, uint32_t ci, uint64_t st)
{
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(&v->claims[ci]));

	if (state_kind(st) == ST_READ && s != NULL &&
	    lhi_named_moving(v, ci, st))
		lhi_named_delay(v, s, lhi_claim_owner(v, ci));
}

void
lhi_named_delay_for_repair(struct lhi_view *v, uint32_t ci)
{
	uint64_t sid = lhi_claim_owner(v, ci), st, w;
	uint64_t slot_ref = sh64_load(&v->claims[ci].slot_ref);
	struct shm_slot *s = lhi_slot(v, (uint32_t)slot_ref);
	const struct shm_session *se;

	if (s == NULL || sid == 0 || !lhi_named_is(v, sid) ||
	    sh32_load(&s->gen) != slot_ref >> 32)
		return;
	se = &v->sessions[sid_idx(sid)];
	st = sh64_load(&v->claims[ci].state);
	w = sh64_load(&s->word);
	if (state_held(st) && ((word_mode(w) == WORD_X && word_idx(w) == ci) ||
	    (state_kind(st) == ST_READ && lhi_named_moving(v, ci, st))) &&
	    state_deadline(sh64_load(&se->until)) != NAMED_DESTROYED)
		keep_key_back(v, s, sh32_load_rlx(&se->lock_delay_ms));
}

int64_t
lhi_named_delayed(const struct lhi_view *v, const struct shm_slot *s,
    uint64_t w)
{
	uint32_t until = sh32_load_rlx(&s->delay), left;
	int64_t now;

	if (until == 0 || word_mode(w) != WORD_FREE ||
	    word_cause(w) == CAUSE_RELEASED)
		return 0;
	now = lhi_now_ns(v);
	left = ticks_left(until, (uint32_t)(now / TICK_NS));
	return left > 0 && left <= DELAY_MOST ? left * TICK_NS -
	    now % TICK_NS : 0;
}

bool
lhi_named_deletes(const struct lhi_view *v, uint64_t sid)
{
	enum lhi_named_end how;
	const struct shm_session *se = ended_record(v, sid, &how);

	return se != NULL && sh32_load_rlx(&se->on_end) == NAMED_DELETE;
}

/* If no lock proves a death: true if there is no process of that number, in the
 * namespace that we see, even if the number was reused since. */
static bool
has_no_process(const struct lhi_view *v, uint64_t sid)
{
	pid_t pid = lhi_session_pid(v, sid);
	int saved = errno;
	bool gone = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;

	errno = saved;
	/* it was that of this incarnation */
	return gone && sess_inc(sh64_load(&v->sessions[sid_idx(sid)].state))
	    == sid_inc(sid);
}

bool
lhi_named_keeper_gone(struct lhi_view *v, uint64_t keeper)
{
	return !lhi_mutant_on(keeper_stays) &&
	    (lhi_session_dead(v, keeper, true) || has_no_process(v, keeper));
}

bool
lhi_named_kept(struct lhi_view *v, uint32_t ch)
{
	uint64_t keeper = sh64_load_sc(&v->chunks[ch].keeper);
	enum lhi_named_end how;

	/* pairs with: a keeper looks whether the session has ended */
	return keeper != 0 &&
	    ended_record(v, sh64_load(&v->chunks[ch].owner), &how) != NULL &&
	    !lhi_named_keeper_gone(v, keeper);
}

bool
lhi_named_describe(const struct lhi_view *v, uint64_t sid,
    char name[NAMED_NAME_MAX + 1], int64_t *until_ns)
{
	const struct shm_session *se = &v->sessions[sid_idx(sid)];

	if (!lhi_named_is(v, sid))
		return false;
	memcpy(name, se->application, NAMED_NAME_MAX);
	name[NAMED_NAME_MAX] = '\0';
	*until_ns = lhi_deadline_ns(v, state_deadline(sh64_load(&se->until)));
	return lhi_named_is(v, sid);
}
