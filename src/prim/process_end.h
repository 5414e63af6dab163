/* SPDX-License-Identifier: MIT */
/* Proof that a process has ended, before the kernel has torn down its memory:
 * see process_end.c. */
#ifndef LHI_PROCESS_END_H
#define LHI_PROCESS_END_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * True if it is proved that no thread of the process that started then runs
 * user code any more, or ever will.  False if one may, or in doubt: it is not
 * visible, may not be looked at, has more than 250 threads, or is another
 * process by now.  pid is one of our pid namespace.  errno is unchanged.
 */
bool lhi_process_has_ended(pid_t pid, uint64_t start_ticks);

/* Makes the first such question about that process, which lives, take 10 us
 * instead of 60.  Takes 50 us itself, and nothing if it was the last one for
 * that process.  errno is unchanged. */
void lhi_process_end_prepare(pid_t pid, uint64_t start_ticks);

#endif
