/* SPDX-License-Identifier: MIT */
/*
 * Repair: decides what can be kept of a damaged table, and rebuilds the rest,
 * so that no token is given twice.
 *
 * No process is attached, and none can attach: the repairing process has locked
 * all sessions' bytes, and seen that no named session lives
 * (offline/repair_table.c), unless an earlier repair has got as far as RP1. So
 * no key is held or waited for.  All that matters then are the keys' names,
 * which of them are permanent, the note on how their last lease ended, and
 * above all how far their tokens had got.  The rest (claims, queues, chains,
 * the list of keys, hints) is not repaired but rebuilt, which needs no walk
 * over anything that is damaged.
 *
 *	RP0	memory for all that is in use, as far as the file has data, if
 *		the header makes no sense.  Without memory nothing has changed,
 *		and users that could use the table still can
 *	RP1	the note `repair`, then flag MENDING, which counts with it
 *		only: the table is not used before RP7
 *	RP2	extents: as far as there is memory; requests
 *	RP3	the ceiling, then every floor, then (RP5) every key, go above
 *		every token that may have been given
 *	RP4	sessions: UNUSED, their incarnations above all that are named;
 *		claims: their holds are freed, then they are; chunks: no owner
 *	RP5	slots, long keys, the list of keys (repair_keys.c); values
 *		(repair_values.c)
 *	RP6	hints
 *	RP7	flags DAMAGED and MENDING cleared, then the notes
 *		(lhi_repair_done())
 *
 * Tokens.  Every token is below the ceiling, which is a field of its own.  So
 * all keys continue from the ceiling, whatever they said of themselves, and
 * evicted ones as well, by the floors.  A ceiling may be damaged, too: so the
 * values in keys and floors count as well, as far as they are plausible.  A
 * value more than 2^40 above the base or ceiling is not plausible, because that
 * many grants of one key take more than a day.
 *
 * Notes.  The word of a key that a dead session held says DIED (or EXPIRED, or
 * BROKEN, if that had been written down), as after any death.  A word that
 * names a claim which does not know of it says DIED, too: the next holder had
 * better check once too often.
 *
 * A crash anywhere before RP7 leaves the flag: the table can only be repaired
 * again.  Every step reads the present state and makes it what it is to be.
 * Done again it does nothing, or, in RP3, goes up by another step.  A stop
 * blocks every process that wants the table; the operator who started the
 * repair accepts that.
 *
 * A reaper has no session.  It holds a byte (shm/session_bytes.h) until it is
 * asked to leave, between two passes.  The repair waits for that, and then
 * keeps reapers out.  Exact swaps are no help against a process that was
 * stopped before one, because tags start afresh.
 *
 * Not guaranteed: names and notes that were overwritten; a token above all
 * others, if ceiling, floors and keys have all been lowered.
 */
#include <errno.h>
#include "base/error.h"
#include "shm/backing.h"
#include "shm/backing_grow.h"
#include "shm/lock_word.h"
#include "offline/repair.h"
#include "shm/session_named.h"
#include "fence/range.h"
#include "shm/cluster_right.h"
#include "shm/counters.h"

#define STEP		(UINT64_C(1) << 32)
#define LEAP		(UINT64_C(1) << 40)	/* grants of a key at most */
#define MOST		(UINT64_C(1) << 61)	/* more is no token */
#define INC_MOST	(MASK(INC_BITS) / 2)

static bool
has_requests(const struct lhi_repair *m)
{
	return sh32_load(&m->v->hdr->ready_requests) ==
	    m->v->geo.n_requests;
}

/* RP0: gives memory to as much as is in use; *e is that. */
static int
back_extent(struct lhi_repair *m, struct lhi_backing *e)
{
	struct shm_header *h = m->v->hdr;
	struct lhi_geometry *g = &m->v->geo;
	struct lhi_span s[LHI_SPANS];
	struct lhi_backing seen;
	int error = m->fd < 0 ? 0 : lhi_backing_seen(m->fd, g, &seen);

	if (m->fd < 0)
		seen = lhi_backing_first(g);
	if (!lhi_backing_of(h, g, e))
		*e = seen;
	/* memory that was given and not counted is counted, too; of buckets,
	 * so that none keeps its place in the list of before (repair_keys.c) */
	e->slots = e->slots > seen.slots ? e->slots : seen.slots;
	e->chunks = e->chunks > seen.chunks ? e->chunks : seen.chunks;
	e->longs = e->longs > seen.longs ? e->longs : seen.longs;
	e->values = e->values > seen.values ? e->values : seen.values;
	e->level = e->level > seen.level ? e->level : seen.level;
	while (1u << e->level < e->slots && 1u << e->level < g->n_buckets)
		e->level++;
	lhi_backing_spans(g, e, s);
	for (int i = 0; error == 0 && m->fd >= 0 && i < LHI_SPANS; i++)
		error = lhi_grow_back(m->fd, (char *)h, s[i].off, s[i].len);
	if (error == 0 && m->fd >= 0 && has_requests(m))
		error = lhi_grow_back(m->fd, (char *)h, g->requests_off,
		    (uint64_t)g->n_requests * sizeof(struct shm_request));
	if (error != 0)
		return lhi_fail(error, "there is no memory for as much of %s "
		    "as is in use: make room in /dev/shm", m->v->path);
	lhi_point("mend.backed");
	return 0;
}

/* RP2 */
static void
repair_extent(struct lhi_repair *m, const struct lhi_backing *e)
{
	struct shm_header *h = m->v->hdr;

	/* all sessions have ended, and what became of requests with them */
	for (uint32_t i = 0; has_requests(m) && i < m->v->geo.n_requests; i++)
		sh64_store(&m->v->requests[i].state, 0);
	sh32_store(&h->ready_slots, e->slots);
	sh32_store(&h->ready_chunks, e->chunks);
	sh32_store(&h->ready_longs, e->longs);
	sh32_store(&h->bucket_level, e->level);
	sh32_store(&h->ready_values, e->values);
	/* what comes with the first use: memory that is there is found again */
	sh32_store(&h->ready_requests, 0);
}

uint64_t
lhi_repair_ceiling(const struct lhi_view *v)
{
	uint64_t ceiling = sh64_load(&v->hdr->ceiling);

	return ceiling > sh64_load(&v->hdr->token_base) && ceiling < MOST ?
	    ceiling : 0;
}

/* True if a table with that base and ceiling can have given that token. */
static bool
is_plausible_token(const struct lhi_view *v, uint64_t token)
{
	uint64_t base = sh64_load(&v->hdr->token_base);
	uint64_t ceiling = lhi_repair_ceiling(v);

	return token >= base && token < (ceiling != 0 ? ceiling : base) + LEAP;
}

/*
 * RP3: no host has a right, and there is no session with the cluster to adopt.
 * So whatever tokens of cluster keys begin with, the next base is above those
 * that were given.
 */
static void
repair_cluster(struct lhi_view *v)
{
	struct shm_header *h = v->hdr;

	(void)lhi_cluster_end(v);
	sh64_store(&h->cluster_created, 0);
	sh64_store(&h->cluster_id, 0);
	sh64_store(&h->cluster_floor, 0);
	sh32_store(&h->shim_seq, 0);
	lhi_cluster_serve(v, 0);
	lhi_cluster_listen(v, 0, "");
}

/* RP3 */
static void
repair_tokens(struct lhi_repair *m)
{
	struct lhi_view *v = m->v;
	struct shm_header *h = v->hdr;
	uint64_t above = lhi_repair_ceiling(v),
		 base = sh64_load(&h->token_base);
	uint64_t t;
	bool durable;

	if (above == 0)
		above = base;
	for (uint32_t i = 1; i < lhi_slots_ready(v); i++) {
		t = lhi_lock_token(&v->slots[i], sh64_load(&v->slots[i].word));
		if (is_plausible_token(v, t) && t >= above)
			above = t + 1;
	}
	for (unsigned i = 0; i < SHM_SHARDS; i++) {
		t = sh64_load(&h->floor[i]);
		if (is_plausible_token(v, t) && t >= above)
			above = t + 1;
	}
	above = (above | (STEP - 1)) + 1;
	m->above = above;
	sh64_store(&h->ceiling, above + STEP);
	sh64_store(&h->last_token, lhi_view_global(v) ? above : 0);
	lhi_point("mend.ceiling");
	for (unsigned i = 0; i < SHM_SHARDS; i++)
		sh64_store(&h->floor[i], above);
	/*
	 * Durable tokens are in ranges that are the table's own.  The first is
	 * known from the header's facts, and every key is above it now: so the
	 * next grant of one claims another.  The mark of keys that need them
	 * may be lost.
	 */
	durable = h->fence_dir[0] != '\0';
	sh64_store(&h->durable_ceiling, durable ?
	    (base | (lhi_range_width() - 1)) + 1 : 0);
	sh64_store(&h->local_shards, durable ? UINT64_MAX : 0);
}

/* RP4: a record, whose incarnation is not below any that owns a chunk. */
static void
repair_session(struct lhi_view *v, uint32_t i)
{
	struct shm_session *se = &v->sessions[i];
	uint64_t s = sh64_load(&se->state);
	/* no living process could confuse a later one with an earlier */
	uint64_t inc = sess_inc(s) > INC_MOST ? 1 : sess_inc(s);

	lhi_counters_begin(v, i);
	if (s != sess_make(SESS_UNUSED, 0, inc))
		sh64_store(&se->state, sess_make(SESS_UNUSED, 0, inc));
}

static void
repair_sessions(struct lhi_view *v)
{
	for (uint32_t i = 0; i < v->geo.max_sessions; i++)
		lhi_session_facts_correct(v, i);
	for (uint32_t i = 1; i < lhi_slots_ready(v); i++)
		if (!lhi_named_delay_sound(&v->slots[i]))
			sh32_store(&v->slots[i].delay, 0);
	/* (while they still have their old states) */
	for (uint32_t ci = SHM_CHUNK; ci < lhi_chunks_ready(v) * SHM_CHUNK;
	    ci++)
		if (!lhi_mutant_on(repair_undelayed))
			lhi_named_delay_for_repair(v, ci);
	for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++) {
		uint64_t owner = sh64_load(&v->chunks[ch].owner), s;
		shm_u64 *state;

		if (owner == 0 || sid_idx(owner) >= v->geo.max_sessions)
			continue;
		state = &v->sessions[sid_idx(owner)].state;
		s = sh64_load(state);
		if (sid_inc(owner) <= sess_inc(s))
			continue;
		sh64_store(state, sess_make(sess_st(s), sess_flags(s),
		    sid_inc(owner)));
	}
	for (uint32_t i = 0; i < v->geo.max_sessions; i++)
		repair_session(v, i);
}

/* Frees the word of the key that claim ci held, or is said to hold, with the
 * cause.  (repair_keys.c treats words that name others.) */
static void
free_word_of(struct lhi_view *v, uint32_t ci, enum lhi_cause cause)
{
	struct shm_claim *c = &v->claims[ci];
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(c));
	uint64_t w;

	if (s == NULL || sh64_load(&c->slot_ref) >> 32 != sh32_load(&s->gen))
		return;
	w = sh64_load(&s->word);
	if (word_mode(w) == WORD_S ||
	    (word_mode(w) == WORD_X && word_idx(w) == ci))
		sh64_store(&s->word, word_make(WORD_FREE, cause, word_ver(w)));
}

static void
repair_claim(struct lhi_view *v, uint32_t ci)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t st = sh64_load(&c->state);

	switch (state_kind(st)) {
	case ST_FREE:
		return;
	case ST_HELD:
	case ST_READ:
		free_word_of(v, ci, CAUSE_DIED);
		break;
	case ST_EXPIRED:
		free_word_of(v, ci, CAUSE_EXPIRED);
		break;
	case ST_BROKEN:
		free_word_of(v, ci, CAUSE_BROKEN);
		break;
	default:
		break;
	}
	lhi_point("mend.let_go");
	sh64_store(&c->state, state_make(ST_FREE, state_seq(st), 0));
}

/* RP4 */
static void
repair_claims(struct lhi_view *v)
{
	uint32_t n = lhi_chunks_ready(v);

	for (uint32_t ci = SHM_CHUNK; ci < n * SHM_CHUNK; ci++)
		repair_claim(v, ci);
	for (uint32_t ch = 1; ch < n; ch++) {
		if (sh64_load(&v->chunks[ch].owner) != 0)
			sh64_store(&v->chunks[ch].owner, 0);
		if (sh64_load(&v->chunks[ch].period) != 0)
			sh64_store(&v->chunks[ch].period, 0);
		if (sh64_load(&v->chunks[ch].keeper) != 0)
			sh64_store(&v->chunks[ch].keeper, 0);
		if (sh64_load(&v->chunks[ch].aside) != 0)
			sh64_store(&v->chunks[ch].aside, 0);
	}
}

/* RP6: any value is safe, these are the best. */
static void
repair_hints(struct lhi_view *v)
{
	struct shm_header *h = v->hdr;
	uint32_t n = lhi_slots_ready(v), last = 0, freed = 0;

	for (uint32_t i = 1; i < n; i++)
		if (word_mode(sh64_load(&v->slots[i].word)) != WORD_NONE)
			last = i;
	for (uint32_t i = 1; i < last; i++)
		freed += word_mode(sh64_load(&v->slots[i].word)) == WORD_NONE;
	sh32_store(&h->slot_next, last + 1);
	sh32_store(&h->slot_freed, freed);
	sh32_store(&h->slot_hand, 1);
	sh32_store(&h->chunk_next, 1);
	sh32_store(&h->long_next, 1);
	sh32_store(&h->value_next, 1);
	sh32_store(&h->session_next, 0);
}

int
lhi_repair(struct lhi_repair *m)
{
	struct lhi_view *v = m->v;
	struct lhi_backing e;
	int error = back_extent(m, &e);

	if (error != 0)
		return error;
	if (!lhi_mutant_on(repair_unnoted))
		sh64_store(&v->hdr->repair, SHM_REPAIR_NOTE);	/* RP1 */
	lhi_point("mend.noted");
	(void)sh32_fetch_or(&v->hdr->flags, SHM_REPAIRING);
	lhi_point("mend.begun");
	repair_extent(m, &e);
	repair_tokens(m);
	repair_cluster(v);
	/* sessions first, while the chunks name their incarnations; killed in
	 * between, it is all found again */
	repair_sessions(v);
	repair_claims(v);
	error = lhi_repair_keys(m);
	if (error != 0)
		return error;
	lhi_repair_values(m);
	repair_hints(v);
	return 0;
}

void
lhi_repair_done(struct lhi_view *v)
{
	(void)sh32_fetch_and(&v->hdr->flags, SHM_LOG_GRANTS);
	lhi_point("mend.done");
	sh64_store(&v->hdr->repair, 0);
	sh64_store(&v->hdr->removal, 0);
}
