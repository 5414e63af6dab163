/* SPDX-License-Identifier: MIT */
/* What became of requests that have ids (G10).  See request_record.c. */
#ifndef LHI_REQUEST_RECORD_H
#define LHI_REQUEST_RECORD_H

#include "shm/view.h"

#define REQUEST_REMEMBER_NS (60 * NS_PER_SEC)
#define REQUEST_WHOLE 1u

/* Which request: whose, what it calls itself, for which key. */
struct lhi_request_name {
	uint64_t session;	/* the scope of ids */
	uint64_t id[2];
	uint64_t key;		/* hash of its name */
};

/* A place of the index as it was read, and what to swap it from. */
struct lhi_request {
	struct shm_request *r;	/* NULL: none */
	uint64_t state;
	struct lhi_request_name name;
	uint64_t lease;
	uint64_t token;
	uint32_t notes;		/* LH_NOTE_..., REQUEST_SEVERAL */
	bool several;		/* ours: REQUEST_SEVERAL is to be announced */
};

/* What was found; beside -errno. */
enum lhi_request_is {
	REQUEST_NONE = 0,
	REQUEST_OURS,		/* PENDING by us: to be done */
	REQUEST_BUSY,		/* PENDING by another thread, or process */
	REQUEST_HELD,		/* granted, and its lease is held */
	REQUEST_RELEASED,
	REQUEST_LOST,
	REQUEST_FAILED
};

/* See that the index has memory.  0; -ENOSPC with a sentence. */
int lhi_request_back(struct lhi_view *v);

/* Is there an index at all? */
static inline bool
lhi_request_used(const struct lhi_view *v)
{
	return sh32_load(&v->hdr->ready_requests) == v->geo.n_requests;
}

/*
 * Find the request, or make it ours; *q is its place.  What it is; -EINVAL: it
 * is another key's; -ENOSPC; -EBUSY: it does not hold still.  Only after
 * lhi_request_back().
 */
int lhi_request_begin(struct lhi_view *v, const struct lhi_request_name *n,
    struct lhi_request *q);

/* Find it only; n->key does not count.  It is HELD also if its release was
 * begun, and not finished. */
int lhi_request_find(struct lhi_view *v, const struct lhi_request_name *n,
    struct lhi_request *q);

/* The same by the lease it was granted: a walk over all of them. */
int lhi_request_find_lease(struct lhi_view *v, uint64_t session,
    uint64_t lease, uint64_t token, struct lhi_request *q);

/* It is ours: with the next swap of a lock word it will be granted so. */
void lhi_request_announce(struct lhi_request *q, uint64_t lease,
    uint64_t token, uint32_t notes);

/* For who remembers too many: it is free, if it still is what it was. */
void lhi_request_forget(struct shm_request *r, uint64_t state);

/* What is wrong with record i, in words; NULL: nothing. */
const char *lhi_request_wrong(struct lhi_view *v, uint32_t i);

/* request_state.c.
 *
 * From what q says to another state; code: of FAILED, why; of GRANTED, whether
 * all is done that was asked for (REQUEST_WHOLE), or the value may have to be
 * set.  False: it has moved, and nothing has changed. */
bool lhi_request_move(struct lhi_view *v, struct lhi_request *q, unsigned st,
    uint32_t code);

/* Is the process dead that has TAKEN, or works at, what
 * has that state word? */
bool lhi_request_gone(struct lhi_view *v, uint64_t state);

/* Is its lease held, which had been granted? */
bool lhi_request_held(struct lhi_view *v, const struct lhi_request *q);

/* The same, if its worker died before it was told.  1; 0; -EAGAIN: it does not
 * hold still. */
int lhi_request_won(struct lhi_view *v, const struct lhi_request *q);

/* The time, and for how long such a state word has stood; in the units of
 * deadlines. */
uint64_t lhi_request_now(const struct lhi_view *v);
uint64_t lhi_request_age(const struct lhi_view *v, uint64_t state);

/*
 * Wait until the tick is over in which this session was attached: who has its
 * record after it, in the same tick as a request of ours, could not be told
 * from us by the time of that.  A millisecond, once.
 */
void lhi_request_pass_tick(const struct lhi_view *v);

/* Did it end so long ago that it is as if it had not been? */
bool lhi_request_forgotten(const struct lhi_view *v, uint64_t state);

/* May this record be had for another request?  0 no; the larger, the sooner.
 * `probe`: ask the kernel who lives. */
unsigned lhi_request_worth(struct lhi_view *v, struct lhi_request *q,
    bool probe);

#endif
