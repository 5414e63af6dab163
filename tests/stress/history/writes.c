/* SPDX-License-Identifier: MIT */
/*
 * The gate of a guarded file: no stale token is let in (demonstration only).
 */
#include <errno.h>
#include <stdlib.h>

#include "grants.h"

struct write {
	const struct op *op;
	int64_t ret;
};

static int
by_ret(const void *a, const void *b)
{
	const struct write *x = a, *y = b;

	return (x->ret > y->ret) - (x->ret < y->ret);
}

static int
by_call(const void *a, const void *b)
{
	const struct op *const *x = a, *const *y = b;

	return ((*x)->call_ns > (*y)->call_ns) -
	    ((*x)->call_ns < (*y)->call_ns);
}

/*
 * The gate: a write that was let in before another one was called has no larger
 * token; a refused one names the larger token that it met.
 */
int
check_writes(struct checker *c, uint32_t key)
{
	const struct history *h = c->h;
	const struct op **called = NULL;
	struct write *done = NULL;
	uint64_t top = 0;
	size_t n = 0, i, j = 0, room = c->v->writes + 1;
	uint32_t l, k;

	called = malloc(room * sizeof(*called));
	done = malloc(room * sizeof(*done));
	if (!called || !done) {
		free(called);
		free(done);
		return -ENOMEM;
	}
	for (l = 0; l < h->n_logs; l++) {
		for (k = 0; k < h->counts[l]; k++) {
			const struct op *op = &h->ops[(size_t)l * h->cap + k];

			if (op->kind != OP_WRITE || op->key != key ||
			    !op_ret(op) || n == room)
				continue;
			if (op->result == -ESTALE) {
				c->v->writes_refused++;
				if (op->seen <= op->token)
					violation(c, RULE_WRITE, op,
					    op_ret(op), "refused by token "
					    "%llu, which is not larger: %s",
					    (unsigned long long)op->seen,
					    op_text(c, op));
			} else if (op->result == 0) {
				called[n] = op;
				done[n++] = (struct write){ op, op_ret(op) };
			} else {
				violation(c, RULE_WRITE, op, op_ret(op),
				    "failed: %s", op_text(c, op));
			}
		}
	}
	qsort(called, n, sizeof(*called), by_call);
	qsort(done, n, sizeof(*done), by_ret);
	for (i = 0; i < n; i++) {
		for (; j < n && done[j].ret < called[i]->call_ns; j++)
			if (done[j].op->token > top)
				top = done[j].op->token;
		if (called[i]->token < top)
			violation(c, RULE_WRITE, called[i],
			    called[i]->call_ns, "a stale token was let in "
			    "after %llu: %s", (unsigned long long)top,
			    op_text(c, called[i]));
	}
	free(called);
	free(done);
	return 0;
}
