/* SPDX-License-Identifier: MIT */
/* Hashes of keys, and checksums. */
#ifndef LHI_HASH_H
#define LHI_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Returns XXH3-64 of the bytes. */
uint64_t lhi_hash(const void *data, size_t len);

#endif
