/* SPDX-License-Identifier: MIT */
/* A clock that the library reads, and that a test moves, in this process and
 * in the children that it forks later. */
#ifndef TESTS_MOVED_CLOCK_H
#define TESTS_MOVED_CLOCK_H

#include <stdint.h>

/* Before the first table is opened.  The age of what is made from now on is 0;
 * the wall clock is not moved. */
void t_clock_begin(void);

/* From now on what was made then is that old; time goes on from there. */
void t_clock_age(int64_t ns);

/* Back to the true time. */
void t_clock_back(void);

#endif
