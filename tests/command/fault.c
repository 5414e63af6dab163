/* SPDX-License-Identifier: MIT */
/*
 * A renewal that fails without the lease being lost, for renewal.t: lh_extend()
 * does not do that on a healthy machine, and no signal or limit from outside
 * makes it.  Linked in front of the library's with -Wl,--wrap=lh_extend; fails
 * while the file that LH_TEST_FAULT names exists.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <leasehold.h>

int __real_lh_extend(struct lh *lh, struct lh_lease *lease, int64_t ttl_ms);
int __wrap_lh_extend(struct lh *lh, struct lh_lease *lease, int64_t ttl_ms);

int
__wrap_lh_extend(struct lh *lh, struct lh_lease *lease, int64_t ttl_ms)
{
	const char *file = getenv("LH_TEST_FAULT");

	if (file != NULL && access(file, F_OK) == 0)
		return -ENOMEM;
	return __real_lh_extend(lh, lease, ttl_ms);
}
