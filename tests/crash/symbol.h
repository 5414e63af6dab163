/* SPDX-License-Identifier: MIT */
/* Addresses in words: see symbol.c. */
#ifndef CRASH_SYMBOL_H
#define CRASH_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

struct span {
	uint64_t from, to;
};

/* "function+0x12", "libc.so.6:memcpy+0x3", or the bare number. */
void symbol_name(uint64_t address, char *buf, size_t size);

/* Where the program's functions are whose names begin so: at most n.  Returns
 * how many there are. */
size_t symbol_find(const char *begin, struct span *span, size_t n);

#endif
