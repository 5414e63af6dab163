/* SPDX-License-Identifier: MIT */
/*
 * XXH3, from the header-only xxhash.  Only this file includes it: a copy in
 * each file that hashes took longer to compile than the rest of that file.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/hash.h"

uint64_t
lhi_hash(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}
