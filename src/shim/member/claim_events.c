/* SPDX-License-Identifier: MIT */
/*
 * Handles events that happen to claims from outside: a claim's key appears in
 * the store or vanishes, or the session ends.  queue_watch.c, resync.c and
 * member_session.c report them.
 */
#include <errno.h>
#include "member.h"

void
claim_key_vanished(struct claim *c)
{
	c->vanished = true;
	if (c->batch != NULL)
		batch_settle(c->batch);
	else if (c->state == CLAIM_GRANTED)
		claim_end_deleted(c);
}

void
claim_key_appeared(struct claim *c, int64_t create)
{
	if (create <= c->create)
		return;
	if (c->state == CLAIM_ASKED || c->state == CLAIM_LEAVING) {
		c->create = create;
	} else if (c->state == CLAIM_GRANTED || c->state == CLAIM_FOUND) {
		/* it was deleted unnoticed, and a late sending put it again */
		claim_key_vanished(c);
	}
}

/* The keys of a dead session do not count any more. */
void
claims_end_session(struct recipe *r, const char *why)
{
	struct batch *b;
	struct member_key *k;
	struct claim *c;

	claims_drop_leaving(r);
	while ((b = TAILQ_FIRST(&r->batches)) != NULL)
		batch_free(b);
	TAILQ_INIT(&r->leaving);
	TAILQ_INIT(&r->found);
	RB_FOREACH(k, member_keys, &r->keys) {
		TAILQ_FOREACH(c, &k->claims, of_key) {
			c->batch = NULL;
			if (c->state == CLAIM_ENDED)
				continue;
			if (c->state == CLAIM_FOUND)
				c->silent = true;
			claim_end(c, c->wants_leave ? END_LEFT : END_FAILED,
			    ESTALE, why);
		}
	}
}

void
claims_free_all(struct recipe *r)
{
	struct batch *b;
	struct member_key *k, *next;
	struct claim *c;
	bool last;

	while ((b = TAILQ_FIRST(&r->batches)) != NULL)
		batch_free(b);
	TAILQ_INIT(&r->leaving);
	TAILQ_INIT(&r->found);
	RB_FOREACH_SAFE(k, member_keys, &r->keys, next) {
		do {
			c = TAILQ_FIRST(&k->claims);
			last = TAILQ_NEXT(c, of_key) == NULL;
			claim_free(c);
		} while (!last);
	}
}
