/* SPDX-License-Identifier: MIT */
/* Finds what threads of other processes wait for: see waits_for_thread.c. */
#ifndef LHI_WAITS_FOR_THREAD_H
#define LHI_WAITS_FOR_THREAD_H

#include "shm/view.h"

/* Returns the record of a session if it is alive and has threads, or NULL. */
struct shm_session *lhi_waits_for_thread_session(const struct lhi_view *v,
    uint64_t sid);

/* Returns the claim with which thread tid of sid's process waits, and sets its
 * state.  Returns 0 if the thread does not wait, or was not found within
 * *budget. *budget decreases with each claim and chunk that is read. */
uint32_t lhi_waits_for_thread(struct lhi_view *v, uint64_t sid, uint32_t tid,
    int64_t *budget, uint64_t *st);

/* True if other waits may have to wait for that of claim ci, in state WAIT: its
 * thread holds a lease, its process is a job of a `run`, or it acquires into a
 * named session.  True in doubt.  While the thread waits, false stays so. */
bool lhi_waits_for_is_needed(struct lhi_view *v, uint32_t ci);

/* True if session `job` says that it belongs to a job of the `run` with session
 * `of`, or to a job of such a job. */
bool lhi_waits_for_is_job(const struct lhi_view *v, uint64_t job, uint64_t of);

/* True if /proc shows that the process of session `job` descends from that of
 * session `of`.  False if /proc does not show it. */
bool lhi_waits_for_descends(const struct lhi_view *v, uint64_t job,
    uint64_t of);

/* Receives a wait and its state.  Returns false to stop. */
typedef bool lhi_wait_fn(struct lhi_view *v, uint32_t ci, uint64_t st,
    void *arg);

/*
 * Calls fn with the waits that must end before leases of session sid are
 * released, besides those of the leases' own threads: waits of the jobs of a
 * `run`, and waits that acquire into a named session.  Reading counts against
 * *budget.
 */
void lhi_waits_for_sake(struct lhi_view *v, uint64_t sid, int64_t *budget,
    lhi_wait_fn *fn, void *arg);

#endif
