/* SPDX-License-Identifier: MIT */
/*
 * What /proc says about a process or thread.  Never a proof of anything: a hint
 * whom to wake, whom to ask after, whether a number was given to another
 * process meanwhile.
 */
#ifndef LHI_PROCSTAT_H
#define LHI_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct lhi_procstat {
	char state;		/* 'R', 'S', 'T', ... */
	pid_t parent;
	uint64_t start_ticks;	/* since boot; with the pid, who it is */
};

/*
 * Reads that of a process, or of its thread tid, unless 0.  A process's state
 * is that of all its threads: 'Z' only when none is left, 'T' only when none
 * runs. False: it cannot be seen.  errno is left alone.
 */
bool lhi_procstat_read(pid_t pid, pid_t tid, struct lhi_procstat *ps);

/* That of this process, whatever its pid is in /proc.  False: errno, or 0. */
bool lhi_procstat_self(struct lhi_procstat *ps);

#endif
