/* SPDX-License-Identifier: MIT */
/* test: slow 25 */
/*
 * A shim adopts a session and may write, but not read: D moves on, and what the
 * host has is never known.  Held leases stay; a new caller gets the reason and
 * does not wait for ever.
 *
 * Otherwise a host with a wrong role would hang without a word.
 */
#include <errno.h>
#include "support/hosts.h"

static const struct engine_ops *theirs;
static struct engine_ops ours;
static _Atomic bool refused;
static bool is_look;

static enum fake_mishap
refuse(unsigned host, uint64_t call, void *arg)
{
	return refused && is_look ? FAKE_DENIED : FAKE_NONE;
}

static int
txn(struct engine *e, const struct kv_txn *t, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	int error;

	/* a page of all queues: nothing else has a limit */
	is_look = t->n_then > 0 && t->then[0].limit > 0;
	error = theirs->txn(e, t, timeout_ms, fn, arg);
	is_look = false;
	return error;
}

/* Not a moment in between. */
static void
do_up(void *arg)
{
	struct host *h = arg;

	fake_store_mishaps(hosts_store, refuse, NULL, NULL);
	h->last_error = shim_open(&h->shim, &h->opts, h->why);
	if (h->last_error != 0)
		return;
	theirs = h->engine->ops;
	ours = *theirs;
	ours.txn = txn;
	h->engine->ops = &ours;
}

static int
acquire(struct host *h, const char *key, int64_t wait_ms, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(60000, wait_ms);

	return lh_acquire(h->lh, key, &o, l);
}

int
main(void)
{
	struct host *a = &hosts[0];
	struct lh_lease held, l;

	hosts_begin(1);
	is(acquire(a, "cluster:held", T_HANG_MS, &held), 0, "a key is held");
	host_down(a);
	refused = true;
	hosts_do(do_up, a);
	is(a->last_error, 0, "another shim, which may not look");
	is(acquire(a, "cluster:k", LH_WAIT_FOREVER, &l), -EHOSTUNREACH,
	    "a wait for another key is refused");
	ok(strstr(lh_error_detail(), "permission denied") != NULL, "why: %s",
	    lh_error_detail());
	is(acquire(a, "cluster:k", 0, &l), -EHOSTUNREACH, "a try as well");
	is(lh_verify(a->lh, &held), 0, "what is held is held still");
	is(lh_release(a->lh, &held), 0, "released");
	is(acquire(a, "cluster:held", T_HANG_MS, &held), 0,
	    "and can be acquired again, because this host has it");
	refused = false;
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "it is let look");
	is(acquire(a, "cluster:k", T_HANG_MS, &l), 0,
	    "the key can be acquired");
	is(lh_release(a->lh, &l), 0, "released");
	is(lh_release(a->lh, &held), 0, "both");
	hosts_end();
	return done();
}
