/* SPDX-License-Identifier: MIT */
/* OpenSSL's headers, included first, do not rename a function of ours. */
#define lh_stats OPENSSL_LH_stats	/* as <openssl/lhash.h> does */
#include <errno.h>
#include <leasehold.h>
#include "tap.h"

int
main(void)
{
	struct lh_stats stats = { .size = sizeof(stats) };

	ok(lh_stats(NULL, &stats) == -EINVAL, "lh_stats() is the library's");
	return done();
}
