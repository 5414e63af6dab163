/* SPDX-License-Identifier: MIT */
/* A shared word that the kernel marks when a thread of ours ends: see
 * robust_list.c.  The caller holds lhi_proc_lock(). */
#ifndef LHI_ROBUST_LIST_H
#define LHI_ROBUST_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "prim/shared.h"

/* Where in its page the word is, which follows from the C library's layout. */
#define ROBUST_WORD_AT 4072

/* The word is 0, or has these bits. */
#define ROBUST_ARMED 0x80000000u	/* | thread id: FUTEX_WAITERS */
#define ROBUST_MARKED 0x40000000u	/* FUTEX_OWNER_DIED */
#define ROBUST_THREAD 0x3fffffffu

struct lhi_robust;

/*
 * Puts an entry into the calling thread's robust list, whose word is at
 * ROBUST_WORD_AT of the page at `page` of the file fd, and is `word` as the
 * caller has it mapped.  Sets the word.  `forks` counts forks
 * (lhi_forks()).  NULL: it cannot be done here, or not now.  errno is
 * unchanged.
 */
struct lhi_robust *lhi_robust_arm(int fd, off_t page, shm_u32 *word,
    uint32_t forks);

/* Sets the word again, if its thread lives.  False: that has ended. */
bool lhi_robust_rearm(const struct lhi_robust *r, shm_u32 *word);

/* Lets go of the page; the kernel never touches it again for this entry. */
void lhi_robust_disarm(struct lhi_robust *r);

/* In a forked child: nothing of it is the child's. */
void lhi_robust_child(void);

#endif
