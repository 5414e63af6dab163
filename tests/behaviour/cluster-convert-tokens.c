/* SPDX-License-Identifier: MIT */
/* test: release: two million calls: three times as long under ASan */
/*
 * Guarantee G2: a lease of a cluster key that is converted or handed over again
 * and again draws a token each time, and never one of those that belong to the
 * next revision, and so to other hosts.
 *
 * Otherwise two hosts could give the same token.
 */
#include <errno.h>
#include "base/bits.h"
#include "support/part.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

#define KEY "cluster:k"

static void
to_the_end(struct lh *lh, const char *what, int (*next)(struct lh *lh,
    struct lh_lease *l, int i))
{
	uint64_t span = UINT64_C(1) << CLUSTER_SEQ_BITS, base;
	struct lh_acquire_opts o = t_opts(3600000, 5000);
	struct lh_lease l;
	int e = 0, n = 0;

	is(lh_acquire(lh, KEY, &o, &l), 0, "%s: acquired", what);
	base = cluster_base(cluster_revision(l.token));
	while (e == 0 && (uint64_t)n < span + 100)
		e = next(lh, &l, n++);
	is(e, -EAGAIN, "%s: it ends (after %d): %s", what, n,
	    lh_error_detail());
	cmp(l.token, <, base + span, "within the tokens of its base");
	is(lh_verify(lh, &l), 0, "the lease is as it was");
	is(lh_release(lh, &l), 0, "released");
	is(lh_acquire(lh, KEY, &o, &l), 0, "acquired anew");
	cmp(cluster_revision(l.token), >, cluster_revision(base),
	    "under a new revision");
	is(lh_release(lh, &l), 0, "released");
}

static int
convert(struct lh *lh, struct lh_lease *l, int i)
{
	return lh_convert(lh, l, i % 2 == 0 ? LH_SHARED : LH_EXCLUSIVE);
}

static int
hand(struct lh *lh, struct lh_lease *l, int i)
{
	return lh_handoff(lh, l, NULL);
}

static void
play(void)
{
	const char *table = t_table();
	struct t_shim *s = t_shim(table);
	struct lh *lh = t_open(table);

	to_the_end(lh, "converted", convert);
	to_the_end(lh, "handed over", hand);
	t_shim_kill(s);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 600, "cluster convert tokens");
	return done();
}
