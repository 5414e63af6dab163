/* SPDX-License-Identifier: MIT */
/* The command's signals, environment and descriptors.  See run_child.c. */
#ifndef TOOLS_RUN_CHILD_H
#define TOOLS_RUN_CHILD_H

#include <sys/types.h>
#include "run.h"

/*
 * Blocks the signals that we read from a descriptor, and creates that.  A
 * signal that our caller ignores stays ignored (nohup; background jobs of
 * scripts). Returns the descriptor, or -errno.
 */
int run_child_take_signals(struct run *r);

/* Adds the other signals that a holder handles. Returns the descriptor. */
int run_child_take_all_signals(int fd);

/* Returns the descriptor's next signal, or 0 if there is none.  *by_kernel: it
 * came from the terminal, so that the command received it as well. */
int run_child_next_signal(int fd, bool *by_kernel);

/* True if sig asks a process to end. */
bool run_child_is_ending(int sig);

/* Sets the environment variables that the command is to inherit.  loss_fd is -1
 * if there is none.  Returns 0, or -ENOMEM. */
int run_child_environment(struct run *r, int loss_fd);

/*
 * Returns a descriptor that keeps this session alive in each process that
 * inherits it, with a number that scripts do not use.  It is closed on exec
 * unless kept.  Returns -errno on failure.
 */
int run_child_liveness_fd(struct run *r);

/* Executes the command in place of this process (-F, and the child). Returns an
 * exit status if that failed. */
int run_child_exec(struct run *r, const int *keep_fds, int n_keep);

/* Forks the command.  Returns its pid, or -errno. */
pid_t run_child_start(struct run *r, const int *keep_fds, int n_keep);

#endif
