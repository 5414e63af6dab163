/* SPDX-License-Identifier: MIT */
/*
 * A try of a key that this host has for reading, and that nobody uses,
 * succeeds: the host's own claim does not block it.
 *
 * Otherwise a host could never write a key that it has read.
 */
#include "support/hosts.h"

#define TIMES 40

int
main(void)
{
	struct host *a = &hosts[0];
	struct lh_acquire_opts o = t_opts(60000, 0);
	unsigned busy = 0;

	hosts_begin(1);
	for (int i = 0; i < TIMES; i++) {
		char key[32];
		struct lh_lease l;
		int e;

		(void)snprintf(key, sizeof(key), "cluster:%d", i);
		o.mode = LH_SHARED;
		e = lh_acquire(a->lh, key, &o, &l);
		if (e == 0)
			e = lh_release(a->lh, &l);
		if (e != 0)
			bail_out("read: %s", lh_error_detail());
		o.mode = LH_EXCLUSIVE;
		e = lh_acquire(a->lh, key, &o, &l);
		if (e == 0)
			(void)lh_release(a->lh, &l);
		else if (busy++ == 0)
			diag("%s", lh_error_detail());
	}
	is(busy, 0, "nobody has it");
	hosts_end();
	return done();
}
