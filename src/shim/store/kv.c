/* SPDX-License-Identifier: MIT */
/* What all engines and their users need: see engine.h. */
#include <string.h>
#include "engine.h"

/* A last byte of 0xff has no next one: the byte before it then has. */
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
