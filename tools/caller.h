/* SPDX-License-Identifier: MIT */
/* The process that called the command.  See caller.c. */
#ifndef TOOLS_CALLER_H
#define TOOLS_CALLER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Finds the process that called, which has to have descriptor fd open as we do.
 * From then on the end of the caller ends this process.  Returns 0; or an exit
 * status, after a message that begins with `what` and says what to do.
 */
int caller_find(int fd, const char *what, int32_t *pid);

/* True if the process that caller_find() found is still there. */
bool caller_is_there(int32_t pid);

/* True if that process still has descriptor fd open as we do, as far as can be
 * seen. */
bool caller_has(int32_t pid, int fd);

#endif
