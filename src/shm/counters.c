/* SPDX-License-Identifier: MIT */
/*
 * Counters: how often events happened, in this table, and through this session,
 * at no cost to acquires and releases on the fast path.
 *
 * Layout.  A session's record has 48 counters, which its own threads add to,
 * and the header as many: the sums of the sessions that have ended.  The next
 * session of a used record moves the old counters to the header, while the
 * record is RESERVED. A crash between taking a counter and adding it loses that
 * counter's sum.  So the counters are for people and graphs, and no decision
 * depends on them.
 *
 * Acquisitions are not counted: they are computed.  The state of every claim
 * says how often it has been used since the table was made (22 bits, and 20
 * more in wflags), in a number that is never reset and that each announcement
 * must store anyway.  Cold paths count uses that were not acquisitions:
 *
 *	acquired = sum over all claims (uses) - SPENT of all sessions
 *
 *	SPENT	an announcement that failed or was given back, a wait, the
 *		making of a key, and the leap in the number at a conversion
 *
 * This also holds for sessions that are idle, stopped or killed.  A session's
 * own are
 *
 *	sum over its chunks (uses) - BASE - SPENT of this session
 *
 * where BASE is the number of uses that the claims had when it got them.
 * Between getting a chunk and that addition it is not known: CHUNKS says how
 * many are in.
 *
 * Not guaranteed.  An acquire under way counts as an acquisition from its
 * announcement until it is known to have failed; if its process is killed in
 * between, for ever.  A reported figure is not lowered (hdr->acquired), so the
 * table's figure only rises.  Acquisitions in shared mode, and extensions, are
 * counted by threads for themselves and added once in a clock tick in which
 * they do anything, and when they wait, end or close: that part lags.
 *
 * Every bit pattern is a valid counter (G12).
 */
#include "base/clock.h"
#include "shm/counters.h"

static uint64_t
claim_uses(const struct shm_claim *c)
{
	return (uint64_t)lhi_claim_epoch(c) << SEQ_BITS |
	    state_seq(sh64_load(&c->state));
}

static uint64_t
chunk_uses(const struct lhi_view *v, uint32_t ch)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < SHM_CHUNK; i++)
		sum += claim_uses(&v->claims[ch * SHM_CHUNK + i]);
	return sum;
}

/* Returns the first class whose bound, which doubles each time, is above us. */
static unsigned
histogram_class(uint64_t us, uint64_t first)
{
	unsigned i = 0;

	while (i < LH_HISTOGRAM - 1 && us >= first << i)
		i++;
	return i;
}

static uint64_t
microseconds(int64_t ns)
{
	return ns > 0 ? (uint64_t)ns / 1000 : 0;
}

void
lhi_counters_waited(struct lhi_view *v, int64_t ns)
{
	lhi_counters_add(v, STAT_WAIT + histogram_class(microseconds(ns),
	    LH_WAIT_BOUND_US(0)), 1);
	lhi_counters_add(v, STAT_WAIT_US, microseconds(ns));
}

void
lhi_counters_held(struct lhi_view *v, int64_t ns)
{
	unsigned i = histogram_class(microseconds(ns), LH_HOLD_BOUND_US(0));

	(void)sh64_fetch_add(&v->hdr->hold[i], 1);
	(void)sh64_fetch_add(&v->hdr->hold_us, microseconds(ns));
}

void
lhi_counters_ended(struct lhi_view *v, uint64_t owner, enum lhi_cause cause)
{
	bool own = v->me != NULL && v->me == &v->sessions[
	    sid_idx(owner) < v->geo.max_sessions ? sid_idx(owner) : 0];

	switch (cause) {
	case CAUSE_EXPIRED:
		lhi_counters_add(v, own ? STAT_EXPIRED_OWN :
		    STAT_EXPIRED_OTHERS, 1);
		break;
	case CAUSE_DIED:
		lhi_counters_add(v, STAT_DIED, 1);
		break;
	case CAUSE_BROKEN:
		lhi_counters_add(v, STAT_BROKEN, 1);
		break;
	case CAUSE_RELEASED:
		break;
	}
}

void
lhi_counters_add_to(struct lhi_view *v, uint64_t sid, unsigned which, uint64_t
    n)
{
	if (sid_idx(sid) < v->geo.max_sessions)
		(void)sh64_fetch_add(&v->sessions[sid_idx(sid)].stat[which], n);
}

void
lhi_counters_chunk(struct lhi_view *v, uint32_t ch, uint64_t sid)
{
	lhi_counters_add_to(v, sid, STAT_BASE, chunk_uses(v, ch));
	lhi_point("stat.based");
	lhi_counters_add_to(v, sid, STAT_CHUNKS, 1);
}

void
lhi_counters_begin(struct lhi_view *v, uint32_t idx)
{
	shm_u64 *stat = v->sessions[idx].stat;

	for (unsigned i = 0; i < SHM_STATS; i++) {
		uint64_t n = sh64_load(&stat[i]) != 0 ?
		    sh64_xchg(&stat[i], 0) : 0;

		lhi_point("stat.taken");
		if (n != 0 && i != STAT_BASE && i != STAT_CHUNKS)
			(void)sh64_fetch_add(&v->hdr->gone[i], n);
	}
}

/* From the words of the table's layout to those of the interface. */
static void
fill_counters(const uint64_t n[SHM_STATS], struct lh_counters *c)
{
	*c = (struct lh_counters){
		.shared = n[STAT_SHARED], .waits = n[STAT_WAITS],
		.timeouts = n[STAT_TIMEOUTS], .busy = n[STAT_BUSY],
		.cancelled = n[STAT_CANCELLED],
		.deadlocks = n[STAT_DEADLOCKS],
		.expired_own = n[STAT_EXPIRED_OWN],
		.expired_others = n[STAT_EXPIRED_OTHERS],
		.died = n[STAT_DIED], .broken = n[STAT_BROKEN],
		.retired = n[STAT_RETIRED], .told_lost = n[STAT_TOLD_LOST],
		.deaths = n[STAT_DEATHS], .barges = n[STAT_BARGES],
		.completions = n[STAT_COMPLETIONS],
		.extends = n[STAT_EXTENDS], .converts = n[STAT_CONVERTS],
		.keys_made = n[STAT_KEYS_MADE],
		.evictions = n[STAT_EVICTIONS], .wait_us = n[STAT_WAIT_US],
		.away = n[STAT_AWAY], .blind = n[STAT_BLIND],
	};
	for (unsigned i = 0; i < LH_HISTOGRAM; i++) {
		c->wait[i] = n[STAT_WAIT + i];
		c->waited += c->wait[i];
	}
}

static void
add_stats(uint64_t n[SHM_STATS], const shm_u64 from[SHM_STATS])
{
	for (unsigned i = 0; i < SHM_STATS; i++)
		n[i] += sh64_load_rlx(&from[i]);
}

void
lhi_counters_table(struct lhi_view *v, struct lh_counters *c)
{
	uint64_t n[SHM_STATS] = { 0 }, uses = 0;

	for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++)
		uses += chunk_uses(v, ch);
	/* after the uses: uses spent meanwhile make the sum too small, and it
	 * is right the next time */
	add_stats(n, v->hdr->gone);
	for (uint32_t i = 0; i < v->geo.max_sessions; i++)
		add_stats(n, v->sessions[i].stat);
	fill_counters(n, c);
	uses -= n[STAT_SPENT];
	if ((int64_t)uses > 0)
		(void)sh64_max(&v->hdr->acquired, uses);
	c->acquired = sh64_load(&v->hdr->acquired);
	for (unsigned i = 0; i < LH_HISTOGRAM; i++) {
		c->hold[i] = sh64_load_rlx(&v->hdr->hold[i]);
		c->held += c->hold[i];
	}
	c->hold_us = sh64_load_rlx(&v->hdr->hold_us);
}

bool
lhi_counters_session(struct lhi_view *v, uint32_t idx, uint64_t sid,
    struct lh_counters *c)
{
	uint64_t n[SHM_STATS] = { 0 }, uses = 0, chunks = 0;

	for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++) {
		if (sh64_load(&v->chunks[ch].owner) != sid)
			continue;
		uses += chunk_uses(v, ch);
		chunks++;
	}
	add_stats(n, v->sessions[idx].stat);
	fill_counters(n, c);
	uses -= n[STAT_BASE] + n[STAT_SPENT];
	if (chunks != n[STAT_CHUNKS])
		return false;
	c->acquired = (int64_t)uses > 0 ? uses : 0;
	return true;
}
