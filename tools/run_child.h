/* SPDX-License-Identifier: MIT */
/* The command's signals, environment and descriptors.  See run_child.c. */
#ifndef TOOLS_RUN_CHILD_H
#define TOOLS_RUN_CHILD_H

#include <sys/types.h>
#include "run.h"

/*
 * Blocks the signals that we take from a descriptor, and makes that; a signal
 * that our caller ignores stays ignored (nohup; background jobs of scripts).
 * Returns the descriptor, or -errno.
 */
int run_child_take_signals(struct run *r);

/* Adds the other signals that concern a holder.  Returns the descriptor. */
int run_child_take_all_signals(int fd);

/* Returns the next signal of the descriptor; 0 when there is none.  *by_kernel:
 * it came from the terminal, so that the command has received it as well. */
int run_child_next_signal(int fd, bool *by_kernel);

/* True if sig asks a process to end. */
bool run_child_is_ending(int sig);

/*
 * Puts into our environment what the command is to find in its own.
 * loss_fd -1: there is none.  Returns 0, or -ENOMEM.
 */
int run_child_environment(struct run *r, int loss_fd);

/*
 * Returns a descriptor that keeps this session alive in each process that
 * inherits it, out of the way of scripts' own numbers; closed in `exec`ed
 * programs unless kept.  Or -errno.
 */
int run_child_liveness_fd(struct run *r);

/* Becomes the command (-F, and the child).  Returns an exit status if that
 * failed. */
int run_child_exec(struct run *r, const int *keep_fds, int n_keep);

/* Forks the command.  Returns its pid, or -errno. */
pid_t run_child_start(struct run *r, const int *keep_fds, int n_keep);

#endif
