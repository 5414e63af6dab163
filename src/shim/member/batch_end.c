/* SPDX-License-Identifier: MIT */
/*
 * How claims that were asked for at once (batch.c) end otherwise than granted:
 * they are left, their keys have vanished, the store refuses them.
 *
 * A claim whose key may be in the store leaves nothing behind.  If it is known
 * to be there it is deleted, also where who asked is told at once that it is
 * over: a ghost does that.  If an earlier sending may yet put it, its event
 * comes, or a sweep finds it, when no claim is known for it: a ghost again.
 */
#include <errno.h>
#include <bsd/string.h>
#include "member.h"

#define DENIALS 5u	/* asked for so often, it is not for a moment */

void
batch_fail(struct batch *b, enum claim_end end, int error, const char *why)
{
	struct claim *c;

	while ((c = TAILQ_FIRST(&b->claims)) != NULL) {
		batch_take_out(b, c);
		claim_end(c, c->wants_leave ? END_LEFT : end, error, why);
	}
	batch_free(b);
}

void
batch_end(struct batch *b, struct claim *c, bool is_there, enum claim_end end,
    int error, const char *why)
{
	batch_take_out(b, c);
	if (c->wants_leave && is_there) {
		claim_go(c);
		return;
	}
	claim_end(c, c->wants_leave ? END_LEFT : end, error, why);
	if (is_there)
		claim_haunt(c);
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
		batch_take_out(b, c);
		if (c->wants_leave && c->state == CLAIM_ASKED &&
		    (b->call == NULL || !b->call->sent))
			claim_end(c, END_LEFT, 0, "");
		else if (c->wants_leave)
			claim_go(c);
		else
			claim_deleted(c);
	}
	if (b->n == 0) {
		batch_free(b);
		return false;
	}
	return true;
}

bool
batch_refused(struct store_call *call, const struct kv_answer *answer)
{
	struct batch *b = call->owner;
	struct claim *c;

	if (!answer->denied && (b->step != BATCH_TRY || call->unknown))
		return false;
	b->call = NULL;
	/* What was UNKNOWN may have been done, or be yet: that is told then. */
	while ((c = TAILQ_FIRST(&b->claims)) != NULL)
		batch_end(b, c, c->create != 0 ||
		    (c->wants_leave && call->unknown), END_FAILED,
		    answer->denied ? EACCES : EHOSTUNREACH, answer->why);
	batch_free(b);
	return true;
}

/* A claim that was to be anchored, and is granted as before. */
static void
not_anchored(struct batch *b, const char *why)
{
	struct claim *c = TAILQ_FIRST(&b->claims);

	batch_take_out(b, c);
	if (c->wants_leave) {
		claim_go(c);
	} else if (c->vanished) {
		claim_deleted(c);
	} else {
		(void)strlcpy(c->why, why, sizeof(c->why));
		claim_tell(c, TELL_DENIED);
	}
}

/* The permission was taken away meanwhile, and not for a moment: who waits is
 * told, and nobody else waits for the other keys of the batch. */
bool
batch_confirm_refused(struct store_call *call, const struct kv_answer *answer)
{
	struct batch *b = call->owner;
	struct claim *c;

	if (!answer->denied || call->tries < DENIALS)
		return false;
	b->call = NULL;
	if (b->anchor)
		not_anchored(b, answer->why);
	while ((c = TAILQ_FIRST(&b->claims)) != NULL)
		batch_end(b, c, true, END_FAILED, EACCES, answer->why);
	batch_free(b);
	return true;
}

void
batches_away(struct recipe *r, const char *why)
{
	struct batch *b, *next;

	TAILQ_FOREACH_SAFE(b, &r->batches, all, next)
		if (b->step == BATCH_TRY && b->call != NULL &&
		    !b->call->in_flight && !b->call->unknown)
			batch_fail(b, END_FAILED, EHOSTUNREACH, why);
}
