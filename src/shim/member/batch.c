/* SPDX-License-Identifier: MIT */
/*
 * Claims that are asked for at once, until all of them are granted.
 *
 * Three transactions, each of which compares our session's key, so that it does
 * nothing when it comes after the session's end.  They are fit to be asked
 * twice, since an answer can be lost (store_call.c).
 *
 *	TRY	if nobody who excludes us is in any of the queues:
 *		put our keys, and look how old they are.  Done: granted, at
 *		that revision.
 *	ENQUEUE	if our keys are not there: put them, and look at the queues.
 *		Nobody ahead in any of them: granted, at that revision.
 *	CONFIRM	if our keys are there, of the age that we know: put them again
 *		and look at the queues.  Nobody ahead: granted, at that
 *		revision.  Also how a granted claim draws a new revision.
 *
 * and a fourth way, without a transaction, of claims that wait for themselves
 * alone (exclusive), for a hand-over to cost one write to the store, not two:
 *
 *	TURN	a look has told all who are ahead, no change since was missed,
 *		and the watch tells that the last of them is deleted: granted,
 *		at the revision of that deletion.
 *
 * Why this is right.  Who is ahead is who has an older key in a queue and
 * excludes us; nobody gets ahead later, as ages only grow.  A claim
 * is granted by a look at a queue with our key in it and nobody ahead: until
 * our key is gone, all who come see it ahead of them.  The look is in the same
 * transaction as a write of ours, whose revision is the token: larger than that
 * of any look that granted before, and smaller than that of any later one.  Of
 * the keys that are put together all have the same age, so of two batches one
 * is ahead in all queues that both are in: no circle of batches comes to be.
 *
 * And TURN.  At the deletion, R, our key and our session were there: the look
 * found them, and who deletes one of them is told of before R.  (And who ends a
 * session keeps to D: whoever goes by this grant looks at that.)  Nobody was
 * ahead at R.  Tokens of those who were are of revisions at which their keys
 * were there, so from before R, and that of who comes after us is from a later
 * deletion, or a look after that.  Two readers could have the same R: they
 * CONFIRM.  A deletion is a fact, told late or not; that none was missed is not
 * relied on but for what is ours, which somebody may delete by hand.  Model:
 * tests/model/cluster.pml.
 *
 * If an answer is lost, the next one finds our keys there: in the queue, but
 * that is all.  An age is no token: whoever was ahead may have drawn a later
 * revision since.  So it is confirmed.
 *
 * A reader compares over the writers' keys alone in TRY, so it is not in the
 * way of itself: if an answer was lost, it is done again, and its key is older
 * than the token.  An empty range compares like a key with version 0, so "there
 * are none" is "version 0".
 *
 * Transactions of 64 keys: 65 comparisons, 128 operations.
 */
#include <errno.h>
#include <stdlib.h>
#include "member.h"

/* What is sent. */

static int
try_send(struct store_call *call)
{
	struct batch *b = call->owner;
	struct txn *t = txn_begin(call->r);
	struct claim *c;

	txn_require_session(call->r);
	TAILQ_FOREACH(c, &b->claims, of_list) {
		txn_compare(t, c->mode == CLAIM_SHARED ? c->key->writers :
		    c->key->queue, KV_VERSION, 0);
		txn_put(call->r, c->own, kv_bytes_of_text(call->r->host));
		(void)txn_get(t, false, c->key->queue);
	}
	TAILQ_FOREACH(c, &b->claims, of_list)
		txn_get(t, true, kv_range_of_key(c->own))->keys_only = true;
	return txn_send(call);
}

static int
enqueue_send(struct store_call *call)
{
	struct batch *b = call->owner;
	struct txn *t = txn_begin(call->r);
	struct claim *c;

	txn_require_session(call->r);
	TAILQ_FOREACH(c, &b->claims, of_list) {
		txn_compare(t, kv_range_of_key(c->own), KV_VERSION, 0);
		txn_put(call->r, c->own, kv_bytes_of_text(call->r->host));
		(void)txn_get(t, false, c->key->queue);
	}
	TAILQ_FOREACH(c, &b->claims, of_list)
		txn_get(t, true, c->key->queue)->keys_only = true;
	return txn_send(call);
}

static int
confirm_send(struct store_call *call)
{
	struct batch *b = call->owner;
	struct txn *t = txn_begin(call->r);
	struct claim *c;

	txn_require_session(call->r);
	TAILQ_FOREACH(c, &b->claims, of_list) {
		txn_compare(t, kv_range_of_key(c->own), KV_CREATE, c->create);
		txn_put(call->r, c->own, kv_bytes_of_text(call->r->host));
		txn_get(t, false, c->key->queue)->keys_only = true;
	}
	TAILQ_FOREACH(c, &b->claims, of_list)
		txn_get(t, true, c->key->queue)->keys_only = true;
	return txn_send(call);
}

/* What came of it. */

/* Perhaps who was ahead then went in a gap, or somebody came in it, and the
 * look that came of it was answered before this. */
static bool
has_missed_changes(const struct recipe *r, int64_t revision)
{
	return revision < r->watched && r->watched != INT64_MAX;
}

static void
grant_batch(struct batch *b, int64_t revision)
{
	struct recipe *r = b->r;
	struct claim *c, *next;
	bool anchor = b->anchor;

	if (has_missed_changes(r, revision))
		resync_start(r, false);
	TAILQ_FOREACH_SAFE(c, &b->claims, of_list, next) {
		batch_remove(b, c);
		c->revision = revision;
		c->state = CLAIM_GRANTED;
		if (anchor)
			r->stats.anchors++;
		else
			r->stats.grants++;
		if (c->wants_leave) {
			claim_begin_leaving(c);
			continue;
		} else if (c->vanished) {	/* since */
			claim_end_deleted(c);
			continue;
		}
		claim_notify(c, anchor ? NOTIFY_ANCHORED : NOTIFY_GRANTED);
		if (c->behind != CLAIM_NONE)
			claim_recall(c, c->behind);
	}
	batch_free(b);
}

/* The queues, as of that revision; from the n-th result on.  Our keys are in
 * them (else they have vanished).  True: nobody is ahead in any. */
static bool
read_queues(struct batch *b, const struct kv_answer *answer, size_t n)
{
	bool first = true;
	struct claim *c;

	TAILQ_FOREACH(c, &b->claims, of_list) {
		if (n >= answer->n_results ||
		    !queue_read(c, &answer->results[n], answer->revision))
			c->vanished = true;
		if (c->n_ahead != 0)
			first = false;
		n++;
	}
	return first;
}

void
batch_settle(struct batch *b)
{
	if (batch_end_leavers(b))
		batch_check_turn(b, 0);
}

static void
wait_turn(struct batch *b, int64_t revision)
{
	struct claim *c;

	b->step = BATCH_WAIT;
	TAILQ_FOREACH(c, &b->claims, of_list) {
		if (c->state == CLAIM_ASKED)
			c->state = CLAIM_QUEUED;
		if (c->key->deleted > revision ||
		    has_missed_changes(b->r, revision))
			queue_set_ahead(c, NULL, revision);
	}
	batch_settle(b);
}

/* Of keys put by a try: a reader's perhaps by an earlier sending of it. */
static void
set_creation(struct batch *b, const struct kv_answer *answer)
{
	const struct kv_result *own = answer->results + b->n;
	struct claim *c;

	TAILQ_FOREACH(c, &b->claims, of_list) {
		c->create = own->n == 1 ? own->pairs->create_revision :
		    answer->revision;
		c->vanished = c->deleted > answer->revision;
		queue_note_arrivals(c, answer->revision);
		own++;
	}
}

static void
try_done(struct store_call *call, const struct kv_answer *answer)
{
	struct batch *b = call->owner;
	struct recipe *r = call->r;
	char who[WHY_MAX] = "";
	struct claim *c;
	bool ours = call->unknown;

	b->call = NULL;
	if (answer->succeeded) {
		set_creation(b, answer);
		grant_batch(b, answer->revision);
		return;
	}
	if (!txn_has_session(r, answer)) {
		r->on_session_ended(r, SESSION_ENDED);
		return;
	}
	/* A lost answer may have granted it: our keys are there, then. */
	(void)read_queues(b, answer, 1);
	TAILQ_FOREACH(c, &b->claims, of_list)
		ours = ours && !c->vanished;
	if (ours) {
		wait_turn(b, answer->revision);
		return;
	}
	for (size_t i = 1; i < answer->n_results && who[0] == '\0'; i++) {
		c = TAILQ_FIRST(&b->claims);
		for (size_t j = 1; j < i; j++)
			c = TAILQ_NEXT(c, of_list);
		queue_describe_holder(c, &answer->results[i], who, sizeof(who));
	}
	r->stats.busy++;
	/* An earlier sending may have been done for all that, since. */
	while ((c = TAILQ_FIRST(&b->claims)) != NULL)
		batch_end_claim(b, c,
		    !c->vanished || c->create > answer->revision, END_BUSY, 0,
		    who);
	batch_free(b);
}

static void
enqueue_done(struct store_call *call, const struct kv_answer *answer)
{
	struct batch *b = call->owner;
	struct claim *c;

	b->call = NULL;
	if (answer->succeeded) {
		TAILQ_FOREACH(c, &b->claims, of_list)
			c->create = answer->revision;
		if (read_queues(b, answer, b->n))
			grant_batch(b, answer->revision);
		else
			wait_turn(b, answer->revision);
	} else if (!txn_has_session(call->r, answer)) {
		call->r->on_session_ended(call->r, SESSION_ENDED);
	} else {
		(void)read_queues(b, answer, 1);
		wait_turn(b, answer->revision);
	}
}

static void
confirm_done(struct store_call *call, const struct kv_answer *answer)
{
	struct batch *b = call->owner;

	b->call = NULL;
	if (!answer->succeeded) {
		if (!txn_has_session(call->r, answer)) {
			call->r->on_session_ended(call->r, SESSION_ENDED);
			return;
		}
		(void)read_queues(b, answer, 1);
		if (b->anchor)	/* if there is one, it is another one */
			TAILQ_FIRST(&b->claims)->vanished = true;
		wait_turn(b, answer->revision);
	} else if (read_queues(b, answer, b->n)) {
		grant_batch(b, answer->revision);
	} else {
		wait_turn(b, answer->revision);
	}
}

static void
on_paused(struct store_call *call)
{
	batch_settle(call->owner);
}

static const struct store_call_ops try_ops = {
	.send = try_send, .done = try_done, .refused = batch_handle_refusal,
	.paused = on_paused, .anyway = true
};
static const struct store_call_ops enqueue_ops = {
	.send = enqueue_send, .done = enqueue_done,
	.refused = batch_handle_refusal, .paused = on_paused, .anyway = true
};
static const struct store_call_ops confirm_ops = {
	.send = confirm_send, .done = confirm_done,
	.refused = batch_handle_confirm_refusal, .paused = on_paused,
	.anyway = true
};

void
batch_start(struct batch *b)
{
	struct recipe *r = b->r;
	struct claim *c;

	if (b->call != NULL || b->step == BATCH_WAIT)
		return;
	if (!r->settled || (r->store != KV_HERE && b->step == BATCH_TRY)) {
		if (b->step == BATCH_TRY)
			batch_fail(b, END_FAILED, EHOSTUNREACH, r->why);
		return;		/* it is started when all is settled */
	}
	if (b->step != BATCH_CONFIRM)
		TAILQ_FOREACH(c, &b->claims, of_list)
			claim_set_name(c);
	b->call = store_call_start(r, b->step == BATCH_TRY ? &try_ops :
	    b->step == BATCH_ENQUEUE ? &enqueue_ops : &confirm_ops, b, b->lane);
	if (b->call != NULL)
		return;
	if (b->step == BATCH_CONFIRM)
		resync_soon(r, 1000);	/* that is when it is tried again */
	else
		batch_fail(b, END_FAILED, ENOMEM, "no memory");
}

/* A granted claim that is anchored only waits to be confirmed. */
void
batch_check_turn(struct batch *b, int64_t revision)
{
	bool sure = revision != 0 && !b->anchor;
	struct claim *c;

	if (b->step != BATCH_WAIT || b->call != NULL)
		return;
	TAILQ_FOREACH(c, &b->claims, of_list) {
		if (c->n_ahead != 0)
			return;
		sure = sure && c->sure && c->mode == CLAIM_EXCLUSIVE;
	}
	if (sure) {
		b->r->stats.turns++;
		TAILQ_FOREACH(c, &b->claims, of_list)
			queue_note_arrivals(c, c->looked);
		grant_batch(b, revision);
		return;
	}
	b->step = BATCH_CONFIRM;
	batch_start(b);
}
