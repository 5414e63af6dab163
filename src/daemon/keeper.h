/* SPDX-License-Identifier: MIT */
/* Finds the process that keeps a session whose own process has ended.  See
 * keeper.c. */
#ifndef DAEMON_KEEPER_H
#define DAEMON_KEEPER_H

#include <stdint.h>
#include <sys/types.h>
#include <leasehold.h>

#define KEEPER_NAME_MAX 32

/* Returns a process that has the second sign of life of that session open, and
 * writes its name; 0: none is seen.  id is the first half of a lease's id. */
pid_t keeper_find(struct lh *lh, uint64_t id, char name[KEEPER_NAME_MAX]);

#endif
