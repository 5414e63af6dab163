/* SPDX-License-Identifier: MIT */
/* Finds the processes that use a live file: see live_users.c. */
#ifndef LHI_LIVE_USERS_H
#define LHI_LIVE_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LIVE_LOCKS_MAX 512	/* noted; more count as not seen */
#define LIVE_MAPPERS_MAX 4	/* named */

struct lhi_live_lock {
	off_t first, last;
};

/* What /proc says of a live file at one moment. */
struct lhi_live_users {
	dev_t dev;
	ino_t ino;
	unsigned n_mappers;	/* processes that map the file */
	pid_t mapper[LIVE_MAPPERS_MAX];
	unsigned n_locks;	/* by descriptors of processes that do not */
	struct lhi_live_lock lock[LIVE_LOCKS_MAX];
	unsigned unseen;	/* processes that may not be examined */
	bool sees_all;		/* none can be in another pid namespace */
};

/* Looks at every process, once, for users of fd's file. */
void lhi_live_users_scan(struct lhi_live_users *u, int fd);

/* Returns 1 if that process maps the file, 0 if not, -errno if that cannot be
 * seen. */
int lhi_live_users_maps(const struct lhi_live_users *u, pid_t pid);

/* True if a descriptor of a process that does not map the file has a lock on
 * that byte, and on more than a session locks.  So the byte is no session's:
 * a session's lock excludes every other one on its byte. */
bool lhi_live_users_explain(const struct lhi_live_users *u, off_t byte);

/* Names up to four of the processes that map the file: others than this one,
 * if there are any. */
void lhi_live_users_name(const struct lhi_live_users *u, char *to, size_t len);

/* Returns the pid of a process that has a socket bound to a name that ends with
 * `leaf`; 0 if none is seen.  `pid`: in its network namespace as well. */
pid_t lhi_live_users_socket(const char *leaf, pid_t pid);

#endif
