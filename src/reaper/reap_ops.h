/* SPDX-License-Identifier: MIT */
/* A reaper's private memory, and what its files share: see reap.c. */
#ifndef REAPER_REAP_OPS_H
#define REAPER_REAP_OPS_H

#include <errno.h>
#include "base/clock.h"
#include "reaper/reap.h"
#include "shm/view.h"

#define REAP_WALK_NS	(40 * NS_PER_MS)	/* interval of walks over all
						 * chunks */
#define REAP_GAP_NS	(4 * NS_PER_MS)		/* least time between passes */
#define REAP_BUDGET_NS	(4 * NS_PER_MS)		/* budget of a pass; of it
						 * ... */
#define REAP_PROBE_PART	16	/* ... this part for probing sessions */
#define REAP_DOUBT_PART	100	/* ... this part for sessions that have a
				 * pidfd */
#define REAP_SWEEP_PART	16	/* ... this part for keys */
#define REAP_NEVER	INT64_MAX

/* How the reaper learns that a session has died. */
enum reap_watch {
	REAP_UNKNOWN = 0,	/* not examined, or no session */
	REAP_BY_FD,		/* its pidfd is in the epoll set */
	REAP_BY_PROBE,		/* probed in turn */
	REAP_DEAD,		/* to be reclaimed */
	REAP_STUCK,		/* to be reclaimed later: another process is
				 * reclaiming it */
	REAP_RECLAIMED
};

/* The reaper's knowledge of a session record. */
struct reap_session {
	uint64_t sid;
	int fd;			/* only if REAP_BY_FD */
	uint32_t how;
};

/* The reaper's knowledge of a chunk. */
struct reap_chunk {
	uint64_t owner;
	uint64_t period;	/* at the last walk */
};

struct lhi_reaper {
	struct lhi_view v;
	struct lhi_map *map;
	struct lhi_reap_opts opts;
	struct lhi_reap_counts counts;
	int64_t budget_ns;	/* REAP_BUDGET_NS; tests raise it */
	int64_t began_ns;	/* start of this pass, in CLOCK_MONOTONIC */
	bool more;		/* this pass left work for the next one */
	bool damaged;		/* this pass found damage */
	bool visiting;		/* the reaper holds the visitors' byte */
	int64_t walk_ns, fresh_ns;	/* when each is due again */
	int64_t walked_ns;	/* time of the last walk */

	/* death_watch.c: sessions */
	int epoll_fd;
	int fd_limit;		/* keeps descriptors below this number */
	struct reap_session *session;	/* [max_sessions] */
	uint32_t asked;		/* number of REAP_BY_PROBE */
	uint32_t dead;		/* number of REAP_DEAD */
	int64_t doubt_ns;	/* when REAP_BY_FD sessions are probed next */
	uint32_t ask_hand, doubt_hand, bury_hand, record_hand;

	/* expiry_scan.c: chunks */
	int64_t *at;		/* [n_chunks]: when each is scanned next */
	struct reap_chunk *chunk;
	uint32_t chunks;	/* chunks initialised so far */
	uint32_t due_hand;

	/* sweep.c: slots */
	uint32_t slot_hand;
};

/* True if the pass has used up its time.  The rest waits for the next pass. */
static inline bool
lhi_reap_is_spent(struct lhi_reaper *r)
{
	if (lhi_clock_ns(CLOCK_MONOTONIC) - r->began_ns < r->budget_ns)
		return false;
	r->more = true;
	return true;
}

/* Records damage, if a protocol function has returned -EUCLEAN. */
static inline void
lhi_reap_note_damage(struct lhi_reaper *r, int result)
{
	r->damaged |= result == -EUCLEAN;
}

/* Called for a dead session that another process, perhaps a stopped one, is
 * reclaiming. */
typedef void lhi_reap_stuck_fn(struct lhi_reaper *r, uint64_t sid,
    int64_t now_ns);

/* death_watch.c.  `read_events` handles the pidfds that are readable; `add`
 * takes note of a session that owns claims; `probe` asks the kernel about
 * sessions in turn; `reclaim` reclaims dead ones. */
int lhi_death_watch_begin(struct lhi_reaper *r);
void lhi_death_watch_end(struct lhi_reaper *r);
void lhi_death_watch_read_events(struct lhi_reaper *r);
void lhi_death_watch_add(struct lhi_reaper *r, uint64_t sid);
void lhi_death_watch_probe(struct lhi_reaper *r);
void lhi_death_watch_reclaim(struct lhi_reaper *r,
    lhi_reap_stuck_fn *on_stuck);

/* expiry_scan.c.  `walk` looks at all chunks; `run_due` scans the chunks that
 * are due until by_ns, and returns when the next one is due. */
int lhi_expiry_scan_begin(struct lhi_reaper *r);
void lhi_expiry_scan_end(struct lhi_reaper *r);
void lhi_expiry_scan_walk(struct lhi_reaper *r, int64_t now_ns);
int64_t lhi_expiry_scan_run_due(struct lhi_reaper *r, int64_t now_ns, int64_t
    by_ns);

/* Ends the exclusive leases of a dead session. */
void lhi_expiry_scan_free_dead(struct lhi_reaper *r, uint64_t sid, int64_t
    now_ns);

/* sweep.c: checks some of the slots. */
void lhi_sweep_slots(struct lhi_reaper *r, int64_t now_ns);

#endif
