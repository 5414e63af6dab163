/* SPDX-License-Identifier: MIT */
/* What other processes' threads wait for.  See waits_for_thread.c. */
#ifndef LHI_WAITS_FOR_THREAD_H
#define LHI_WAITS_FOR_THREAD_H

#include "shm/view.h"

/* The record of a session, if it lives and has threads; or NULL. */
struct shm_session *lhi_waits_for_thread_session(const struct lhi_view *v,
    uint64_t sid);

/*
 * The claim with which thread tid of sid's process waits, and its state; or 0:
 * it does not, or was not found before *budget, which falls with each claim and
 * chunk that is read, was used up.
 */
uint32_t lhi_waits_for_thread(struct lhi_view *v, uint64_t sid, uint32_t tid,
    int64_t *budget, uint64_t *st);

#endif
