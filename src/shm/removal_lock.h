/* SPDX-License-Identifier: MIT */
/* One remover of a table's name at a time: see removal_lock.c. */
#ifndef LHI_REMOVAL_LOCK_H
#define LHI_REMOVAL_LOCK_H

#include <sys/types.h>

/*
 * Locks the name of the table at path for a removal.  Returns a descriptor;
 * -EAGAIN: another process is removing it; -EACCES: it is not ours to remove;
 * -errno.
 */
int lhi_removal_lock(const char *path);
/* Returns 1 if a process has that lock; 0 if none has; -1 if this process may
 * not ask, and the file of the lock is there. */
int lhi_removal_is_at_work(const char *path);

/* Fails with -EBUSY, and names the process that has the lock, if it is known,
 * and whether it is stopped. */
int lhi_removal_fail_busy(const char *path);

/* The same with -EAGAIN, for a caller that has waited for it. */
int lhi_removal_fail_stuck(const char *path);

/* Makes the file of the lock for the owner of the machine's table at path,
 * which root is about to make.  0; -EBUSY; -errno. */
int lhi_removal_give(const char *path, uid_t owner);

void lhi_removal_unlock(const char *path, int lock);

#endif
