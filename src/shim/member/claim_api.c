/* SPDX-License-Identifier: MIT */
/*
 * Implements the functions of recipe.h for claims: requesting keys, keeping
 * those of an adopted session, drawing a new revision, leaving.  batch.c grants
 * the claims.
 */
#include <errno.h>
#include "member.h"

/* Returns 0 if the keys are valid and different, else -EINVAL. */
static int
check_wanted(const struct claim_want *w, size_t n)
{
	if (n == 0 || n > RECIPE_CLAIMS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (w[i].key.len > CLAIM_KEY_MAX ||
		    (w[i].mode != CLAIM_SHARED && w[i].mode != CLAIM_EXCLUSIVE))
			return -EINVAL;
		for (size_t j = 0; j < i; j++)
			if (kv_bytes_is_equal(w[i].key, w[j].key))
				return -EINVAL;
	}
	return 0;
}

int
recipe_claim(struct recipe *r, const struct claim_want *w, size_t n,
    unsigned flags, struct claim **out)
{
	int error = check_wanted(w, n);
	struct claim *c, *next;
	struct batch *b;

	if (error != 0 || r->stopped)
		return error != 0 ? error : -EINVAL;
	b = batch_new(r, flags & CLAIM_TRY ? BATCH_TRY : BATCH_ENQUEUE);
	if (b == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		c = claim_new(r, w[i].key, w[i].mode, r->requests++);
		if (c == NULL)
			goto no_memory;
		c->arg = w[i].arg;
		c->lane = &r->lanes[flags / CLAIM_LANE(1u) % RECIPE_LANES];
		out[i] = c;
		batch_add(b, c);
	}
	batch_start(b);
	return 0;

no_memory:
	TAILQ_FOREACH_SAFE(c, &b->claims, of_list, next)
		claim_free(c);
	batch_free(b);
	return -ENOMEM;
}

struct claim *
recipe_keep(struct recipe *r, const struct recipe_found *f, void *arg)
{
	struct claim *c = r->keeping;

	if (c == NULL || c->state != CLAIM_FOUND || !f->first)
		return NULL;
	c->state = CLAIM_GRANTED;
	c->arg = arg;
	queue_note_arrivals(c, c->looked); /* members that queued after the
					    * read */
	if (c->behind != CLAIM_NONE)
		claim_recall(c, c->behind);
	return c;
}

void
claim_leave(struct claim *c)
{
	struct batch *b = c->batch;

	if (c->state == CLAIM_ENDED || c->state == CLAIM_LEAVING ||
	    c->wants_leave)
		return;		/* it has ended; that is reported already */
	c->notices = 0;
	c->wants_leave = true;
	if (b != NULL)
		batch_settle(b);
	else
		claim_begin_leaving(c);
}

bool
claim_anchor(struct claim *c)
{
	struct batch *b;

	if (c->state != CLAIM_GRANTED || c->wants_leave)
		return false;
	if (c->batch != NULL)
		return true;
	b = batch_new(c->r, BATCH_CONFIRM);
	if (b == NULL)
		return false;
	b->anchor = true;
	batch_add(b, c);
	batch_start(b);
	return true;
}

enum claim_mode
claim_mode(const struct claim *c)
{
	return c->mode;
}
