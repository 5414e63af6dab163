/* SPDX-License-Identifier: MIT */
/*
 * The range of a prefix contains all keys that begin with it, and no others.
 *
 * Otherwise a host would miss claims of its cluster, or count those of others.
 */
#include "shim/store/engine.h"
#include "tap.h"

static void
check(const char *prefix, size_t len, const char *want, size_t want_len)
{
	struct kv_bytes p = { (const uint8_t *)prefix, len };
	uint8_t end[16];
	size_t n = kv_prefix_end(p, end);

	is(n, want_len, "the end of a prefix of %zu bytes", len);
	ok(memcmp(end, want, want_len) == 0, "it is the right one");
}

int
main(void)
{
	check("a", 1, "b", 1);
	check("lease/", 6, "lease0", 6);
	check("a\xff", 2, "b", 1);
	check("a\xfe\xff\xff", 4, "a\xff", 2);
	check("\xff\xff", 2, "", 0);
	check("", 0, "", 0);
	return done();
}
