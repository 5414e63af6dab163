/* SPDX-License-Identifier: MIT */
/* Hashes of keys, and checksums: XXH3, 64 bits, from the header-only xxhash. */
#ifndef LHI_HASH_H
#define LHI_HASH_H

#include <stddef.h>
#include <stdint.h>
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

static inline uint64_t
lhi_hash(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

#endif
