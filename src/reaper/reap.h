/* SPDX-License-Identifier: MIT */
/*
 * The reaper's passes over one table: see reap.c.  Only one thread at a time
 * may use a reaper.  Several reapers may work on one table, in one process or
 * in several.
 */
#ifndef REAPER_REAP_H
#define REAPER_REAP_H

#include <stdbool.h>
#include <stdint.h>

struct lhi_reaper;
struct lhi_view;

/* Optional work of a reaper.  All zero: none. */
struct lhi_reap_opts {
	int64_t evict_idle_ms;	/* evicts keys that were idle for this long; 0:
				 * none */
	uint32_t evict_above;	/* ... while more than this percentage of the
				 * slots for keys is in use */
};

/* Counters of a reaper. */
struct lhi_reap_counts {
	uint64_t passes;
	uint64_t visited;	/* chunks of 64 claims scanned */
	uint64_t expired;	/* leases ended at their deadlines */
	uint64_t buried;	/* dead sessions reclaimed */
	uint64_t finished;	/* half-done operations completed */
	uint64_t evicted;
	uint64_t probes;	/* questions to the kernel whether a session
				 * lives */
	uint32_t sessions;	/* live sessions, approximately */
	uint32_t watched;	/* of these, watched by a pidfd */
};

/*
 * Opens a reaper for the table at `path` (lhi_object_path()).  The table is
 * never created, and the reaper needs no session.  Returns 0, and the caller
 * closes *out; or -ENOENT, -EACCES, -EPROTO, -EUCLEAN, -EXDEV, -EAGAIN (the
 * table is being removed), -ENOMEM or another -errno, with the reason in
 * lh_error_detail().
 */
int lhi_reap_open(struct lhi_reaper **out, const char *path);
void lhi_reap_close(struct lhi_reaper *r);

/* Sets the options, from the next pass on. */
void lhi_reap_set(struct lhi_reaper *r, const struct lhi_reap_opts *opts);

/*
 * Does one pass at time mono_ns, which was just read from CLOCK_MONOTONIC,
 * whatever the table's clock is.  A pass never waits.  It takes a few
 * milliseconds, or longer if it reclaims a session with thousands of claims.
 * Work that does not fit is left for the next pass.
 *
 * *next_ns becomes the time of the next pass, at most 40 ms from now.  When
 * lhi_reap_fd() is readable, the next pass is due at once.
 *
 * Returns 0; or -ESTALE (the table was removed or replaced) or -EXDEV (this
 * process has left its time namespace), after which the reaper must be closed;
 * or -EUCLEAN (something in the table is damaged, and the rest was done).
 */
int lhi_reap_pass(struct lhi_reaper *r, int64_t mono_ns, int64_t *next_ns);

/*
 * Returns a descriptor that is readable when a process may have died.  It is an
 * epoll set, and close-on-exec.  The next pass empties it.
 *
 * The reaper uses one more descriptor for each live session, while there are
 * any.  So raise RLIMIT_NOFILE to notice deaths at once in large tables; other
 * sessions are probed in turn.
 */
int lhi_reap_fd(const struct lhi_reaper *r);

/* Returns the table's view, for reading.  It is valid until the reaper is
 * closed. */
struct lhi_view *lhi_reap_view(struct lhi_reaper *r);

const struct lhi_reap_counts *lhi_reap_count(const struct lhi_reaper *r);

#endif
