/* SPDX-License-Identifier: MIT */
/* The descendants of a `run`.  See process_tree.c. */
#ifndef TOOLS_PROCESS_TREE_H
#define TOOLS_PROCESS_TREE_H

#include <sys/types.h>

/* Remembers the children that we have before the command starts: they are not
 * the command's. */
void process_tree_begin(void);

/*
 * Sends sig to each descendant, including those whose parents are gone (we are
 * their reaper).  group not 0: only to those in that process group; sig 0: only
 * counts them.  Returns the number of processes that were there, or -errno.
 */
int process_tree_signal(int sig, pid_t group);

#endif
