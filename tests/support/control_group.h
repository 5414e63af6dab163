/* SPDX-License-Identifier: MIT */
/*
 * A control group that can be frozen, as by `docker pause`: one at a time.  It
 * is thawed and removed when the test ends.
 */
#ifndef TESTS_SUPPORT_CONTROL_GROUP_H
#define TESTS_SUPPORT_CONTROL_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

#define T_GROUP_KINDS 3
extern const char *const t_group_kinds[T_GROUP_KINDS];

/* Makes a group of that kind.  Returns false, and says so, if that cannot be
 * done here. */
bool t_group_make(int kind);

/* Moves a process there, or bails out. */
void t_group_enter(pid_t pid);

/* Freezes the group, with that process.  Returns false if it is not frozen in
 * time. */
bool t_group_freeze(pid_t pid);
void t_group_thaw(void);

/* Thaws it, and removes it when its processes have left. */
void t_group_remove(void);

/* True if the process waits in the kernel (state D). */
bool t_in_kernel(pid_t pid);

#endif
