/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G10: the outcome of a request is remembered for 60 s, and of 1,024
 * of an attachment; then its id is a new request's.  A request whose lease is
 * held is never forgotten; when only such are left, there is no room.  The test
 * does not wait a minute, but makes the record older.
 *
 * Otherwise the index would fill, or a held request would be granted twice.
 */
#include <errno.h>
#include <string.h>
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#define REMEMBERED 1024
#define SECOND (1000000000 >> TICK_SHIFT)	/* in the table's units */

static struct lh *lh;
static struct t_object o;

static int
ask(const char *key, uint64_t id, struct lh_lease *l)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts opts = t_opts(T_HANG_MS * 10, 0);

	opts.more = &more;
	more.request[1] = id;
	return lh_acquire(lh, key, &opts, l);
}

/* All that has ended did so that much earlier. */
static void
age(uint64_t ticks)
{
	for (uint32_t i = 0; i < o.geo.n_requests; i++) {
		uint64_t s = sh64_load(&o.requests[i].state);

		if (req_st(s) >= REQ_GRANTED)
			sh64_store(&o.requests[i].state, req_make(req_st(s),
			    req_seq(s), req_who(s), req_time(s) - ticks));
	}
}

static void
by_time(void)
{
	struct lh_lease held = t_hold(lh, "k"), kept, l;
	const uint64_t id[2] = { 0, 2 };

	is(ask("kept", 1, &kept), 0, "one is granted");
	is(ask("k", 2, &l), -EAGAIN, "one fails");
	is(lh_release(lh, &held), 0, "the key is free");
	is(ask("k", 3, &l), 0, "one is granted");
	is(lh_release(lh, &l), 0, "and released");
	age(55 * SECOND);
	is(ask("k", 2, &l), -EAGAIN, "55 s later: it has failed");
	is(ask("k", 3, &l), -ESTALE, "it was released");
	age(6 * SECOND);
	is(lh_release_request(lh, NULL, id), -ENOENT, "after 61 s: unknown");
	is(ask("k", 2, &l), 0, "a new request by the id of the failed one");
	is(lh_release_request(lh, NULL, id), 0, "released");
	is(ask("k", 3, &l), 0, "and by that of the released one");
	is(lh_release(lh, &l), 0, "released");
	is(ask("kept", 1, &l), 0, "the lease that is held");
	is(l.token, kept.token, "is not forgotten");
	is(lh_release(lh, &kept), 0, "released");
}

static void
by_number(void)
{
	struct lh_lease held = t_hold(lh, "k"), l;
	int failed = 0;

	for (int i = 0; i <= REMEMBERED; i++)
		failed += ask("k", 100000 + (uint64_t)i, &l) == -EAGAIN;
	is(failed, REMEMBERED + 1, "%d requests fail", REMEMBERED + 1);
	is(lh_release(lh, &held), 0, "the key is free");
	failed = 0;
	for (int i = 1; i <= REMEMBERED; i++)
		failed += ask("k", 100000 + (uint64_t)i, &l) == -EAGAIN;
	is(failed, REMEMBERED, "the last %d are remembered", REMEMBERED);
	is(ask("k", 100000, &l), 0, "the first is not");
	is(lh_release(lh, &l), 0, "released");
	for (uint32_t i = 0; i < o.geo.n_requests; i++) {
		uint64_t s = sh64_load(&o.requests[i].state);

		failed += req_st(s) != REQ_FREE;
	}
	/* and of those before, which were made older under its eyes */
	cmp(failed - REMEMBERED, <=, REMEMBERED + 8, "no more places are used");
}

/* Requests that hold leases, until there is no place for one. */
static void
no_room(void)
{
	static struct lh_lease l[16384];
	int n = 0, error, again = 0;
	struct lh_lease one;
	char key[24];

	for (;; n++) {
		snprintf(key, sizeof(key), "key-%d", n % 900);
		one = (struct lh_lease){ .notes = 0 };
		{
			struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
			struct lh_acquire_opts opts = t_opts(3600000, 0);

			opts.mode = LH_SHARED;
			opts.more = &more;
			more.request[0] = 9;
			more.request[1] = (uint64_t)n;
			error = lh_acquire(lh, key, &opts, &l[n]);
		}
		if (error != 0 || n == 16000)
			break;
	}
	is(error, -ENOSPC, "after %d there is no place", n);
	ok(t_has_detail(), "with a reason");
	cmp(n, >=, (int)o.geo.n_requests * 7 / 10, "most places were used");
	for (int i = 0; i < n; i++)
		again += lh_release(lh, &l[i]) == 0;
	is(again, n, "all are released");
	is(ask("k", 4711, &one), 0, "then there is room");
	is(lh_release(lh, &one), 0, "released");
}

int
main(void)
{
	const char *table = t_table();

	lh = t_open(table);
	o = t_map_object(table);
	by_time();
	by_number();
	no_room();
	t_unmap_object(&o);
	t_close(lh);
	return done();
}
