/* SPDX-License-Identifier: MIT */
/* Doorbells: tell a session to check its leases and waits. See doorbell.c. */
#ifndef LHI_DOORBELL_H
#define LHI_DOORBELL_H

#include "shm/view.h"

/* Ring at a session; at the session that has claim ci, or may take claims from
 * its chunk; at every session. */
void lhi_doorbell_ring(struct lhi_view *v, uint64_t sid, uint32_t what);
void lhi_doorbell_ring_claim(struct lhi_view *v, uint32_t ci, uint32_t what);
void lhi_doorbell_ring_all(struct lhi_view *v, uint32_t what);

/* Listens on behalf of the viewer from now on, and returns the word. Stops. */
uint32_t lhi_doorbell_listen(struct lhi_view *v);
void lhi_doorbell_ignore(struct lhi_view *v);

#endif
