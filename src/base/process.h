/* SPDX-License-Identifier: MIT */
/*
 * Identity of this process: its namespaces and start time, in one page that the
 * kernel clears in a forked child (MADV_WIPEONFORK).  So no child takes itself
 * for its parent, however it was made.  See process.c.
 */
#ifndef LHI_PROCESS_H
#define LHI_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lhi_process {
	/* 0 in a child that has not called the library yet (proc/fork.c) */
	_Atomic uint32_t entered;
	_Atomic uint32_t known;		/* the fields below were read */
	_Atomic uint64_t time_ns;	/* inode of the time namespace */
	_Atomic uint64_t pid_ns;	/* inode of the pid namespace */
	_Atomic uint64_t start_ticks;	/* start time since boot */
	_Atomic uint64_t proc_device;	/* of a /proc that shows the pids of
					 * our pid namespace; or 0 */
	_Atomic int pid;		/* whose namespaces these are */
};

#define PROCESS_ENTERED 2u

/* Never NULL: before lhi_process_begin() it points to lhi_process_none, which
 * fork does not clear. */
extern struct lhi_process *_Atomic lhi_process;
extern struct lhi_process lhi_process_none;

/* Makes the page, once.  Returns 0 or -ENOMEM. */
int lhi_process_begin(void);

/* Reads the identity from /proc.  Returns 0; -EXDEV if it cannot be read;
 * -EMFILE or -ENFILE.  After an error, which has a detail, the earlier values
 * stay.  errno is unchanged. */
int lhi_process_read(void);

/*
 * Return what was read last, or read it now if it was never read.  0 means
 * unknown, which equals nothing.  lhi_process_time_ns() reads again each time,
 * because a process may enter another time namespace; if that fails, it returns
 * the earlier value.
 */
uint64_t lhi_process_time_ns(void);
uint64_t lhi_process_pid_ns(void);
uint64_t lhi_process_start_ticks(void);

/* True if /proc shows the pids of our pid namespace, as far as its device says:
 * the process may have entered a mount namespace with another /proc. */
bool lhi_process_counts_alike(void);

/* True if the open file fd is of a /proc that shows the pids of our pid
 * namespace: for what is proved by it.  errno is unchanged. */
bool lhi_process_is_shown_by(int fd);

#endif
