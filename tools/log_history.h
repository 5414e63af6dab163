/* SPDX-License-Identifier: MIT */
/* The holders of a key at a time, from its events.  See log_history.c. */
#ifndef TOOLS_LOG_HISTORY_H
#define TOOLS_LOG_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <leasehold.h>
#include "log_now.h"
#include "log_query.h"
#include "show.h"

#define RECORDS_MAX 4096
#define WHO_MAX (PARTY_MAX + 48)

struct holder {
	uint64_t session, token;
	uint32_t record, mode;
	int64_t since_ms;
	char who[WHO_MAX];
	bool certain;		/* the grant and its holder are certain */
	bool stayed;		/* a later event shows that it was still held */
};

/* The oldest event that a session record still has. */
struct oldest {
	uint64_t number;
	int64_t time_ns;
	bool seen;
};

struct past {
	const struct log_opts *o;
	int64_t at_ms;
	struct lh_log_entry *events;	/* their keys are not kept */
	size_t n, room;
	struct holder *holders;
	size_t n_holders, room_holders;
	struct lh_log_entry last, next; /* the key's last event before that
					 * moment and the next one after it;
					 * size 0: none */
	struct oldest oldest[RECORDS_MAX];	/* indexed by session record */
	int64_t lost_ns;	/* events up to this time may be missing */
	int64_t latest_ms;	/* of all events, when the last was; since
				 * 1970 */
	bool complete;		/* every grant is recorded */
	bool settled;		/* all holders are known */
	bool no_memory;
	struct log_now now;
};

/* Appends a holder.  False, with p->no_memory: it cannot. */
bool log_history_add(struct past *p, const struct holder *h);

/* Drops the holders of this token, this session (each if not 0) and this
 * record (if not LH_NO_RECORD). */
void log_history_drop(struct past *p, uint64_t token, uint64_t session,
    uint32_t record);

/* Changes the holders as the next event did. */
void log_history_apply(struct past *p, const struct lh_log_entry *e);

/* Notes which holders kept their leases until an event after the moment asked
 * for. */
void log_history_later(struct past *p, const struct lh_log_entry *e);

#endif
