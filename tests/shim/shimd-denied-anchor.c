/* SPDX-License-Identifier: MIT */
/*
 * Permission is taken away from a host that has a key.  It has it on, until the
 * tokens under its revision are used up: who wants the key then is told, as
 * long as it is so, and the key stays here.
 */
#include <errno.h>
#include <string.h>
#include "support/asked.h"
#include "support/hosts.h"

#define TOKENS_MAX 1200000	/* there are fewer under one revision */

static const char key[] = "cluster:k";
static _Atomic bool denied;

/* A key is put if the session is there, and something else. */
static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	return denied && asked_to(KV_PUT) && asked->n_compares >= 2 ?
	    FAKE_DENIED : FAKE_NONE;
}

static void
do_begin(void *arg)
{
	fake_store_mishaps(hosts_store, deny, NULL, NULL);
	asked_watch(((struct host *)arg)->engine);
}

/* Until it is not granted any more. */
static int
use_up(struct host *h, uint64_t *token, int *n)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_lease l;
	int e = 0;

	for (*n = 0; e == 0 && *n < TOKENS_MAX; ++*n) {
		e = lh_acquire(h->lh, key, &o, &l);
		if (e != 0)
			break;
		*token = l.token;
		(void)lh_release(h->lh, &l);
	}
	return e;
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_acquire_opts try = t_opts(60000, 0);
	struct host *a = &hosts[0];
	uint64_t last = 0;
	struct lh_lease l;
	int n;

	hosts_begin(1);
	hosts_do(do_begin, a);
	is(lh_acquire(a->lh, key, &o, &l), 0, "A has the key");
	is(lh_release(a->lh, &l), 0, "and lets go of it");
	denied = true;
	is(use_up(a, &last, &n), -EACCES, "who waits is told, in the end");
	cmp(n, >, 1000000, "when all tokens were used");
	ok(strstr(lh_error_detail(), "permission denied") != NULL, "why: %s",
	    lh_error_detail());
	is(lh_acquire(a->lh, key, &try, &l), -EACCES, "who tries is told");
	is(host_right(a, key), RIGHT_EXCLUSIVE, "it stays here");
	denied = false;
	ok(t_until(T_HANG_MS, lh_acquire(a->lh, key, &o, &l) == 0),
	    "with permission it is to be had, soon");
	cmp(l.token, >, last, "with a larger token");
	is(lh_release(a->lh, &l), 0, "released");
	cmp(host_counts(a).reanchored, >, 0, "a new revision was drawn");
	is(host_counts(a).returned, 0, "the key stayed here");
	hosts_end();
	return done();
}
