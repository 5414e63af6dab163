/* SPDX-License-Identifier: MIT */
/*
 * Requests claims together.  claim_api.c starts a batch; queue_watch.c and
 * resync.c report when its turn may have come.
 *
 * If they are not all granted at once, each claim that has somebody ahead waits
 * in a batch of its own, and the others go on without it.  Otherwise a claim
 * would stand first in a queue while it waits for others of its batch, and keep
 * all hosts from a key that nobody uses.  If the holder of another key waited
 * for that one, this would be a circle, and never end.
 *
 * Three transactions do the work.  Each compares our session's key, so that it
 * has no effect after the session's end.  Each can be sent twice, because an
 * answer can be lost (store_call.c).
 *
 *	TRY	If no queue contains a claim that excludes ours: put our keys,
 *		and read how old they are.  Applied: granted, at that revision.
 *	ENQUEUE	If our keys are not there: put them, and read the queues.
 *		Nobody is ahead in any of them: granted, at that revision.
 *	CONFIRM	If our keys are there, with the age that we know: put them again
 *		and read the queues.  Nobody is ahead: granted, at that
 *		revision.  A granted claim draws a new revision in this way,
 *		too.
 *
 * A fourth way needs no transaction.  It applies to exclusive claims only, and
 * saves one of two writes in a hand-over:
 *
 *	TURN	A read has shown all claims that are ahead, no change was missed
 *		since, and the watch reports that the last of them is deleted:
 *		granted, at the revision of that deletion.
 *
 * Why the transactions are right.  A claim is ahead if its key is older and it
 * excludes ours.  Ages only grow, so nobody gets ahead later.  A claim is
 * granted by a read that finds our key in the queue and nobody ahead; until our
 * key is gone, everybody who comes later sees it ahead.  The read is in the
 * same transaction as our write, whose revision is the token.  So the token is
 * larger than that of every earlier grant, and smaller than that of every later
 * one.
 *
 * Why TURN is right.  Let R be the revision of the deletion.
 *
 * 1. At R our key and our session were there: the read found them, and a
 *    deletion of either would have been reported before R.
 * 2. Nobody was ahead at R.
 * 3. The claims ahead got tokens while their keys were there, so before R.
 *    The claim behind us gets its token from a later deletion, or from a read
 *    after that.
 * 4. Two readers could get the same R, so readers use CONFIRM.
 * 5. A deletion is a fact, whether it is reported late or not.  That none was
 *    missed matters only for our own keys, which somebody may delete by hand.
 * 6. A member that ends our session waits until D has passed, and every user
 *    of the grant checks D.
 *
 * Model: tests/model/cluster.pml.
 *
 * If an answer is lost, the next ENQUEUE finds our keys in the queue.  Their
 * age is no token, because a claim ahead may have drawn a later revision
 * since.  So the grant is confirmed.
 *
 * In TRY, a reader compares only the writers' keys, so that its own key does
 * not exclude it.  If the answer was lost, the repeated TRY is applied as well,
 * and the reader's key is then older than the token.  An empty range compares
 * like a key with version 0, so "there is none" is written "version 0".
 *
 * A transaction of 64 keys has 65 comparisons and 128 operations.
 */
#include <errno.h>
#include <stdlib.h>
#include "member.h"

/* Sending. */

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

/* Handling answers. */

/* True if an answer is older than the start of the watch.  Then somebody may
 * have left or queued in the gap, and the resync for that gap may have been
 * answered before this. */
static bool
has_missed_changes(const struct recipe *r, int64_t revision)
{
	return revision < r->watched && r->watched != INT64_MAX;
}

/* Marks all claims of a batch as granted at `revision`, and frees the batch. */
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

/* Reads the queues in an answer, from result n on.  Marks claims whose own key
 * is missing as vanished.  Returns true if nobody is ahead in any queue. */
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

/* Moves each claim that has somebody ahead to a batch of its own.  (Without
 * memory for that they wait together.) */
static void
part_waiters(struct batch *b)
{
	struct claim *c, *next;
	struct batch *own;

	TAILQ_FOREACH_SAFE(c, &b->claims, of_list, next) {
		if (b->n == 1 || c->n_ahead == 0)
			continue;
		own = batch_new(b->r, BATCH_WAIT);
		if (own == NULL)
			return;
		batch_remove(b, c);
		batch_add(own, c);
		batch_settle(own);
	}
}

/* Lets a batch wait in its queues, or continues it if its turn has come. */
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
	part_waiters(b);
	batch_settle(b);
}

/* Sets the age of keys that a TRY has put.  A reader's key may be older, put by
 * an earlier sending of the same TRY. */
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
	/* if an answer was lost, the keys may be ours */
	(void)read_queues(b, answer, 1);
	TAILQ_FOREACH(c, &b->claims, of_list)
		ours = ours && !c->vanished;
	if (ours) {
		wait_turn(b, answer->revision);
		return;
	}
	r->stats.busy++;
	/* an earlier sending may have been applied after all */
	for (size_t i = 1; (c = TAILQ_FIRST(&b->claims)) != NULL; i++) {
		who[0] = '\0';		/* that one is free */
		if (i < answer->n_results)
			queue_describe_holder(c, &answer->results[i], who,
			    sizeof(who));
		batch_end_claim(b, c,
		    !c->vanished || c->create > answer->revision, END_BUSY, 0,
		    who);
	}
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
		if (b->anchor)	/* a key there now is not the one that was
				 * granted */
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
		return;		/* set_settled() starts it later */
	}
	if (b->step != BATCH_CONFIRM)
		TAILQ_FOREACH(c, &b->claims, of_list)
			claim_set_name(c);
	b->call = store_call_start(r, b->step == BATCH_TRY ? &try_ops :
	    b->step == BATCH_ENQUEUE ? &enqueue_ops : &confirm_ops, b, b->lane);
	if (b->call != NULL)
		return;
	if (b->step == BATCH_CONFIRM)
		resync_soon(r, 1000);	/* the resync tries again */
	else
		batch_fail(b, END_FAILED, ENOMEM, "no memory");
}

/* Also called for a granted claim that is being anchored, which only waits for
 * its confirmation. */
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
