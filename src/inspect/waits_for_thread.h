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

/* True if the session is that of a job of that `run`'s session, or of a job of
 * a job of it, as it says itself. */
bool lhi_waits_for_is_job(const struct lhi_view *v, uint64_t job, uint64_t of);

/* True if the process of session `job` is seen to descend from that of session
 * `of`.  False also where it cannot be seen. */
bool lhi_waits_for_descends(const struct lhi_view *v, uint64_t job,
    uint64_t of);

/* A wait, and its state.  False: no more. */
typedef bool lhi_wait_fn(struct lhi_view *v, uint32_t ci, uint64_t st,
    void *arg);

/*
 * Calls fn with the waits that leases of session sid have to wait for beside
 * those of their own threads: of the jobs of a `run`; those that acquire into a
 * named session.  What is read counts against *budget.
 */
void lhi_waits_for_sake(struct lhi_view *v, uint64_t sid, int64_t *budget,
    lhi_wait_fn *fn, void *arg);

#endif
