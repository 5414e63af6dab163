/* SPDX-License-Identifier: MIT */
/* For an application with a handler of its own. See table.h. */
#include <leasehold.h>
#include "prim/sigbus.h"

int
lh_sigbus(int sig, const void *info, void *context)
{
	(void)context;
	return lhi_sigbus_handle(sig, info);
}
