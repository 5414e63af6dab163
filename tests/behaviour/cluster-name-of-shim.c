/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1: a process's name does not make it the table's shim.  A try for
 * a cluster key that is held by a process with the shim's name is busy at once,
 * and nobody is asked for the key, because this host has the right to it.
 *
 * Otherwise any process could call itself the shim and change the rights of
 * cluster keys.
 */
#include <errno.h>
#include <string.h>
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

int
main(void)
{
	const char *table = t_table();
	struct lh_open_opts o = t_open_opts();
	struct lh_acquire_opts a = t_opts(60000, T_HANG_MS);
	struct t_shim *s = t_shim(table);
	struct lh *lh, *other;
	struct lh_lease l, m;
	uint32_t asked;

	o.application = "leasehold-shimd";
	is(lh_open(&lh, table, &o), 0, "a process by the shim's name");
	is(lh_open(&other, table, NULL), 0, "and another");
	is(lh_acquire(lh, "cluster:a", &a, &l), 0, "the former has the key");
	asked = s->wants.count + s->tries.count;
	is(t_acquire(other, "cluster:a", 60000, 0, &m), -EAGAIN, "busy");
	is(s->wants.count + s->tries.count, asked, "the shim was not asked");
	ok(strstr(lh_error_detail(), "leasehold-shimd") != NULL,
	    "and the error names its holder");
	is(lh_release(lh, &l), 0, "released");
	t_close(other);
	t_close(lh);
	t_shim_kill(s);
	return done();
}
