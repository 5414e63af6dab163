/* SPDX-License-Identifier: MIT */
/*
 * G12, finding A7: no loop's end rests on a shared word alone.
 *
 * Each row keeps one word changing under an operation: whenever the operation
 * is about to swap the word (or to load it), the word is changed so that it
 * looks again.  The loop ends by its bound all the same: the operation is
 * answered soon, and the table is marked as damaged, unless nothing is decided
 * by that word.
 *
 * no mutant: a loop without its bound is refused by make lint, and would hang
 * here
 */
#include "restless-acts.h"

#define SOON_MS t_ms(8000)

/* MAPPED_HEADER: of a mapping of the operation's own. */
enum part { HEADER, MAPPED_HEADER, SESSION, CHUNK, CLAIM, BUCKET, SLOT };

struct row {
	const char *bound;	/* the function whose loop it is */
	const char *act;	/* as in restless-acts.h */
	const char *what;	/* before each of these accesses ... */
	enum part part;		/* ... of this field ... */
	size_t off;
	uint64_t bits;		/* ... these bits are flipped; 0: what was
				 * prepared is a circle, and findings tell */
};

#define OF(part, type, field) part, offsetof(struct type, field)
#define BIT(n) (UINT64_C(1) << (n))

static const struct row rows[] = {
	{ "downgrade_lease", "convert live", "cas",
	    OF(CLAIM, shm_claim, rnext), BIT(0) },
	{ "end_claim", "destroy a reader's session", "cas",
	    OF(CLAIM, shm_claim, state), BIT(0) },
	{ "extend_slow", "extend what expired", "cas",
	    OF(CLAIM, shm_claim, state), BIT(20) },
	{ "free_claim", "release a session's", "cas",
	    OF(CLAIM, shm_claim, state), BIT(0) },
	{ "lhi_named_end", "destroy a reader's session", "cas",
	    OF(SESSION, shm_session, until), BIT(0) },
	{ "mark_reader", "destroy a reader's session", "cas",
	    OF(CLAIM, shm_claim, rnext), BIT(4) },
	{ "mark_moving", "release a session's", "cas",
	    OF(CLAIM, shm_claim, wflags), BIT(0) },
	{ "undo_late_grant", "acquire live", "cas",
	    OF(CLAIM, shm_claim, state), BIT(0) },
	{ "write_grant", "convert live", "cas",
	    OF(CLAIM, shm_claim, grant), BIT(0) },
	{ "lhi_readers_walk", "check a circle of readers", "", HEADER, 0, 0 },
	{ "lhi_queue_walk", "check a circle of waiters", "", HEADER, 0, 0 },
	{ "lhi_index_walk", "check a circle of keys", "", HEADER, 0, 0 },
	{ "check_and_set_value", "set a value", "load",
	    OF(CLAIM, shm_claim, wflags), BIT(24) },
	{ "lhi_chunk_take", "acquire many", "load",
	    OF(HEADER, shm_header, ready_chunks), BIT(4) },
	{ "verify_lease", "enter again", "load",
	    OF(SLOT, shm_slot, word), BIT(24) },
	{ "verify_moving", "verify", "load",
	    OF(CLAIM, shm_claim, wflags), BIT(24) },
	{ "carry_out", "remove", "cas",
	    OF(MAPPED_HEADER, shm_header, ceiling), BIT(0) },
	{ "freeze_durable", "remove a durable table", "cas",
	    OF(MAPPED_HEADER, shm_header, durable_ceiling), BIT(50) },
	{ "raise_ceiling", "acquire above the ceiling", "cas",
	    OF(HEADER, shm_header, ceiling), BIT(0) },
	{ "lhi_slot_cover", "evict above the ceiling", "cas",
	    OF(HEADER, shm_header, ceiling), BIT(0) },
	{ "is_named_dead", "take over from an ended session", "cas",
	    OF(SESSION, shm_session, until), BIT(0) },
	{ "keep_key_back", "take over from an ended session", "cas",
	    OF(SLOT, shm_slot, delay), BIT(8) },
	{ "draw_token", "acquire with global tokens", "cas",
	    OF(HEADER, shm_header, last_token), BIT(0) },
	{ "leave_chain", "release the head", "cas",
	    OF(CLAIM, shm_claim, state), BIT(0) },
	{ "leave_moving", "release the head", "cas",
	    OF(CLAIM, shm_claim, state), BIT(0) },
	{ "lhi_claim_ends_within", "a request", "cas",
	    OF(CHUNK, shm_chunk, period), BIT(24) },
	{ "lhi_index_insert", "a request", "cas", BUCKET, 0, BIT(0) },
	{ "lhi_lease_mark_claim_moving", "hand over a reader's", "cas",
	    OF(CLAIM, shm_claim, wflags), BIT(0) },
	{ "lhi_lease_mark_moving", "hand over to an attachment", "cas",
	    OF(CLAIM, shm_claim, wflags), BIT(0) },
	{ "lhi_lock_settle", "break", "cas",
	    OF(SLOT, shm_slot, word), BIT(24) },
	{ "lhi_queue_insert", "cancel a ticket", "cas",
	    OF(SLOT, shm_slot, waitq), BIT(0) },
	{ "lhi_queue_remove", "cancel a ticket", "cas",
	    OF(CLAIM, shm_claim, wnext), BIT(4) },
	{ "lhi_readers_leave", "hand a reader's to an attachment", "cas",
	    OF(CLAIM, shm_claim, rnext), BIT(4) },
	{ "lhi_slot_flag", "keep", "cas",
	    OF(SLOT, shm_slot, key_info), BIT(0) },
	{ "lhi_slot_unkeep", "destroy", "cas",
	    OF(SLOT, shm_slot, key_info), BIT(0) },
	{ "lhi_value_forget", "a request", "cas",
	    OF(SLOT, shm_slot, value), BIT(0) },
	{ "publish_range", "claim a range", "cas",
	    OF(HEADER, shm_header, durable_ceiling), BIT(0) },
	{ "raise_count", "set a value", "cas",
	    OF(HEADER, shm_header, ready_values), BIT(0) },
	{ "sh64_max", "evict", "cas",
	    OF(HEADER, shm_header, floor), BIT(0) },
	{ "take_out_key", "destroy", "cas",
	    OF(SLOT, shm_slot, next), BIT(0) },
};

/* The row that is played, where its table is mapped, and what came of it. */
static const struct row *row;
static struct lhi_view *view;
static bool reached;

static bool
is_in(const char *addr, uint64_t at, uint64_t n, size_t size, size_t off)
{
	uint64_t o = (uint64_t)(addr - (const char *)view->hdr);

	return o >= at && o < at + n * size && (o - at) % size == off;
}

/* Of the floors, which are one array, any. */
static bool
is_of_field(const char *addr)
{
	const struct lhi_geometry *g = &view->geo;

	switch (row->part) {
	case HEADER:
		return is_in(addr, row->off, row->off ==
		    offsetof(struct shm_header, floor) ? SHM_SHARDS : 1, 8, 0);
	case MAPPED_HEADER:
		return (uintptr_t)addr % sizeof(struct shm_header) == row->off;
	case SESSION:
		return is_in(addr, g->sessions_off, g->max_sessions,
		    sizeof(struct shm_session), row->off);
	case CHUNK:
		return is_in(addr, g->chunks_off, g->n_chunks,
		    sizeof(struct shm_chunk), row->off);
	case CLAIM:
		return is_in(addr, g->claims_off, g->n_claims,
		    sizeof(struct shm_claim), row->off);
	case BUCKET:
		return is_in(addr, g->buckets_off, g->n_buckets, 8, 0);
	case SLOT:
		return is_in(addr, g->slots_off, g->n_slots,
		    sizeof(struct shm_slot), row->off);
	}
	return false;
}

/* (Fields of 32 bits have rows with low bits.) */
static void
flip(shm_u32 *word, uint64_t bits)
{
	if ((uint32_t)bits != 0)
		__atomic_xor_fetch(&word[0].raw, (uint32_t)bits,
		    __ATOMIC_SEQ_CST);
	if (bits >> 32 != 0)
		__atomic_xor_fetch(&word[1].raw, (uint32_t)(bits >> 32),
		    __ATOMIC_SEQ_CST);
}

static void
on_access(const char *what, const void *addr)
{
	if (row == NULL)
		return;
	if (strcmp(what, "bound") == 0) {
		reached |= strcmp(addr, row->bound) == 0;
		return;
	}
	if (addr != NULL && strcmp(what, row->what) == 0 && is_of_field(addr))
		flip((shm_u32 *)(uintptr_t)addr, row->bits);
}

static const struct act *
act_of(const char *name)
{
	for (size_t i = 0; i < N_ACTS; i++) {
		if (strcmp(acts[i].name, name) == 0)
			return &acts[i];
	}
	bail_out("there is no operation \"%s\"", name);
}

static void
play(const struct row *r)
{
	const struct act *act = act_of(r->act);
	struct stage st;
	int64_t began;
	bool damaged;
	int result;

	set_stage(&st, act);
	view = &st.other->v;
	reached = false;
	began = t_now_ns();
	row = r;
	result = act->run(&st);
	row = NULL;
	damaged = (sh32_load(&view->hdr->flags) & SHM_DAMAGED) ||
	    (r->bits == 0 && result > 0);
	cmp(t_since_ms(began), <, SOON_MS, "%s: \"%s\" is answered (%d)",
	    r->bound, r->act, result);
	ok(reached, "by the bound of %s()", r->bound);
	ok(damaged, "and the damage is told");
	clear_stage(&st);
	t_watch();
}

/* What was met on the way: a slot's long key that changes between two looks. */
static void
play_other_harm(void)
{
	static const struct row r = { "none", "acquire many", "load",
	    OF(SLOT, shm_slot, long_idx), BIT(24) };
	const struct act *act = act_of(r.act);
	struct stage st;
	int result;

	set_stage(&st, act);
	view = &st.other->v;
	row = &r;
	result = act->run(&st);
	row = NULL;
	is(result, -EUCLEAN, "a long key that is nowhere is damage");
	clear_stage(&st);
}

int
main(void)
{
	(void)replay_begin();
	lhi_hook = on_access;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		play(&rows[i]);
	play_other_harm();
	return done();
}
