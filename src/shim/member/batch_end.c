/* SPDX-License-Identifier: MIT */
/*
 * Ends the claims of a batch (batch.c) without a grant: they are left, their
 * keys have vanished, or the store refuses them.
 *
 * A claim leaves no key in the store.  A key that is known to be there is
 * deleted, even if the claim's end was reported before; a silent claim does
 * this.  If an earlier sending puts the key later, the watch or a resync shows
 * a key that belongs to no known claim, and a silent claim deletes that, too.
 */
#include <errno.h>
#include <bsd/string.h>
#include "member.h"

#define DENIALS 5u	/* denied so often, a CONFIRM gives up */

void
batch_fail(struct batch *b, enum claim_end end, int error, const char *why)
{
	struct claim *c;

	while ((c = TAILQ_FIRST(&b->claims)) != NULL) {
		batch_remove(b, c);
		claim_end(c, c->wants_leave ? END_LEFT : end, error, why);
	}
	batch_free(b);
}

void
batch_end_claim(struct batch *b, struct claim *c, bool is_there,
    enum claim_end end, int error, const char *why)
{
	batch_remove(b, c);
	if (c->wants_leave && is_there) {
		claim_begin_leaving(c);
		return;
	}
	claim_end(c, c->wants_leave ? END_LEFT : end, error, why);
	if (is_there)
		claim_delete_leftover(c);
}

bool
batch_end_leavers(struct batch *b)
{
	struct claim *c, *next;

	if (b->call != NULL && b->call->in_flight)
		return false;
	TAILQ_FOREACH_SAFE(c, &b->claims, of_list, next) {
		if (!c->wants_leave && !c->vanished)
			continue;
		batch_remove(b, c);
		if (c->wants_leave && c->state == CLAIM_ASKED &&
		    (b->call == NULL || !b->call->sent))
			claim_end(c, END_LEFT, 0, "");
		else if (c->wants_leave)
			claim_begin_leaving(c);
		else
			claim_end_deleted(c);
	}
	if (b->n == 0) {
		batch_free(b);
		return false;
	}
	return true;
}

bool
batch_handle_refusal(struct store_call *call, const struct kv_answer *answer)
{
	struct batch *b = call->owner;
	struct claim *c;

	if (!answer->denied && (b->step != BATCH_TRY || call->unknown))
		return false;
	b->call = NULL;
	/* an UNKNOWN sending may still put the key; the watch reports it
	 * then */
	while ((c = TAILQ_FIRST(&b->claims)) != NULL)
		batch_end_claim(b, c, c->create != 0 ||
		    (c->wants_leave && call->unknown), END_FAILED,
		    answer->denied ? EACCES : EHOSTUNREACH, answer->why);
	batch_free(b);
	return true;
}

/* Reports that a claim could not be anchored; it stays granted. */
static void
not_anchored(struct batch *b, const char *why)
{
	struct claim *c = TAILQ_FIRST(&b->claims);

	batch_remove(b, c);
	if (c->wants_leave) {
		claim_begin_leaving(c);
	} else if (c->vanished) {
		claim_end_deleted(c);
	} else {
		(void)strlcpy(c->why, why, sizeof(c->why));
		claim_notify(c, NOTIFY_DENIED);
	}
}

/* The permission was revoked while the claims waited.  After some attempts all
 * claims of the batch fail, so that no other member waits for them. */
bool
batch_handle_confirm_refusal(struct store_call *call,
    const struct kv_answer *answer)
{
	struct batch *b = call->owner;
	struct claim *c;

	if (!answer->denied || call->tries < DENIALS)
		return false;
	b->call = NULL;
	if (b->anchor)
		not_anchored(b, answer->why);
	while ((c = TAILQ_FIRST(&b->claims)) != NULL)
		batch_end_claim(b, c, true, END_FAILED, EACCES, answer->why);
	batch_free(b);
	return true;
}

void
batches_fail_tries(struct recipe *r, const char *why)
{
	struct batch *b, *next;

	TAILQ_FOREACH_SAFE(b, &r->batches, all, next)
		if (b->step == BATCH_TRY && b->call != NULL &&
		    !b->call->in_flight && !b->call->unknown)
			batch_fail(b, END_FAILED, EHOSTUNREACH, why);
}
