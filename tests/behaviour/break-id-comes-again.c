/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G11: an operator that names a lease by id and token breaks
 * that lease or none.  Ids come again after millions of uses, and sooner where
 * leases are converted; tokens never do.
 *
 * Otherwise an operator with an old id would break the lease of a holder that
 * has nothing to do with it.
 */
#include <errno.h>
#include <string.h>
#include "support/support.h"
#include "tap.h"

#define USES_MAX (UINT64_C(1) << 23)	/* of one claim */
#define CONVERSIONS 3			/* most of the way round */

static struct lh *lh;
static struct lh_key *k;

static struct lh_lease
acquire(void)
{
	struct lh_lease l;

	if (lh_key_acquire(k, NULL, &l) != 0)
		bail_out("not acquired: %s", lh_error_detail());
	return l;
}

static void
release(const struct lh_lease *l)
{
	struct lh_lease mine = *l;

	if (lh_release(lh, &mine) != 0)
		bail_out("not released: %s", lh_error_detail());
}

/* A use, and another for each change of mode. */
static void
convert(int times)
{
	struct lh_lease l = acquire();

	for (int i = 0; i < times; i++)
		is(lh_convert(lh, &l, i % 2 == 0 ? LH_SHARED : LH_EXCLUSIVE), 0,
		    "converted");
	release(&l);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *operator;
	struct lh_lease noted, l;
	uint64_t uses = 0;

	lh = t_open(table);
	operator = t_open(table);
	is(lh_key_open(lh, "k", 0, &k), 0, "a key");
	convert(1);
	noted = acquire();
	release(&noted);
	is(lh_break(operator, "k", noted.id, noted.token), -ESTALE,
	    "a lease that is over cannot be broken");
	convert(CONVERSIONS);
	while ((l = acquire()).id[1] != noted.id[1] && uses++ < USES_MAX)
		release(&l);
	ok(memcmp(l.id, noted.id, sizeof(l.id)) == 0, "its id comes again");
	cmp(l.token, >, noted.token, "with a larger token");
	is(lh_break(operator, "k", noted.id, noted.token), -ESTALE,
	    "the one that was meant is over");
	is(lh_verify(lh, &l), 0, "the other is not concerned");
	is(lh_break(operator, "k", l.id, l.token), 1, "unless it is meant");
	is(lh_release(lh, &l), -ESTALE, "then it is lost");
	is(lh_key_close(k), 0, "close");
	is(lh_close(operator), 0, "close");
	t_close(lh);
	return done();
}
