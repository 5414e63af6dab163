/* SPDX-License-Identifier: MIT */
/*
 * Makes and frees batches, and adds and removes their claims.  batch.c and
 * batch_end.c use it.
 */
#include <stdlib.h>
#include "member.h"

struct batch *
batch_new(struct recipe *r, enum batch_step step)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->r = r;
	b->step = step;
	TAILQ_INIT(&b->claims);
	TAILQ_INSERT_TAIL(&r->batches, b, all);
	return b;
}

void
batch_add(struct batch *b, struct claim *c)
{
	c->batch = b;
	b->lane = c->lane;
	TAILQ_INSERT_TAIL(&b->claims, c, of_list);
	b->n++;
}

void
batch_remove(struct batch *b, struct claim *c)
{
	TAILQ_REMOVE(&b->claims, c, of_list);
	c->batch = NULL;
	b->n--;
}

void
batch_free(struct batch *b)
{
	store_call_drop(b->call);
	TAILQ_REMOVE(&b->r->batches, b, all);
	free(b);
}
