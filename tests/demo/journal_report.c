/* SPDX-License-Identifier: MIT */
/*
 * Prints the workers' journals as they grow.  Nothing is printed that is not in
 * a journal.  The plain grants, a few hundred a second, are counted, and their
 * sum is printed now and then.
 */
#include <errno.h>

#include "worker.h"
#include "report_line.h"

static void
succession(struct demo *d, uint32_t slot, const struct op *op)
{
	struct watch *w = &d->watch[op->key];
	int64_t took = op->ret_ns - w->since_ns;
	int64_t *slowest = w->killed ? &d->after_kill_ns : &d->after_end_ns;
	const char *told = op->notes & LH_NOTE_PREVIOUS_DIED ? "died" :
	    op->notes & LH_NOTE_PREVIOUS_EXPIRED ? "expired" : "nothing";

	w->on = false;
	if (took > *slowest)
		*slowest = took;
	report_event(op->ret_ns - d->began_ns, GOOD, "NEXT", "worker %u has "
	    "\"%s\" with token %s, %.1f ms after the %s (note: %s)", slot + 1,
	    file_names[op->key], report_token(op->token), (double)took / 1e6,
	    w->killed ? "kill" : "lease ended", told);
}

static void
grant(struct demo *d, uint32_t slot, const struct op *op)
{
	d->grants[op->key]++;
	if (op->token > d->top[op->key])
		d->top[op->key] = op->token;
	if (d->watch[op->key].on && op->token > d->watch[op->key].token)
		succession(d, slot, op);
}

static void
write_told(struct demo *d, uint32_t slot, const struct op *op)
{
	struct worker *w = &d->w[slot];
	const char *name = file_names[op->key];

	if (op->result == -ESTALE) {
		d->refused++;
		report_event(op->ret_ns - d->began_ns, PROUD, "REFUSED",
		    "worker %u writes \"%s\" with token %s; the file has seen "
		    "%s", slot + 1, name, report_token(op->token),
		    report_token(op->seen));
	} else if (op->result) {
		report_event(op->ret_ns - d->began_ns, BAD, "FAILED", "worker "
		    "%u cannot use \"%s\": %s", slot + 1, name,
		    lh_strerror(op->result));
	} else if (op->how == GATE_WRITE && w->held && w->in_time &&
	    op->of == journal_index(d->j, w->held)) {
		d->resumed_in_time++;
		w->held = NULL;
		report_event(op->ret_ns - d->began_ns, GOOD, "WROTE", "worker "
		    "%u writes \"%s\" with token %s: stopped, but not for too "
		    "long", slot + 1, name, report_token(op->token));
	}
}

static void
one(struct demo *d, uint32_t slot, const struct op *op)
{
	if (op->kind == OP_ACQUIRE && op->result == 0)
		grant(d, slot, op);
	else if (op->kind == OP_WRITE)
		write_told(d, slot, op);
	else if (op->kind == OP_RELEASE && op->result == -ESTALE)
		report_event(op->ret_ns - d->began_ns, DIM, "LOST", "worker %u "
		    "hears from its release that the lease is lost", slot + 1);
}

void
story_go_on(struct demo *d)
{
	uint32_t i;

	for (i = 0; i < N_WORKERS; i++) {
		const struct log *log = &d->j->logs[i];
		uint32_t n = atomic_load_explicit(&log->n,
		    memory_order_acquire);

		while (d->w[i].told < n) {
			const struct op *op = &d->j->ops[log->base +
			    d->w[i].told];

			if (atomic_load_explicit(&op->ret_ns,
			    memory_order_acquire))
				one(d, i, op);
			else if (d->lives[op->life].gone_ns == NEVER)
				break;	/* still at it */
			d->w[i].told++;
		}
	}
}

void
story_so_far(const struct demo *d)
{
	report_event(now_ns() - d->began_ns, DIM, "...", "%llu grants so far: "
	    "%s %llu, %s %llu, %s %llu",
	    (unsigned long long)(d->grants[0] + d->grants[1] + d->grants[2]),
	    file_names[0], (unsigned long long)d->grants[0],
	    file_names[1], (unsigned long long)d->grants[1],
	    file_names[2], (unsigned long long)d->grants[2]);
}
