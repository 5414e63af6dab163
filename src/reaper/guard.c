/* SPDX-License-Identifier: MIT */
/*
 * Detects that a table was truncated.
 *
 * Everybody who may write to a table may also truncate it.  The daemon serves
 * tables of several users, who may not trust each other, and none of them may
 * end it for all.  So it catches SIGBUS (prim/sigbus.c): the call continues
 * with zeros.  Each call that touches a table goes through guard_run(), which
 * reports that this happened.  The caller then closes the table.
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
