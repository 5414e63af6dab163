/* SPDX-License-Identifier: MIT */
/*
 * Locks on single bytes of the table's file (open file description locks), by
 * which the kernel tells whether a session's process is gone.  They guard no
 * data: nobody ever waits for one.
 */
#ifndef LHI_BYTELOCK_H
#define LHI_BYTELOCK_H

#include <stdint.h>
#include <sys/types.h>

/* Take the byte: 0; -EAGAIN when another description has it; -errno. */
int lhi_byte_lock(int fd, off_t byte);

/* Together with others who do the same: 0; -EAGAIN: somebody has it alone. */
int lhi_byte_share(int fd, off_t byte);

/* Taking n bytes, all or none. */
int lhi_bytes_lock(int fd, off_t first, off_t n);

/* Unlock all that this description has locked.  0; -errno. */
int lhi_bytes_unlock(int fd);

/* Does some other description hold it, or one of n?  1, 0, or -errno. */
int lhi_byte_held(int fd, off_t byte);
int lhi_bytes_held(int fd, off_t first, off_t n);

/*
 * Keep fd's locks until this address space ends: a mapping, not inherited over
 * fork, holds the description after the descriptor is closed, so that no
 * close() or closefrom() of the application drops them.  The mapping, or NULL
 * (errno is set).
 */
void *lhi_byte_pin(int fd);
void lhi_byte_unpin(void *pin);

/* Give a byte back before the description ends. */
void lhi_byte_unlock(int fd, off_t byte);

#endif
