/* SPDX-License-Identifier: MIT */
/*
 * The parts of `leasehold run`, in the order in which they act:
 *
 *	run_command.c	puts the steps in order
 *	run_options.c	reads the options
 *	run_keys.c	splits the keys, and applies each call to all of them
 *	nesting.c	refuses to wait for ourselves
 *	run_wait.c	acquires the lease (blocker.c describes what blocks it)
 *	run_launch.c	starts the command
 *	run_child.c	sets up the command's signals, descriptors, environment
 *	run_guard.c	renews the lease and ends the command with it
 *	run_events.c	receives requests to release
 */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <leasehold.h>
#include "daemon/text.h"
#include "open_table.h"

#define PERMIT_KEY_SIZE 256	/* of the longest key, with its end */

struct run {
	/* The options. */
	struct table_opts table;
	const char *key;	/* one key, or several with commas between
				 * them; with --permits the semaphore, then
				 * permit_key */
	char **argv;		/* the command, with the shell of -c in front */
	const char *title;	/* our name for others: that of the command */
	uint32_t mode;		/* enum lh_mode */
	int64_t wait_ms;	/* 0: try; LH_WAIT_FOREVER */
	int64_t ttl_ms;
	uint32_t priority;
	uint32_t scope;
	struct lh_acquire_more more;	/* --info, --policy, --value */
	uint32_t permits;	/* `key` is a semaphore of that many; 0: it
				 * is a key */
	bool term_on_ask;	/* --on-ask term */
	int busy_code;
	int lost_code;
	bool warn_only;		/* --on-loss warn */
	bool no_fork;
	bool robust;		/* --robust */
	const char *flock_path;	/* --flock, or NULL */
	bool close_flock;	/* -o */
	bool verbose;

	/* The state. */
	int flock_fd;		/* of flock_path; -1 */
	struct lh *lh;
	struct lh_sem *sem;	/* with --permits */
	char permit_key[PERMIT_KEY_SIZE];	/* the permit's key, once it
						 * is held */
	struct lh_item items[LH_MANY_MAX];	/* the keys, one an item */
	struct lh_lease leases[LH_MANY_MAX];
	size_t n;
	size_t lost;		/* index of a lost key, once one is found */
	int64_t expires_ns;	/* the earliest of the deadlines */
	char name[NAME_MAX_TEXT];	/* `key`, printable; cut, if long */
	bool nested;		/* an ancestor shares a key with us */
	sigset_t old_mask;	/* restored for the command */
	struct sigaction old_chld;	/* restored for the command */
};

#endif
