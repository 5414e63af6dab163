/* SPDX-License-Identifier: MIT */
/*
 * What this process is: one page that the kernel zeroes in a forked child
 * (MADV_WIPEONFORK), so that no child takes itself for its parent, whichever
 * way it was made.  See process.c.
 */
#ifndef LHI_PROCESS_H
#define LHI_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lhi_process {
	/* 0 in a child that has not entered the library: proc/fork.c */
	_Atomic uint32_t entered;
	_Atomic uint32_t known;		/* the fields below have been read */
	_Atomic uint64_t time_ns;	/* inode of the time namespace */
	_Atomic uint64_t pid_ns;	/* inode of the pid namespace */
	_Atomic uint64_t start_ticks;	/* start time, since boot */
	_Atomic bool counts_alike;	/* /proc has our pid namespace's pids */
};

#define PROCESS_ENTERED 2u

/* Never NULL: before lhi_process_begin() it is one that is not zeroed. */
extern struct lhi_process *_Atomic lhi_process;
extern struct lhi_process lhi_process_none;

/* Makes the page, once.  0; -ENOMEM. */
int lhi_process_begin(void);

/*
 * Reads from /proc what this process is.  0; -EXDEV: it cannot be read;
 * -EMFILE, -ENFILE.  After an error, which has a detail, what was read before
 * stands.  errno is left alone.
 */
int lhi_process_read(void);

/*
 * The same, as it was read last; read now if it never was.  0: not known, which
 * is not the same as anybody's.  lhi_process_time_ns() looks again, because a
 * process may enter another time namespace; where it cannot look, what it read
 * last stands.
 */
uint64_t lhi_process_time_ns(void);
uint64_t lhi_process_pid_ns(void);
uint64_t lhi_process_start_ticks(void);

/* True if a number of our pid namespace is that process's in /proc. */
bool lhi_process_counts_alike(void);

#endif
