/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12, issue 21 A7: no loop's end rests on a shared word alone.
 *
 * Each row keeps one word changing under an operation: whenever the operation
 * is about to swap the word (or to load it), the word is changed so that the
 * operation must look again.  The loop must end by its bound: the operation
 * returns soon, and the table is marked as damaged, unless nothing is decided
 * by that word.
 *
 * Otherwise one hostile member could make every process hang in the library,
 * with locks of its own held.
 *
 * no mutant: a loop without its bound is refused by make lint, and would hang
 * here
 */
#include "restless-acts.h"
#include "restless-play.h"

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
	{ "lhi_readers_walk", "check a circle of readers", "", .part = HEADER },
	{ "lhi_queue_walk", "check a circle of waiters", "", .part = HEADER },
	{ "lhi_index_walk", "check a circle of keys", "", .part = HEADER },
	{ "check_and_set_value", "set a value", "load",
	    OF(CLAIM, shm_claim, wflags), BIT(24) },
	{ "lhi_chunk_take", "acquire many", "load",
	    OF(HEADER, shm_header, ready_chunks), BIT(4), .skip = 1 },
	{ "verify_lease", "enter again", "load",
	    OF(SLOT, shm_slot, word), BIT(24) },
	{ "lhi_lease_verify_moving", "verify", "load",
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
	{ "lhi_index_insert", "a request", "cas", .part = BUCKET,
	    .bits = BIT(0) },
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

/* Met on the way: a slot's long key that changes between two looks. */
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
	is(result, -EUCLEAN, "a long key that does not exist is damage");
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
