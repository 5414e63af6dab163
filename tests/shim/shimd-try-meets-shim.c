/* SPDX-License-Identifier: MIT */
/*
 * A try comes while the shim has the key to itself for a moment, because it
 * draws a newer base and the cluster is slow.  If nobody else holds the key,
 * the try succeeds; if somebody does, it is busy at once.
 *
 * Otherwise a free key would look busy at random.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"

#define TIMES 10

static const char *const key[2] = { "cluster:k", "cluster:l" };
static _Atomic bool slow;

static enum fake_mishap
delay(unsigned host, uint64_t call, void *arg)
{
	return slow && asked_to(KV_PUT) && asked->n_compares > 1 ? FAKE_SLOW :
	    FAKE_NONE;
}

static void
do_begin(void *arg)
{
	fake_store_mishaps(hosts_store, delay, NULL, NULL);
	asked_watch(((struct host *)arg)->engine);
}

static int
try_one(struct host *h, enum lh_mode mode)
{
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_lease l;
	int e;

	o.mode = mode;
	e = lh_acquire(h->lh, key[0], &o, &l);
	if (e == 0)
		e = lh_release(h->lh, &l);
	return e;
}

static int
try_both(struct host *h, enum lh_mode mode)
{
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_item item[2] = { { .key = key[0], .mode = mode },
	    { .key = key[1], .mode = mode } };
	struct lh_lease l[2];
	int e = lh_acquire_many(h->lh, item, 2, &o, l);

	return e == 0 ? lh_release_many(h->lh, l, 2) : e;
}

/* Tries meanwhile: how many failed. */
static unsigned
tries(struct host *h, const char *what, int (*try)(struct host *,
    enum lh_mode))
{
	unsigned failed = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t before = host_counts(h).reanchored;
		int fd = dial(h), e;

		slow = true;
		if (ask(fd, key[0], RIGHT_EXCLUSIVE, FRAME_REANCHOR) !=
		    FRAME_QUEUED)
			bail_out("it is not asked for");
		e = try(h, i % 2 == 0 ? LH_EXCLUSIVE : LH_SHARED);
		slow = false;
		if (e != 0 && failed++ == 0)
			diag("%s: %d, %s", what, e, lh_error_detail());
		ok(t_until(T_HANG_MS, host_counts(h).reanchored > before),
		    "a newer base was drawn");
		(void)close(fd);
	}
	return failed;
}

int
main(void)
{
	struct host *a = &hosts[0];
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_lease l;
	int64_t began_ns;

	hosts_begin(1);
	hosts_do(do_begin, a);
	for (int i = 0; i < 2; i++) {
		is(lh_acquire(a->lh, key[i], &o, &l), 0, "a key comes here");
		is(lh_release(a->lh, &l), 0, "and stays");
	}
	is(tries(a, "one", try_one), 0, "no try of it alone fails");
	is(tries(a, "two", try_both), 0, "none of it with another");
	is(lh_acquire(a->lh, key[0], &o, &l), 0, "a process has it");
	began_ns = t_now_ns();
	is(try_one(a, LH_EXCLUSIVE), -EAGAIN, "now a try is busy");
	ok(strstr(lh_error_detail(), key[0]) != NULL, "and says of which key");
	is(try_both(a, LH_EXCLUSIVE), -EAGAIN, "both ways");
	ok(strstr(lh_error_detail(), key[0]) != NULL, "and says of which key");
	cmp(t_since_ms(began_ns), <, 1000, "at once");
	is(lh_release(a->lh, &l), 0, "released");
	hosts_end();
	return done();
}
