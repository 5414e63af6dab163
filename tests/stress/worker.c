/* SPDX-License-Identifier: MIT */
/*
 * A participant of the chaos run: acquires, holds, converts, extends, verifies,
 * overstays, abandons, nests, haunts, and writes down each call before and
 * after.
 *
 * The mix is meant to combine every way a lease can end with every way a wait
 * can end.  There are short ttls, which expire while their holder is stopped,
 * and long ones, which only death frees; most have the same ttl, for which
 * there is a fast path.  There are tries, timed waits, endless waits and
 * cancelled waits, by name and by opened key, with three priorities.  Sometimes
 * a second key is acquired while the first is held (only upwards, so that there
 * are no cycles).  Each key has readers and writers in another proportion, and
 * some convert.  Released leases are presented again later, when others use
 * their records; so are copies of a lease from before it was converted or
 * released.
 *
 * Cancelling needs a second thread.  It never cancels before the time that the
 * record says, so that the record needs no second writer.
 */
#include <errno.h>
#include <string.h>

#include "canceller.h"
#include "round.h"
#include "tap.h"

#define PACE_PER_SEC	3000	/* records a second and participant, at most */

#define KEY50 "the-same-key-all-over-again-and-again-and-again..."

/* Short, with a slash, and longer than fits beside a slot. */
const char *const round_keys[N_KEYS] = {
	"k", "orders/2026-11", "ledger", KEY50 KEY50 KEY50 KEY50
};

static const unsigned readers_percent[N_KEYS] = { 45, 20, 85, 60 };

struct hold {
	struct lh_lease lease;
	struct lh_lease first;	/* as it was acquired */
	struct op *op;
	uint32_t key;
	int64_t ttl_ms;
};

struct worker {
	struct round *r;
	struct lh *lh;
	struct log *log;
	struct lh_key *keys[N_KEYS];
	uint64_t dice;
	uint32_t life;
	uint32_t written;
	struct canceller canceller;
	struct hold old;	/* released: presented again now and then */
};

static bool
quitting(const struct worker *w)
{
	return atomic_load_explicit(&w->r->j->quit, memory_order_relaxed);
}

/* Also wakes up for the end of the round. */
static void
nap(struct worker *w, int64_t ns)
{
	int64_t until = now_ns() + ns;

	while (!quitting(w)) {
		int64_t left = until - now_ns();

		if (left <= 0)
			return;
		sleep_until_ns(now_ns() + (left < 20000000 ? left : 20000000));
	}
}

static struct op *
record(struct worker *w, enum op_kind kind, const struct hold *h)
{
	struct op *op = journal_next(w->r->j, w->log);

	if (!op)
		return NULL;
	w->written++;
	op->kind = (uint8_t)kind;
	op->life = w->life;
	op->key = (uint16_t)h->key;
	op->limit_ns = NEVER;
	if (h->op) {
		op->of = journal_index(w->r->j, h->op);
		op->token = h->lease.token;
		op->priority = h->op->priority;
		op->mode = (uint8_t)h->lease.mode;
	}
	return op;
}

/* Chooses the options of the next acquire, before its record is written. */
static void
choose(struct worker *w, struct lh_acquire_opts *o, enum op_how *how)
{
	unsigned p;

	p = (unsigned)(dice(&w->dice) % 100);
	o->ttl_ms = p < 40 ? between(&w->dice, 1, 40) : p < 50 ? 100 :
	    p < 60 ? 10000 : 30000;
	p = (unsigned)(dice(&w->dice) % 100);
	o->priority = p < 80 ? 0 : p < 95 ? 1 : 7;
	p = (unsigned)(dice(&w->dice) % 100);
	*how = p < 25 ? HOW_TRY : p < 50 ? HOW_TIMED : p < 80 ? HOW_FOREVER :
	    HOW_CANCEL;
	o->max_wait_ms = *how == HOW_TRY ? 0 : *how == HOW_TIMED ?
	    between(&w->dice, 1, 40) : LH_WAIT_FOREVER;
}

static bool
acquire(struct worker *w, struct hold *h, enum op_how only)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease_info info = LH_LEASE_INFO_INIT;
	struct lh_cancel sw = LH_CANCEL_INIT;
	bool by_name = percent(&w->dice, 50);
	struct op *op;
	enum op_how how;
	int64_t at;
	int rc;

	choose(w, &o, &how);
	if (!w->r->exclusive && percent(&w->dice, readers_percent[h->key]))
		o.mode = LH_SHARED;
	if (only == HOW_TRY && how >= HOW_FOREVER) {
		how = HOW_TRY;
		o.max_wait_ms = 0;
	}
	h->op = NULL;
	h->ttl_ms = o.ttl_ms;
	op = record(w, OP_ACQUIRE, h);
	if (!op)
		return false;
	op->how = (uint8_t)how;
	op->ttl_ms = (uint32_t)o.ttl_ms;
	op->priority = o.priority;
	op->mode = (uint8_t)o.mode;
	if (how == HOW_CANCEL) {
		o.cancel = &sw;
		op->limit_ns = now_ns() +
		    between(&w->dice, 0, 20000000);
		canceller_arm(&w->canceller, &sw, op->limit_ns);
	} else if (how == HOW_TIMED) {
		/* The wait begins after this, so this errs to the early side:
		 * the library's own clock reading comes later. */
		op->limit_ns = now_ns() + o.max_wait_ms * 1000000;
	}
	journal_call(w->log, op);
	if (by_name)
		rc = lh_acquire(w->lh, round_keys[h->key], &o, &h->lease);
	else
		rc = lh_key_acquire(w->keys[h->key], &o, &h->lease);
	at = now_ns();
	if (rc == 0) {
		op->token = h->lease.token;
		op->acquired_ns = lh_lease_info(w->lh, &h->lease, &info) == 0 ?
		    info.acquired_ns : op->call_ns; /* it is over */
		op->deadline_ns = h->lease.expires_ns;
		op->notes = h->lease.notes;
		h->first = h->lease;
	}
	journal_ret(op, at, rc);
	if (how == HOW_CANCEL)
		canceller_arm(&w->canceller, NULL, 0);
	h->op = op;
	return rc == 0;
}

static void
extend(struct worker *w, struct hold *h)
{
	int64_t ttl = percent(&w->dice, 50) ? h->ttl_ms : h->ttl_ms <= 100 ?
	    between(&w->dice, 1, 100) : between(&w->dice, 50, 30000);
	struct op *op = record(w, OP_EXTEND, h);
	int64_t at;
	int rc;

	if (!op)
		return;
	op->ttl_ms = (uint32_t)ttl;
	journal_call(w->log, op);
	rc = lh_extend(w->lh, &h->lease, ttl);
	at = now_ns();
	op->deadline_ns = h->lease.expires_ns;
	if (rc == 0)
		h->ttl_ms = ttl;
	journal_ret(op, at, rc);
}

static void
convert(struct worker *w, struct hold *h)
{
	struct op *op = record(w, OP_CONVERT, h);
	int64_t at;
	int rc;

	if (!op)
		return;
	op->mode = h->lease.mode == LH_SHARED ? LH_EXCLUSIVE : LH_SHARED;
	journal_call(w->log, op);
	rc = lh_convert(w->lh, &h->lease, op->mode);
	at = now_ns();
	if (rc == 0) {
		op->token = h->lease.token;
		op->deadline_ns = h->lease.expires_ns;
	}
	journal_ret(op, at, rc);
}

/* An old copy names nothing any more, whatever is asked of it. */
static void
present_old(struct worker *w, const struct hold *h)
{
	static const enum op_kind asks[] = { OP_RELEASE, OP_EXTEND, OP_VERIFY,
	    OP_CONVERT };
	struct lh_lease copy = h->first;
	struct op *op = record(w, OP_OLD, h);
	int rc;

	if (!op)
		return;
	op->how = (uint8_t)asks[dice(&w->dice) % 4];
	op->token = copy.token;
	op->mode = (uint8_t)copy.mode;
	journal_call(w->log, op);
	switch (op->how) {
	case OP_RELEASE:
		rc = lh_release(w->lh, &copy);
		break;
	case OP_EXTEND:
		rc = lh_extend(w->lh, &copy, 30000);
		break;
	case OP_VERIFY:
		rc = lh_verify(w->lh, &copy);
		break;
	default:
		rc = lh_convert(w->lh, &copy, percent(&w->dice, 50) ?
		    LH_SHARED : LH_EXCLUSIVE);
	}
	journal_ret(op, now_ns(), rc);
}

static void
verify(struct worker *w, struct hold *h)
{
	struct op *op = record(w, OP_VERIFY, h);
	bool by_token = percent(&w->dice, 40);
	int rc;

	if (!op)
		return;
	if (by_token)
		op->how = HOW_TOKEN;
	journal_call(w->log, op);
	if (by_token)
		rc = lh_verify_token(w->lh, round_keys[h->key],
		    h->lease.token);
	else
		rc = lh_verify(w->lh, &h->lease);
	journal_ret(op, now_ns(), rc);
}

static int
release(struct worker *w, struct hold *h, enum op_kind kind)
{
	struct op *op = record(w, kind, h);
	int rc;

	if (!op)
		return -ENOSPC;
	journal_call(w->log, op);
	rc = lh_release(w->lh, &h->lease);
	journal_ret(op, now_ns(), rc);
	return rc;
}

/* Presents a lease that was released earlier; another lease may use its record
 * by now.  It must have no effect. */
static void
haunt(struct worker *w)
{
	if (!w->old.op)
		return;
	switch (dice(&w->dice) % (w->r->exclusive ? 5 : 6)) {
	case 0: case 1: extend(w, &w->old); break;
	case 2: verify(w, &w->old); break;
	case 3: release(w, &w->old, OP_AGAIN); break;
	case 4: present_old(w, &w->old); break;
	default: convert(w, &w->old);
	}
}

/* Down, or up if nobody else reads; and maybe back again. */
static void
change(struct worker *w, struct hold *h)
{
	unsigned times = percent(&w->dice, 40) ? 2 : 1;

	while (times--) {
		convert(w, h);
		if (percent(&w->dice, 50))
			nap(w, between(&w->dice, 1000, 300000));
		if (h->lease.token != h->first.token &&
		    percent(&w->dice, 30))
			present_old(w, h);
	}
}

static void hold_key(struct worker *w, struct hold *h, bool nested);

/* One key: ask, and if it is ours use it. */
static void
turn(struct worker *w, uint32_t from, bool nested)
{
	struct hold h;
	unsigned p = (unsigned)(dice(&w->dice) % 100);

	memset(&h, 0, sizeof(h));
	h.key = p < 45 ? 0 : p < 75 ? 1 : p < 90 ? 2 : 3;
	if (h.key < from)
		h.key = from;
	if (acquire(w, &h, nested ? HOW_TRY : HOW_FOREVER))
		hold_key(w, &h, nested);
}

static void
hold_key(struct worker *w, struct hold *h, bool nested)
{
	bool is_short = h->ttl_ms <= 40;
	unsigned p = (unsigned)(dice(&w->dice) % 100);
	int64_t us = p < 35 ? 0 : p < 85 ? between(&w->dice, 1, 300) :
	    between(&w->dice, 300, 4000);
	bool overstay = is_short && percent(&w->dice, 4);

	if (percent(&w->dice, 25))
		verify(w, h);
	if (!nested && h->key + 1 < N_KEYS && percent(&w->dice, 8))
		turn(w, h->key + 1, true);
	if (us)
		nap(w, us * 1000);
	if (percent(&w->dice, 10))
		haunt(w);
	if (percent(&w->dice, 30))
		extend(w, h);
	if (!w->r->exclusive && percent(&w->dice, 15))
		change(w, h);
	if (overstay) {
		/* to the deadline, or past it: races with who frees it */
		nap(w, h->lease.expires_ns - now_ns() +
		    (percent(&w->dice, 50) ?
		    between(&w->dice, -200000, 100000) :
		    between(&w->dice, -1000000, 5000000)));
		if (percent(&w->dice, 50))
			verify(w, h);
		if (percent(&w->dice, 50))
			extend(w, h);
	}
	if (h->ttl_ms <= 40 && percent(&w->dice, 2))
		return;		/* abandoned: its deadline frees it */
	/* as good as what an extension made of it */
	if (h->lease.token == h->first.token && percent(&w->dice, 10))
		h->lease = h->first;
	if (release(w, h, OP_RELEASE))
		return;
	if (percent(&w->dice, 10))
		release(w, h, OP_AGAIN);
	w->old = *h;
}

int
worker_run(struct round *r, struct lh *lh, uint32_t slot, uint32_t life)
{
	struct worker w = { .r = r, .lh = lh, .log = &r->j->logs[slot],
	    .life = life, .dice = r->seed ^ (uint64_t)life << 20 };
	int64_t began = now_ns();
	int rc = canceller_start(&w.canceller);
	uint32_t k;

	if (rc)
		return rc;
	for (k = 0; k < N_KEYS && !rc; k++)
		rc = lh_key_open(lh, round_keys[k], 0, &w.keys[k]);
	while (!rc && !quitting(&w) && journal_next(r->j, w.log)) {
		turn(&w, 0, false);
		if (percent(&w.dice, 60))
			nap(&w, between(&w.dice, 10000, 700000));
		while (w.written > PACE_PER_SEC / 10 + (now_ns() - began) /
		    (1000000000 / PACE_PER_SEC) && !quitting(&w))
			nap(&w, 1000000);
	}
	for (k = 0; k < N_KEYS; k++)
		if (w.keys[k] && lh_key_close(w.keys[k]) && !rc)
			rc = -EINVAL;
	canceller_stop(&w.canceller);
	return rc;
}

int
participate(struct round *r, struct lh *lh, uint32_t slot, uint32_t life)
{
	bool own = !lh;
	struct op *op;
	int rc = own ? lh_open(&lh, r->table, &r->open) : 0;

	if (rc) {
		diag_failed("lh_open: %s: %s", lh_strerror(rc),
		    lh_error_detail());
		return rc;
	}
	atomic_store(&r->session[life], lh_session_id(lh));
	rc = slot == r->evictor ? evictor_run(r, lh, slot, life) :
	    slot == r->reaper ? reaper_run(r) :
	    worker_run(r, lh, slot, life);
	if (rc)
		diag_failed("life %u: %s: %s", life, lh_strerror(rc),
		    lh_error_detail());
	if (!own)
		return rc;
	op = journal_next(r->j, &r->j->logs[slot]);
	if (op) {
		op->kind = OP_CLOSE;
		op->life = life;
		journal_call(&r->j->logs[slot], op);
	}
	rc = lh_close(lh);
	if (op)
		journal_ret(op, now_ns(), rc);
	if (rc)
		diag_failed("lh_close: %s: %s", lh_strerror(rc),
		    lh_error_detail());
	return rc;
}
