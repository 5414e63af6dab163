/* SPDX-License-Identifier: MIT */
/*
 * How many sessions and leases of a table a user may have: see session_limit.c.
 */
#ifndef LHI_SESSION_LIMIT_H
#define LHI_SESSION_LIMIT_H

#include "shm/view.h"

/*
 * Finds the records of the table, whose live file is fd, that this process may
 * take: the first *n.  Returns 0; -ENOSPC: its user has as many sessions as one
 * user may.
 */
int lhi_session_limit(struct lhi_view *v, int fd, uint32_t *n);

/* Fails because the first n records are all in use.  Returns -ENOSPC. */
int lhi_session_fail_full(struct lhi_view *v, uint32_t n);

/* The same for 64 leases more of that session's user. Returns 0; -ENOSPC. */
int lhi_lease_limit(const struct lhi_view *v, uint64_t sid);

#endif
