/* SPDX-License-Identifier: MIT */
/*
 * Shared by the rules of the history checker: the grants with their intervals,
 * a key's grants in order of token, and the report of a violation.
 *
 *	history.c	the frame; spans
 *	grants.c	from records to grants; answers
 *	convert.c	leases that change their mode
 *	safety.c	exclusion, tokens, late releases, notes
 *	writes.c	the gate
 *	liveness.c	keys left idle
 *	order.c		overtakings
 *	report_violation.c	what is said about a violation
 */
#ifndef GRANTS_H
#define GRANTS_H

#include "history.h"

struct grant {
	const struct op *op;	/* the acquire, or the conversion */
	const struct op *lease;	/* the acquire */
	const struct op *release; /* or NULL */
	uint64_t token;
	int64_t lo, hi;		/* grant window */
	int64_t from, end;	/* certain hold; none if it ends before */
	int64_t gone;		/* of the possible hold */
	int64_t deadline;	/* the last one known */
	bool shared;
	bool vague;		/* an extend is without answer */
	bool released;		/* and told so: whatever comes now is lost */
};

struct span {
	int64_t from, to;
};

/* A growing array of spans. */
struct spans {
	struct span *at;
	size_t n, room;
};

struct checker {
	const struct history *h;
	struct verdict *v;
	violation_fn *fn;
	void *arg;
	struct grant *grants;	/* by key, then token */
	size_t n_grants;
	size_t *first;		/* of key k: grants[first[k]] .. first[k + 1] */
	uint32_t *grant_of;	/* op index -> grant + 1, while building */
	struct spans *stops;	/* of each life, in order: not running */
	struct spans *stopping;	/* likewise: SIGSTOP sent, but not yet sure */
	int64_t *closing;	/* of each life: called lh_close */
};

/* op: what it is about, at_ns: when it showed; for the events around it. */
void violation(struct checker *c, enum rule rule, const struct op *op,
    int64_t at_ns, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* "acquire #7 by life 3, key 2, called 1.234567, ..." in a static buffer of
 * two. */
const char *op_text(const struct checker *c, const struct op *op);

static inline int64_t
op_ret(const struct op *op)
{
	return atomic_load_explicit(&op->ret_ns, memory_order_relaxed);
}

static inline int64_t
min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t
max_ns(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Does [from, to] touch a stop of that life? */
bool was_stopped(const struct checker *c, uint32_t life, int64_t from,
    int64_t to);

/* For how long of [from, to] did the machine run nobody? */
int64_t stood_still(const struct checker *c, int64_t from, int64_t to);

/* 0 or -ENOMEM.  An empty span is not added. */
int spans_add(struct spans *s, int64_t from, int64_t to);
/* Sort and join what touches. */
void spans_join(struct spans *s);
/* Index of the first span that ends after `at`; s->n if there is none. */
size_t spans_after(const struct spans *s, int64_t at);

/* grants.c */
int grants_build(struct checker *c);
void grants_free(struct checker *c);
struct grant *grants_add(struct checker *c, const struct op *op,
    const struct op *lease);
void grants_answer(struct checker *c, struct grant *g, const struct op *op,
    bool late_ok);
/* It was lost, and a late win may have stood until it was undone. */
void grants_lost(struct checker *c, struct grant *g, const struct op *op);

/* convert.c */
void convert(struct checker *c, struct grant *g, const struct op *op);
int check_upgrades(struct checker *c);

/* writes.c */
int check_writes(struct checker *c, uint32_t key);

/* The rules.  0 or -ENOMEM. */
int check_holds(struct checker *c);
int check_idle(struct checker *c);
int check_order(struct checker *c);

#endif
