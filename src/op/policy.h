/* SPDX-License-Identifier: MIT */
/* When a lease ends that is not released: see policy.c. */
#ifndef LHI_POLICY_H
#define LHI_POLICY_H

#include "shm/view.h"

/*
 * Sets policy live for the lease of claim ci, the caller's own: granted just
 * now, for ttl_ns, and linked in no queue.  Returns false if it has already
 * ended.
 */
bool lhi_policy_go_live(struct lhi_view *v, uint32_t ci, int64_t ttl_ns);

/*
 * A lease under policy live that changes its claim's use, or its claim, is
 * under policy lease meanwhile, so that no other process moves its deadline.
 * It is held in state st by then, and the ttl is in place: makes it live again.
 */
void lhi_policy_resume(struct lhi_view *v, uint32_t ci, uint64_t st);

/*
 * Claim ci was seen in state st: if that is a lease under policy live whose
 * deadline is near, but has not passed by now_ns, and its holder is seen to
 * run, moves the deadline on.
 */
void lhi_policy_tend(struct lhi_view *v, uint32_t ci, uint64_t st,
    int64_t now_ns);

/* The same for all holders of a key whose word was w. */
void lhi_policy_tend_key(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    int64_t now_ns);

/* Claim ci is held in state st: returns when, after now_ns, a waiter for its
 * end must check again.  At its deadline, or early enough to move that on. */
int64_t lhi_policy_next_look_ns(struct lhi_view *v, uint32_t ci, uint64_t st,
    int64_t now_ns);

#endif
