/* SPDX-License-Identifier: MIT */
/*
 * The state of steps: the table's object once it has a name, or the toy.  For
 * two deaths without the events of the flight recorder, on which no decision
 * depends.
 */
#ifndef CRASH_STATE_HASH_H
#define CRASH_STATE_HASH_H

#include <stddef.h>
#include "crash/trial.h"
#include "shm/layout.h"

struct state_hash {
	const void *mem;
	size_t len;
	bool mapped;
	bool unrecorded;		/* the flight recorder does not count */
	struct lhi_geometry geo;	/* object_len 0: all of it counts */
};

/* Is it there now? */
void state_hash_find(struct trial *p, struct state_hash *s);

/* Equal as long as nothing has changed; 0: it is not there yet. */
uint64_t state_hash_now(const struct state_hash *s);

void state_hash_end(struct state_hash *s);

#endif
