/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12, issue 21 A7: no loop's end rests on a shared word alone.  More
 * rows of g-restless-words.c: the word begins to change at a point within the
 * operation, or the operation begins when something else is used up.
 *
 * Otherwise one hostile member could make every process hang in the library.
 *
 * no mutant: a loop without its bound is refused by make lint, and would hang
 * here
 */
#include "restless-late-acts.h"
#include "restless-play.h"

static const struct row rows[] = {
	{ "free_old_claim", "hand over", "cas",
	    OF(CLAIM, shm_claim, state), BIT(20), .from = "handoff.swapped" },
	{ "is_handoff_held", "hand over what expires", "cas",
	    OF(CLAIM, shm_claim, state), BIT(0), .from = "handoff.let_go",
	    .once = let_it_expire },
	{ "lhi_lease_clear_moving", "hand over", "cas",
	    OF(CLAIM, shm_claim, wflags), BIT(0), .from = "handoff.swapped" },
	{ "lhi_lease_undo_move", "hand over", "cas",
	    OF(CLAIM, shm_claim, state), BIT(20), .from = "handoff.taken",
	    .once = change_word },
	{ "is_conversion_held", "downgrade what expires", "cas",
	    OF(CLAIM, shm_claim, state), BIT(0), .from = "convert.looked",
	    .once = let_it_expire },
	{ "lhi_policy_resume", "convert live", "cas",
	    OF(CLAIM, shm_claim, state), BIT(20), .from = "policy.resuming" },
	{ "mark_queue", "remove", "cas",
	    OF(MAPPED_SLOT, shm_slot, waitq), BIT(30) },
	{ "pass_word", "remove", "cas",
	    OF(MAPPED_SLOT, shm_slot, word), BIT(40),
	    .from = "revoke.marked" },
	{ "find_rival", "open another session", "load",
	    OF(SESSION, shm_session, state), BIT(8),
	    .from = "named.pending" },
	{ "lhi_acquire_key", "acquire", "load",
	    OF(SLOT, shm_slot, gen), BIT(0), .skip = 1, .each = 3 },
	{ "wait_in_queue", "a ticket", "load",
	    OF(SLOT, shm_slot, gen), BIT(0), .each = 3 },
	{ "lhi_slot_publish", "acquire below a floor", "load",
	    OF(SLOT, shm_slot, hint), ~MASK(40),
	    .change = CLEAR, .from = "slot.turned" },
	{ "grow_buckets", "acquire with no slot", "load",
	    OF(HEADER, shm_header, bucket_level), .change = RESET },
	{ "find_slot", "acquire with no slot", "load",
	    OF(HEADER, shm_header, ready_slots), .change = RESET },
	{ "get_long_record", "acquire with no long key", "load",
	    OF(HEADER, shm_header, ready_longs), .change = RESET },
	{ "find_record", "set with no record", "load",
	    OF(HEADER, shm_header, ready_values), .change = RESET },
	{ "read_node", "acquire many", "load", .part = BUCKET,
	    .off = 8, .bits = BIT(63), .change = RAISE },
	{ "make_bucket_path", "acquire many", "load", .part = BUCKET,
	    .off = 8, .bits = BIT(63), .change = RAISE, .each = 2 },
	{ "take_session_claim", "acquire into a session", "cas",
	    OF(CHUNK, shm_chunk, keeper), BIT(0), .with = free_chunk },
	{ "has_no_rival", "a request", "cas",
	    OF(REQUEST, shm_request, state), BIT(54),
	    .from = "request.asked", .once = double_request },
	{ "look_and_take", "try before a stopped waiter", "load",
	    OF(CLAIM, shm_claim, wflags), WAITER_SUSPECT, .change = CLEAR },
	{ "take_out_head", "read for a moment", "load",
	    OF(SLOT, shm_slot, word), UINT64_MAX, .change = RESET,
	    .with = relink_head, .from = "shared.granted",
	    .once = let_the_moment_pass },
	{ "lhi_lease_lose_right", "verify without a right", "cas",
	    OF(CLAIM, shm_claim, state), BIT(20) },
	{ "lh_lease_recall", "recall what the cluster lends", "load",
	    OF(CLAIM, shm_claim, wflags), BIT(24), .skip = 1 },
	{ "confirm_handoff", "hand over what the cluster lends", "load",
	    OF(CLAIM, shm_claim, wflags), BIT(24),
	    .from = "handoff.let_go" },
	{ "lhi_acquire_shared_late", "read again", "cas",
	    OF(CLAIM, shm_claim, state), BIT(20), .from = "shared.granted",
	    .once = let_it_expire },
	{ "wake_waiter", "cancel a waiter", "cas",
	    OF(CLAIM, shm_claim, park), BIT(0) | BIT(1), .harmless = true },
	{ "do_one_thing", "a ticket that waits", "or",
	    OF(SESSION, shm_session, doorbell), BIT(8), .harmless = true },
};

int
main(void)
{
	(void)replay_begin();
	lhi_hook = on_access;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		play(&rows[i]);
	return done();
}
