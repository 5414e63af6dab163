/* SPDX-License-Identifier: MIT */
/*
 * `leasehold run`, in the order in which it happens: run_command.c puts the
 * steps in order, run_options.c reads the options, run_keys.c the keys (and
 * does to all of them whatever is done to one), nesting.c refuses to wait for
 * ourselves, run_wait.c gets the lease (blocker.c says who is in the way),
 * run_launch.c starts the command in the world that run_child.c makes for it,
 * run_guard.c renews the lease and ends the command with it, run_events.c hears
 * who asks for it.
 */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <leasehold.h>
#include "daemon/text.h"
#include "open_table.h"

struct run {
	/* What was asked for. */
	struct table_opts table;
	const char *key;	/* or several, with commas between them */
	char **argv;		/* the command, after a shell was put before */
	const char *title;	/* how others see us: the command's name */
	uint32_t mode;		/* enum lh_mode */
	int64_t wait_ms;	/* 0: try; LH_WAIT_FOREVER */
	int64_t ttl_ms;
	uint32_t priority;
	uint32_t scope;
	struct lh_acquire_more more;	/* --info, --policy,
					 * --value */
	uint32_t permits;	/* `key` is a semaphore of so many; 0: it is
				 * not */
	bool term_on_ask;	/* --on-ask term */
	int busy_code;
	int lost_code;
	bool warn_only;		/* --on-loss warn */
	bool no_fork;
	bool robust;		/* --robust */
	bool verbose;

	/* What there is. */
	struct lh *lh;
	struct lh_sem *sem;	/* with --permits */
	struct lh_item items[LH_MANY_MAX];	/* each key by itself */
	struct lh_lease leases[LH_MANY_MAX];
	size_t n;
	size_t lost;		/* which of them, once that is found out */
	int64_t expires_ns;	/* the first of their deadlines */
	char name[NAME_MAX_TEXT];	/* `key`, printable; cut, if long */
	bool nested;		/* an ancestor shares a key, as we shall */
	sigset_t old_mask;	/* the command gets it back */
	struct sigaction old_chld;	/* and this */
};

#endif
