/* SPDX-License-Identifier: MIT */
/* The locks of what is private to this process: see proc_lock.c. */
#ifndef LHI_PROC_LOCK_H
#define LHI_PROC_LOCK_H

/*
 * For all of src/proc that rarely changes: maps, lists of claim caches, pools.
 * It guards nothing in shared memory, is never held while waiting, and is held
 * over fork.
 */
void lhi_proc_lock(void);
void lhi_proc_unlock(void);

/* For the waits that can be cancelled (op/cancel.c); held over fork as well. */
void lhi_cancel_lock(void);
void lhi_cancel_unlock(void);

#endif
