/* SPDX-License-Identifier: MIT */
/* Helpers for every engine and its users (engine.h). */
#include <string.h>
#include "engine.h"

/* Returns the prefix with its last byte incremented.  Trailing 0xff bytes
 * cannot be incremented and are dropped first. */
size_t
kv_prefix_end(struct kv_bytes prefix, uint8_t *end)
{
	size_t n = prefix.len;

	while (n > 0 && prefix.p[n - 1] == 0xff)
		n--;
	if (n == 0)
		return 0;
	memcpy(end, prefix.p, n);
	end[n - 1]++;
	return n;
}
