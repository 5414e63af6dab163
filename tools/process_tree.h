/* SPDX-License-Identifier: MIT */
/* The descendants of a `run`.  See process_tree.c. */
#ifndef TOOLS_PROCESS_TREE_H
#define TOOLS_PROCESS_TREE_H

#include <sys/types.h>

/* Remembers the children that exist before the command starts, because they are
 * no part of the command. */
void process_tree_begin(void);

/*
 * Sends sig to each descendant, including those whose parents are gone (we are
 * their reaper). If group is not 0, only those in that process group; if sig is
 * 0, only counts them.  Returns the number of processes found, or -errno.
 */
int process_tree_signal(int sig, pid_t group);

#endif
