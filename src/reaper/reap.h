/* SPDX-License-Identifier: MIT */
/*
 * The reaper's sweep over one table: see reap.c.  One thread at a time uses a
 * reaper; several reapers of one table, in one process or in many, do each
 * other no harm.
 */
#ifndef REAPER_REAP_H
#define REAPER_REAP_H

#include <stdbool.h>
#include <stdint.h>

struct lhi_reaper;
struct lhi_view;

/* What a reaper is to do beside what it always does.  All zero: nothing. */
struct lhi_reap_opts {
	int64_t evict_idle_ms;	/* forget keys that were idle so long; 0: no */
	uint32_t evict_above;	/* ... while more than so many of 100 places
				 * for keys are taken */
};

/* What it has done, and what it looks after. */
struct lhi_reap_counts {
	uint64_t passes;
	uint64_t visited;	/* chunks of 64 claims looked through */
	uint64_t expired;	/* leases ended at their deadlines */
	uint64_t buried;	/* dead sessions whose claims were given back */
	uint64_t finished;	/* keys that somebody had left half-done */
	uint64_t evicted;
	uint64_t probes;	/* questions to the kernel whether one lives */
	uint32_t sessions;	/* living ones, about now */
	uint32_t watched;	/* of these, by a descriptor of the process */
};

/*
 * Look after the table whose object is at `path` (lhi_object_path()).  It is
 * never made, and needs no session.  0, *out is to be closed; -ENOENT, -EACCES,
 * -EPROTO, -EUCLEAN, -EXDEV, -EAGAIN (it is being removed), -ENOMEM, -errno;
 * lh_error_detail() says what and why.
 */
int lhi_reap_open(struct lhi_reaper **out, const char *path);
void lhi_reap_close(struct lhi_reaper *r);

/* From the next pass on. */
void lhi_reap_set(struct lhi_reaper *r, const struct lhi_reap_opts *opts);

/*
 * One pass at time mono_ns (CLOCK_MONOTONIC, whatever the table's clock; read
 * just now).  It never waits and takes a few milliseconds at most, but for the
 * burial of somebody who had thousands of claims; what it does not get round
 * to, it does in the next.  *next_ns: when that is wanted, 40 ms from now at
 * the latest; or at once when lhi_reap_fd() is readable.  0; -ESTALE: the table
 * was removed or replaced, -EXDEV: this process has left its time namespace:
 * close the reaper; -EUCLEAN: something in the table is damaged, and the rest
 * was seen to.
 */
int lhi_reap_pass(struct lhi_reaper *r, int64_t mono_ns, int64_t *next_ns);

/*
 * A descriptor to poll for reading (it is an epoll set itself; close-on-exec):
 * readable when a process may have died.  The pass that follows empties it.
 * One more descriptor is used for each living session, as long as there are
 * any: raise RLIMIT_NOFILE to have deaths noticed at once in large tables; the
 * others are asked after in turn.
 */
int lhi_reap_fd(const struct lhi_reaper *r);

/* The table, for looking at; valid until the reaper is closed. */
struct lhi_view *lhi_reap_view(struct lhi_reaper *r);

const struct lhi_reap_counts *lhi_reap_count(const struct lhi_reaper *r);

#endif
