/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include "asked.h"

const struct kv_txn *asked;

static const struct engine_ops *theirs;
static struct engine_ops ours;

static int
txn(struct engine *e, const struct kv_txn *t, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	int error;

	asked = t;
	error = theirs->txn(e, t, timeout_ms, fn, arg);
	asked = NULL;
	return error;
}

void
asked_watch(struct engine *e)
{
	if (e->ops == &ours)
		return;
	theirs = e->ops;
	ours = *theirs;
	ours.txn = txn;
	e->ops = &ours;
}

bool
asked_to(enum kv_what what)
{
	return asked != NULL && asked->n_then > 0 &&
	    asked->then[0].what == what;
}
