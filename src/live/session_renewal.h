/* SPDX-License-Identifier: MIT */
/* Named sessions that the live handles' thread renews.  See
 * session_renewal.c.  All with lhi_live_lock() held. */
#ifndef LHI_SESSION_RENEWAL_H
#define LHI_SESSION_RENEWAL_H

#include "op/handoff.h"

/* Renews it from now on, at ttl/2; or not any more. */
void lhi_session_renewal_begin(struct lh_session *s);
void lhi_session_renewal_end(struct lh_session *s);

/* Frees a handle.  Threads may be using it still: the memory stays for a while,
 * and is not marked as closed. */
void lhi_session_forget(struct lh_session *s);

/* Renews one that is due; false: there is none.  True if there is any.  Returns
 * when the next is due (CLOCK_MONOTONIC; INT64_MAX). */
bool lhi_session_renewal_serve(void);
bool lhi_session_renewal_has_any(void);
int64_t lhi_session_renewal_next_ns(void);

/* Forgets the sessions of an attachment that closes.  In a forked child: clears
 * the list. */
void lhi_session_renewal_closing(const struct lh *lh);
void lhi_session_renewal_forget(void);

#endif
