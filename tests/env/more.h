/* SPDX-License-Identifier: MIT */
/* Environments of another kind: see more.c. */
#ifndef TESTS_ENV_MORE_H
#define TESTS_ENV_MORE_H

#include <stdbool.h>

/* This process freezes in a control group of its own, until it is killed; or
 * (only_probe) could. */
int more_freeze(bool only_probe);

/* A second copy of the library has a table open; or had, and is unloaded. */
int more_two_copies(void);
int more_unloaded_copy(void);

#endif
