/* SPDX-License-Identifier: MIT */
/* Looks at processes in a child, so that none of them can make the look
 * endless: see look_child.c. */
#ifndef LHI_LOOK_CHILD_H
#define LHI_LOOK_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Calls fn(result) in a child process, which works on a copy of `result`, of
 * `len` bytes, and has no descriptor of this process.  Waits limit_ms at most.
 * Returns 0, and the copy is in `result`; -ETIMEDOUT: the look did not end;
 * -errno: there is no such child.  Then `result` is unchanged.  *at is the
 * process that the last child was stuck at, or 0. */
int lhi_look_apart(void (*fn)(void *result), void *result, size_t len,
    int limit_ms, pid_t *at);

/* The child says that it goes on; elsewhere these do nothing. */
void lhi_look_step(void);
void lhi_look_at(pid_t pid);

/* Returns how often an earlier child was stuck at that process: 0 elsewhere. */
unsigned lhi_look_times_stuck(pid_t pid);

#endif
