/* SPDX-License-Identifier: MIT */
/*
 * The last participant: sows keys that nobody needs (weeds), and evicts idle
 * ones, weeds and others alike, while the workers use some of them.
 *
 * In a table of few keys each weed takes the place of another key, so that keys
 * go and come back, in other slots, all the time, also without lh_evict().  In
 * a table that may grow it sows faster than it weeds, so that the table has to.
 *
 * It is killed and stopped like the others.  Weeds have no records: what it
 * does with them is to succeed, or to find one still held by its dead
 * predecessor.
 */
#include <errno.h>
#include <stdio.h>

#include "round.h"

#define SOWN_MOST	40
#define SOWN_GROWING	200

static int
sow(struct round *r, struct lh *lh, uint64_t *dice_at)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	bool growing = r->weeds > r->open.max_keys / 2 && r->weeds > 1000;
	int64_t n = between(dice_at, 0, growing ? SOWN_GROWING : SOWN_MOST);
	struct lh_lease lease;
	char name[32];

	o.max_wait_ms = 0;
	while (n-- > 0) {
		int rc;

		snprintf(name, sizeof(name), "weed/%u",
		    (unsigned)(dice(dice_at) % r->weeds));
		o.mode = r->exclusive || percent(dice_at, 50) ? LH_EXCLUSIVE :
		    LH_SHARED;
		rc = lh_acquire(lh, name, &o, &lease);
		if (rc == 0)
			rc = lh_release(lh, &lease);
		if (rc && rc != -EAGAIN)
			return rc;
	}
	return 0;
}

/* One of the workers' keys, some weeds, or whatever is idle. */
static int
weed(struct round *r, struct lh *lh, struct op *op, struct log *log,
    uint64_t *dice_at)
{
	int64_t idle_ms = percent(dice_at, 80) ? 0 : between(dice_at, 1, 20);
	unsigned p = (unsigned)(dice(dice_at) % 1000);
	const char *prefix = round_keys[dice(dice_at) % N_KEYS];
	int64_t n;

	if (p < (r->weeds > 1000 ? 1 : 400))
		prefix = NULL;
	else if (p < 430)
		prefix = "weed/11";
	journal_call(log, op);
	n = lh_evict(lh, prefix, idle_ms);
	journal_ret(op, now_ns(), (int)n);
	return n < 0 ? (int)n : 0;
}

int
evictor_run(struct round *r, struct lh *lh, uint32_t slot, uint32_t life)
{
	struct log *log = &r->j->logs[slot];
	uint64_t dice_at = r->seed ^ (uint64_t)life << 20;
	int rc = 0;

	while (!rc && !atomic_load_explicit(&r->j->quit,
	    memory_order_relaxed)) {
		struct op *op = journal_next(r->j, log);

		if (!op)
			break;
		op->kind = OP_EVICT;
		op->life = life;
		rc = weed(r, lh, op, log, &dice_at);
		if (!rc && percent(&dice_at, 50))
			rc = sow(r, lh, &dice_at);
		sleep_until_ns(now_ns() + between(&dice_at, 100000, 2000000));
	}
	return rc;
}
