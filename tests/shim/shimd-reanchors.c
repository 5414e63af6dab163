/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: a key that stays here is granted more often than one revision
 * has tokens.  A new revision is drawn meanwhile, nobody is refused, and tokens
 * rise.
 *
 * Otherwise a busy key would stop after a million grants.
 */
#include <unistd.h>
#include "support/hosts.h"

static const char key[] = "cluster:hot";

int
main(void)
{
	struct host *a = &hosts[0];
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	uint64_t before = 0, first = 0;
	int n = t_count(1300000, 1100000), failures = 0, back = 0;
	struct lh_lease l;
	int64_t begun_ns;

	hosts_begin(1);
	begun_ns = t_now_ns();
	for (int i = 0; i < n; i++) {
		if (lh_acquire(a->lh, key, &o, &l) != 0) {
			failures++;
			continue;
		}
		if (first == 0)
			first = l.token;
		back += l.token <= before;
		before = l.token;
		(void)lh_release(a->lh, &l);
	}
	diag("%d grants in %d ms", n, (int)t_since_ms(begun_ns));
	is(failures, 0, "nobody was refused");
	is(back, 0, "tokens rose");
	cmp(cluster_revision(before), >, cluster_revision(first),
	    "under more than one revision");
	cmp(host_counts(a).reanchored, >, 0, "which was drawn meanwhile");
	is(host_counts(a).returned, 0, "the key stayed here");
	hosts_end();
	return done();
}
