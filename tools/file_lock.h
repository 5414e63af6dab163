/* SPDX-License-Identifier: MIT */
/* flock(2) with a limit of time.  See file_lock.c. */
#ifndef TOOLS_FILE_LOCK_H
#define TOOLS_FILE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * flock(fd, how), how being LOCK_SH or LOCK_EX, for at most *wait_ms
 * milliseconds; 0: without a wait; LH_WAIT_FOREVER.  Sets *wait_ms to what is
 * left.  Returns 0; -EAGAIN busy, *wait_ms was 0; -ETIMEDOUT; -errno.
 */
int file_lock(int fd, int how, int64_t *wait_ms);

/* True if no other open file than that of fd has the file locked: in shared
 * mode, or else exclusively.  False in doubt. */
bool file_lock_is_gone(int fd, bool shared);

/* Opens a file, or a directory, to lock it; makes the file if there is none.
 * Returns a descriptor (close-on-exec), or -errno. */
int file_lock_open(const char *path);

#endif
