/* SPDX-License-Identifier: MIT */
/*
 * The command and the daemons have no SIGBUS handler of their own.  So they
 * install the library's (prim/sigbus.c), which also covers tables that they
 * read without lh_open().
 */
#include "catch_sigbus.h"
#include "prim/sigbus.h"

void
catch_sigbus(void)
{
	(void)lhi_sigbus_catch();
}
