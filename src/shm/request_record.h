/* SPDX-License-Identifier: MIT */
/* The results of requests with ids (G10). See request_record.c. */
#ifndef LHI_REQUEST_RECORD_H
#define LHI_REQUEST_RECORD_H

#include "shm/view.h"

#define REQUEST_REMEMBER_NS (60 * NS_PER_SEC)
#define REQUEST_WHOLE 1u

/* The name of a request: its session, its id, its key. */
struct lhi_request_name {
	uint64_t session;	/* the scope of ids */
	uint64_t id[2];
	uint64_t key;		/* hash of its name */
};

/* A place of the index as it was read, and the value to swap it from. */
struct lhi_request {
	struct shm_request *r;	/* NULL: none */
	uint64_t state;
	struct lhi_request_name name;
	uint64_t lease;
	uint64_t token;
	uint32_t notes;		/* LH_NOTE_..., REQUEST_SEVERAL */
	bool several;		/* ours: announce REQUEST_SEVERAL */
};

/* The state that was found, besides -errno. */
enum lhi_request_is {
	REQUEST_NONE = 0,
	REQUEST_OURS,		/* PENDING by us: to be done */
	REQUEST_BUSY,		/* PENDING by another thread, or process */
	REQUEST_HELD,		/* granted, and its lease is held */
	REQUEST_RELEASED,
	REQUEST_LOST,
	REQUEST_FAILED
};

/* Gives the index memory. Returns 0; an error of lhi_grow_part(). */
int lhi_request_back(struct lhi_view *v);

/* True if there is an index. */
static inline bool
lhi_request_used(const struct lhi_view *v)
{
	return sh32_load(&v->hdr->ready_requests) == v->geo.n_requests;
}

/*
 * Finds the request, or makes it ours; *q is its place.  Returns its state;
 * -EINVAL: it is another key's; -ENOSPC; -EBUSY: it keeps changing.  Only after
 * lhi_request_back().
 */
int lhi_request_begin(struct lhi_view *v, const struct lhi_request_name *n,
    struct lhi_request *q);

/* Only finds it; n->key is ignored.  It is HELD also if its release was begun,
 * and not finished. */
int lhi_request_find(struct lhi_view *v, const struct lhi_request_name *n,
    struct lhi_request *q);

/* The same by the lease that it was granted: a walk over all of them. */
int lhi_request_find_lease(struct lhi_view *v, uint64_t session,
    uint64_t lease, uint64_t token, struct lhi_request *q);

/*
 * For our request: announces the lease that the next swap of a lock word gives.
 */
void lhi_request_announce(struct lhi_request *q, uint64_t lease,
    uint64_t token, uint32_t notes);

/* For a session that remembers too many: frees it, if it is unchanged. */
void lhi_request_forget(struct shm_request *r, uint64_t state);

/* Describes a fault of record i; NULL: there is none. */
const char *lhi_request_wrong(struct lhi_view *v, uint32_t i);

/*
 * request_state.c.  Moves q from its state to another one; code: of FAILED, the
 * error; of GRANTED, whether everything is done (REQUEST_WHOLE), or the value
 * may have to be set.  Returns false if it has changed; nothing is written
 * then.
 */
bool lhi_request_move(struct lhi_view *v, struct lhi_request *q, unsigned st,
    uint32_t code);

/* True if the process is dead that has TAKEN, or works at, the record with that
 * state word. */
bool lhi_request_gone(struct lhi_view *v, uint64_t state);

/* True if its lease, which was granted, is held. */
bool lhi_request_held(struct lhi_view *v, const struct lhi_request *q);

/* The same, if its worker died before it knew.  Returns 1; 0; -EAGAIN: it keeps
 * changing. */
int lhi_request_won(struct lhi_view *v, const struct lhi_request *q);

/* Returns for how long such a state word has stood, in the units of
 * deadlines. */
uint64_t lhi_request_age(const struct lhi_view *v, uint64_t state);

/*
 * Waits until the tick is over in which this session was attached.  Otherwise
 * the next session of its record, in the same tick as a request of ours, could
 * not be distinguished from us by time.  A millisecond, once.
 */
void lhi_request_pass_tick(const struct lhi_view *v);

/* True if it ended so long ago that it is forgotten. */
bool lhi_request_forgotten(const struct lhi_view *v, uint64_t state);

/* Rates this record for another request.  Returns 0: not usable; the larger,
 * the better.  `probe`: ask the kernel which sessions live. */
unsigned lhi_request_worth(struct lhi_view *v, struct lhi_request *q,
    bool probe);

#endif
