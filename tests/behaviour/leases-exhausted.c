/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G8 and G12: one session may hold as many leases as the table has;
 * when they are used up, an acquire returns -ENOSPC for everybody, without harm
 * to held leases, until some are released.  10,000 leases in one session must
 * work (fewer on slow runs). Records are given to sessions 64 at a time: a
 * session that has had all of them keeps them until it closes or dies.
 *
 * Otherwise a program with many leases would break the table for others.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static int
take_all(struct lh *lh, struct lh_lease *leases, int max, int *result)
{
	char name[32];
	int n;

	for (n = 0; n < max; n++) {
		snprintf(name, sizeof(name), "key-%d", n);
		*result = t_acquire(lh, name, 3600000, 0, &leases[n]);
		if (*result != 0)
			break;
	}
	return n;
}

int
main(void)
{
	int max = (t_count(10048, 1024) + 63) / 64 * 64, n, r = 0, good = 0;
	struct lh_lease *leases = calloc((size_t)max + 64, sizeof(*leases)), l;
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	struct t_actor *b;
	uint64_t last = 0;
	struct lh *lh, *twin;

	o.max_keys = (uint32_t)max + 128;
	o.max_leases = (uint32_t)max;
	is(lh_open(&lh, table, &o), 0, "a table of %d leases", max);
	b = t_actor(table);
	n = take_all(lh, leases, max + 64, &r);
	is(n, max, "one session holds all of them");
	is(r, -ENOSPC, "and the next is refused");
	ok(t_has_detail(), "with a reason");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.max_leases, max, "know the limit");
	is(st.leases_reserved, max, "and that all are reserved");
	is(t_do_acquire(b, "key-x", 1000, 0), -ENOSPC, "nothing for others");
	is(t_do_acquire(b, "key-1", 1000, 1000), -ENOSPC,
	    "not even to wait with");

	for (int i = 0; i < n; i++)
		good += lh_verify(lh, &leases[i]) == 0 &&
		    leases[i].id[1] != last && leases[i].token != 0;
	is(good, n, "all of them are held");
	is(lh_release(lh, &leases[n / 2]), 0, "one is released");
	is(t_acquire(lh, "key-y", 3600000, 0, &l), 0,
	    "one more lease can be acquired");
	is(t_acquire(lh, "key-z", 3600000, 0, &leases[n / 2]), -ENOSPC,
	    "and no more than one");
	is(lh_release(lh, &l), 0, "released");
	good = 0;
	for (int i = 0; i < n; i++)
		good += i == n / 2 || lh_release(lh, &leases[i]) == 0;
	is(good, n, "all are released");
	n = take_all(lh, leases, max + 64, &r);
	is(n, max, "and all can be taken again");

	is(lh_close(lh), 0, "closing frees them");
	lh = t_open(table);
	is(t_do_acquire(b, "key-1", 3600000, 0), 0, "others have room again");
	cmp(b->lease.token, >, leases[1].token, "with a larger token");
	is(t_do_release(b), 0, "released");
	n = take_all(lh, leases, max + 64, &r);
	cmp(n, >=, max - 64, "all but the other's share can be taken");
	is(r, -ENOSPC, "and no more");
	t_actor_end(b);
	twin = t_open(table);
	is(t_acquire(twin, "key-x", 1000, 0, &l), 0, "that share is free now");
	is(lh_close(twin), 0, "closed");
	free(leases);
	t_close(lh);
	return done();
}
