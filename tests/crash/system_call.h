/* SPDX-License-Identifier: MIT */
/* The effects of system calls: see system_call.c. */
#ifndef CRASH_SYSTEM_CALL_H
#define CRASH_SYSTEM_CALL_H

#include <stdbool.h>
#include <sys/types.h>

/* True if the system call that the process is about to make changes nothing
 * that others can see. */
bool system_call_looks(pid_t pid);

#endif
