/* SPDX-License-Identifier: MIT */
/* Operations in environments: see run. */
#ifndef TESTS_ENV_OPS_H
#define TESTS_ENV_OPS_H

#include <leasehold.h>

/* Enters an environment (enter.c).  0: it is entered; 1: there is none of that
 * name; -errno: it cannot be entered. */
int enter(const char *environment);

/* Usual options, with that wait; a key that is this process's own. */
struct lh_acquire_opts ops_opts(int64_t wait_ms);
const char *ops_name(const char *what);

int forks_run(struct lh *lh);

/* A class of operations: 0, or what the first of them that fails returns. */
struct class {
	const char *name;
	int (*run)(struct lh *lh);
};

extern const struct class classes[];
extern const int n_classes;

#endif
