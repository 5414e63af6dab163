/* SPDX-License-Identifier: MIT */
#include <string.h>
#include "asked.h"

const struct kv_txn *asked;
bool asked_to_revoke;

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

static int
revoke(struct engine *e, int64_t lease, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	int error;

	asked_to_revoke = true;
	error = theirs->revoke(e, lease, timeout_ms, fn, arg);
	asked_to_revoke = false;
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
	ours.revoke = revoke;
	e->ops = &ours;
}

bool
asked_to(enum kv_what what)
{
	return asked != NULL && asked->n_then > 0 &&
	    asked->then[0].what == what;
}

bool
asked_to_write(const char *what)
{
	for (size_t i = 0; asked != NULL && i < asked->n_then; i++) {
		const struct kv_op *op = &asked->then[i];

		if (op->what != KV_GET && memmem(op->range.key.p,
		    op->range.key.len, what, strlen(what)) != NULL)
			return true;
	}
	return false;
}
