/* SPDX-License-Identifier: MIT */
/* A table that another process cannot write to: see guard.c. */
#ifndef CRASH_GUARD_H
#define CRASH_GUARD_H

#include "crash/tracee.h"

/* Begins with that process, which has one thread and is stopped. */
void guard_begin(pid_t pid);

/* Ends it; the process may be gone. */
void guard_end(void);

/* Finds where the table's object is mapped: the file that had its name first.
 * The guard is down.  False, with blame, when these are not known. */
bool guard_find(struct trial *p);

/* Makes these mappings read-only, or writable again.  False when the process
 * is gone, or did something else. */
bool guard_raise(struct trial *p);
bool guard_lower(struct trial *p);

/* True if that process has just got SIGSEGV, because it was about to write to
 * the object. */
bool guard_was_hit(pid_t pid);

/* True if an argument of the system call that it is about to make points into
 * the object. */
bool guard_is_in_call(void);

/* It is at the entry to a system call: back to the instruction before it. */
bool guard_undo_call(struct trial *p);

#endif
