/* SPDX-License-Identifier: MIT */
/*
 * Locks on single bytes of a table's live file (open file description locks).
 * They let the kernel say whether a session's process has ended.  src/shm uses
 * them.  They protect no data, and nobody waits for one.
 */
#ifndef LHI_BYTELOCK_H
#define LHI_BYTELOCK_H

#include <stdint.h>
#include <sys/types.h>

/* Locks the byte exclusively.  Returns 0; -EAGAIN if another description has
 * locked it; -errno. */
int lhi_byte_lock(int fd, off_t byte);

/* Locks the byte, shared.  Returns 0; -EAGAIN if it is locked exclusively;
 * -errno. */
int lhi_byte_share(int fd, off_t byte);

/* Locks n bytes exclusively, all or none. */
int lhi_bytes_lock(int fd, off_t first, off_t n);

/* Unlocks everything that this description has locked.  Returns 0 or -errno. */
int lhi_bytes_unlock(int fd);

/* Return 1 if another description has locked the byte, or one of n bytes; 0 if
 * not; or -errno. */
int lhi_byte_held(int fd, off_t byte);
int lhi_bytes_held(int fd, off_t first, off_t n);

/*
 * Keeps fd's locks until this address space ends: a mapping keeps the
 * description open after the descriptor is closed.  So no close() or
 * closefrom() of the application drops the locks.  A forked child does not
 * inherit the mapping.  Returns the mapping, or NULL with errno.
 */
void *lhi_byte_pin(int fd);
void lhi_byte_unpin(void *pin);

/* Unlocks a byte before the description is closed. */
void lhi_byte_unlock(int fd, off_t byte);

#endif
