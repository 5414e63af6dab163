/* SPDX-License-Identifier: MIT */
/* A reaper's own memory, and its four occupations: see reap.c. */
#ifndef REAPER_REAP_OPS_H
#define REAPER_REAP_OPS_H

#include <errno.h>
#include "base/clock.h"
#include "reaper/reap.h"
#include "shm/view.h"

#define REAP_WALK_NS	(40 * NS_PER_MS)	/* all chunks are looked over */
#define REAP_GAP_NS	(4 * NS_PER_MS)		/* from pass to pass */
#define REAP_BUDGET_NS	(4 * NS_PER_MS)		/* a pass, about; and of it */
#define REAP_PROBE_PART	16	/* ... that part for asking after sessions */
#define REAP_DOUBT_PART	100	/* ... likewise, where there is little doubt */
#define REAP_SWEEP_PART	16	/* ... for keys */
#define REAP_NEVER	INT64_MAX

/* How a session's death is to be noticed. */
enum reap_watch {
	REAP_UNKNOWN = 0,	/* not looked at, or nothing to look at */
	REAP_BY_FD,		/* its process's descriptor is in the set */
	REAP_BY_PROBE,		/* the kernel is asked in turn */
	REAP_DEAD,		/* to be buried */
	REAP_STUCK,		/* the same, later: somebody is at it */
	REAP_RECLAIMED
};

/* A session record, as this reaper knows it. */
struct reap_session {
	uint64_t sid;
	int fd;			/* BY_FD */
	uint32_t how;
};

/* A chunk, likewise. */
struct reap_chunk {
	uint64_t owner;
	uint64_t period;	/* at the last look */
};

struct lhi_reaper {
	struct lhi_view v;
	struct lhi_map *map;
	struct lhi_reap_opts opts;
	struct lhi_reap_counts counts;
	int64_t budget_ns;	/* REAP_BUDGET_NS, or more where time is slow */
	int64_t began_ns;	/* this pass, by CLOCK_MONOTONIC */
	bool more;		/* this pass left something undone */
	bool damaged;		/* this pass met damage */
	bool visiting;		/* the visitors' byte is held */
	int64_t walk_ns, fresh_ns;	/* when each is due again */
	int64_t walked_ns;	/* the last walk */

	/* death_watch.c: sessions */
	int epoll_fd;
	int fd_limit;		/* descriptors from there on are not ours */
	struct reap_session *session;	/* [max_sessions] */
	uint32_t asked;		/* BY_PROBE */
	uint32_t dead;		/* DEAD */
	int64_t doubt_ns;	/* when the next are asked, BY_FD */
	uint32_t ask_hand, doubt_hand, bury_hand, record_hand;

	/* expiry_scan.c: chunks */
	int64_t *at;		/* [n_chunks]: when each is looked through */
	struct reap_chunk *chunk;
	uint32_t chunks;	/* those that have been initialised */
	uint32_t due_hand;

	/* sweep.c: slots */
	uint32_t slot_hand;
};

/* True if the pass has used its time: what is left waits for the next one. */
static inline bool
lhi_reap_is_spent(struct lhi_reaper *r)
{
	if (lhi_clock_ns(CLOCK_MONOTONIC) - r->began_ns < r->budget_ns)
		return false;
	r->more = true;
	return true;
}

/* Remembers damage, if that is what a function of the protocol returned. */
static inline void
lhi_reap_note_damage(struct lhi_reaper *r, int result)
{
	r->damaged |= result == -EUCLEAN;
}

/* Told of a dead session that another process is reclaiming, perhaps a stopped
 * one. */
typedef void lhi_reap_stuck_fn(struct lhi_reaper *r, uint64_t sid,
    int64_t now_ns);

/* death_watch.c.  Begin, end; look at the descriptors; meet a session that owns
 * claims; ask after those who have none; bury. */
int lhi_death_watch_begin(struct lhi_reaper *r);
void lhi_death_watch_end(struct lhi_reaper *r);
void lhi_death_watch_read_events(struct lhi_reaper *r);
void lhi_death_watch_add(struct lhi_reaper *r, uint64_t sid);
void lhi_death_watch_probe(struct lhi_reaper *r);
void lhi_death_watch_reclaim(struct lhi_reaper *r,
    lhi_reap_stuck_fn *on_stuck);

/* expiry_scan.c.  Begin, end; look over all chunks; through those that are
 * due by then:  returns when the next one is. */
int lhi_expiry_scan_begin(struct lhi_reaper *r);
void lhi_expiry_scan_end(struct lhi_reaper *r);
void lhi_expiry_scan_walk(struct lhi_reaper *r, int64_t now_ns);
int64_t lhi_expiry_scan_run_due(struct lhi_reaper *r, int64_t now_ns, int64_t
    by_ns);

/* End what has ended in the claims of a session that is dead. */
void lhi_expiry_scan_free_dead(struct lhi_reaper *r, uint64_t sid, int64_t
    now_ns);

/* sweep.c: some of the slots. */
void lhi_sweep_slots(struct lhi_reaper *r, int64_t now_ns);

#endif
