/* SPDX-License-Identifier: MIT */
/* Finds the processes that use a live file: see live_users.c. */
#ifndef LHI_LIVE_USERS_H
#define LHI_LIVE_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "offline/process_maps.h"

#define LIVE_LOCKS_MAX 512	/* noted; more explain nothing */
#define LIVE_NAMED_MAX 4	/* processes that are named */
#define LIVE_MAPPERS_MAX 4096	/* remembered: more than a table has sessions */
#define LIVE_LEAF_MAX 200	/* of a live file's name */

struct lhi_live_lock {
	off_t first, last;
};

struct lhi_live_pids {
	unsigned n;
	pid_t pid[LIVE_NAMED_MAX];	/* the first of them */
};

struct lhi_live_mapper {
	pid_t pid;
	uint64_t start_ticks;	/* 0: not known */
};

/* What /proc says of a live file at one moment. */
struct lhi_live_users {
	pid_t self;		/* this process, which looks */
	dev_t dev;		/* as stat(2) says */
	unsigned long long ino;
	struct lhi_maps_name in_maps;	/* as /proc/PID/maps says */
	char leaf[LIVE_LEAF_MAX];	/* its name */
	struct lhi_live_pids mappers;	/* processes that map the file */
	unsigned n_mappers;
	struct lhi_live_mapper mapper[LIVE_MAPPERS_MAX];
	struct lhi_live_pids lockers;	/* that have locked bytes of it by a
					 * descriptor, or may have */
	struct lhi_live_pids waiters;	/* that wait for bytes of it */
	unsigned n_locks;	/* of processes that do not map it */
	struct lhi_live_lock lock[LIVE_LOCKS_MAX];
	struct lhi_live_pids unread;	/* whose mappings could not be seen */
	bool incomplete;	/* not every process was looked at */
	int error;		/* none was: the errno, below 0; or 0 */
	bool sees_all;		/* no others are hidden from us */
};

/* Looks at every process, once, for users of fd's file.  `apart`: in a child,
 * within 20 s (look_child.c).  Returns what was seen, which the caller frees;
 * NULL: no memory. */
struct lhi_live_users *lhi_live_users_scan(int fd, bool apart);

/* True if that process was seen to map the file.  start_ticks 0: whenever it
 * began. */
bool lhi_live_users_has(const struct lhi_live_users *u, pid_t pid,
    uint64_t start_ticks);

/* True if no process maps the file.  False in doubt: some could not be seen. */
bool lhi_live_users_none_maps(const struct lhi_live_users *u);

/* True if a descriptor of a process that does not map the file has a lock on
 * that byte, and on more than a session locks.  So the byte is no session's:
 * a session's lock excludes every other one on its byte. */
bool lhi_live_users_explain(const struct lhi_live_users *u, off_t byte);

/* Adds a process, unless it is among the first ones. */
void lhi_live_pids_add(struct lhi_live_pids *p, pid_t pid);

/* Names up to four of the processes: others than this one, if there are any. */
void lhi_live_users_name(const struct lhi_live_pids *p, char *to, size_t len);

#endif
