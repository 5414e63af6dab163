/* SPDX-License-Identifier: MIT */
/*
 * Noticing a table that is truncated.
 *
 * Whoever may write to a table may also truncate it.  This daemon serves the
 * tables of several users, perhaps of some who do not trust each other, and one
 * of them must not end it for all.  It catches SIGBUS (prim/sigbus.c), so that
 * the call goes on, with zeros; and it calls what touches tables through here,
 * to learn of that.  The caller then closes the table.
 */
#include "guard.h"
#include "prim/sigbus.h"

void
guard_begin(void)
{
	(void)lhi_sigbus_catch();
}

bool
guard_run(void (*fn)(void *arg), void *arg)
{
	uint32_t before = lhi_sigbus_count();

	fn(arg);
	return lhi_sigbus_count() == before;
}
