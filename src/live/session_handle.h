/* SPDX-License-Identifier: MIT */
/* Handles of named sessions (session_handle.c). */
#ifndef LHI_SESSION_HANDLE_H
#define LHI_SESSION_HANDLE_H

#include <leasehold/session.h>

/* Checks a handle for a call that only looks.  Returns 0; -EINVAL, -EPERM. */
int lhi_session_check(const struct lh_session *s);

/* Returns -ESTALE with the reason that the session has ended; -EUCLEAN. */
int lhi_session_fail_ended(const struct lh_session *s);

#endif
