/* SPDX-License-Identifier: MIT */
/* A recording in progress: see trace.c. */
#ifndef CRASH_RECORDING_H
#define CRASH_RECORDING_H

#include "crash/state_hash.h"
#include "crash/trace.h"

struct recording {
	struct trial *p;
	pid_t pid;
	struct trace *t;
	struct state_hash sight;
	uint64_t top, last;	/* of the stack; the hash */
	uint32_t why;		/* the next point is worth a try */
};

/* Appends the point that it is at, and says whether the memory has changed. */
struct point *recording_note(struct recording *r, uint64_t rip, uint64_t rsp);

/* It is at the entry to a system call, which `here` is before. */
void recording_note_call(struct recording *r, struct point *here);

/* That point is where the operation ends. */
void recording_end(struct recording *r, struct point *last);

#endif
