/* SPDX-License-Identifier: MIT */
/*
 * The command and the daemons have no handler for SIGBUS of their own, so they
 * use the library's (prim/sigbus.c), also for tables that they read without
 * lh_open().
 */
#include "catch_sigbus.h"
#include "prim/sigbus.h"

void
catch_sigbus(void)
{
	(void)lhi_sigbus_catch();
}
