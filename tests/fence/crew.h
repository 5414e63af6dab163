/* SPDX-License-Identifier: MIT */
/*
 * Processes that stop or die at random points of claiming and raising, and a
 * parent that continues the stopped and replaces the dead.
 */
#ifndef TESTS_FENCE_CREW_H
#define TESTS_FENCE_CREW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct crew {
	_Atomic bool enough;	/* members look at it, and end with 0 */
	_Atomic unsigned stops, kills;
};

/*
 * Let `procs` processes run member(arg) until they return or ms have passed.
 * All but the first stop or kill themselves, once in a while, at points of the
 * library whose names begin with "range." or "fence.".  False: one ended badly.
 */
bool crew_run(struct crew *c, int procs, int64_t ms, int (*member)(void *arg),
    void *arg, void (*meanwhile)(void *arg));

/* The number of this member. */
extern int crew_me;

/* Once in n. */
bool crew_chance(unsigned n);

#endif
