/* SPDX-License-Identifier: MIT */
/*
 * Counters on disk as one would make them at first.  Each claims the next
 * number in a directory that exists, and 0 says that it could not; each is
 * right as long as the power stays.  The replayer has to find all of them out.
 */
#ifndef TESTS_FENCE_WRONG_H
#define TESTS_FENCE_WRONG_H

#include <stdint.h>

struct wrong {
	const char *what;
	uint64_t (*claim)(const char *dir);
};

extern const struct wrong wrong_formats[];
extern const unsigned n_wrong_formats;

#endif
