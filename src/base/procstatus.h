/* SPDX-License-Identifier: MIT */
/* What /proc/PID/status says, which answers when other files there do not: see
 * procstatus.c. */
#ifndef LHI_PROCSTATUS_H
#define LHI_PROCSTATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCSTATUS_UIDS 4	/* real, effective, saved, of file systems */

struct lhi_procstatus {
	char state;		/* 'R', 'S', 'T', ... */
	uint64_t parent;
	uint64_t threads;
	uint64_t uid[PROCSTATUS_UIDS];
	bool has_memory;	/* only then the next three are known: */
	uint64_t memory_kb;
	uint64_t stack_kb;
	uint64_t data_kb;
	uint64_t switches;	/* how often its first thread has left a
				 * processor */
};

/* Reads it.  Returns false if it is not visible. */
bool lhi_procstatus_read(pid_t pid, struct lhi_procstatus *s);

/* True if the process is between two programs, and has one thread, which does
 * not run.  False in doubt. */
bool lhi_procstatus_is_in_exec(const struct lhi_procstatus *s);

/* True if who reads the process's `stat` may have to wait, even for ever. */
bool lhi_procstatus_may_stall(const struct lhi_procstatus *s);

#endif
