/* SPDX-License-Identifier: MIT */
/* The present holders of a key, for `log --at`.  See log_now.c. */
#ifndef TOOLS_LOG_NOW_H
#define TOOLS_LOG_NOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "log_query.h"

enum log_now_answer { LOG_NOW_HELD, LOG_NOW_ENDED, LOG_NOW_UNKNOWN };

struct log_now {
	bool asked;		/* the table said who holds the key */
	bool cluster;		/* other hosts have had it as well */
	bool elsewhere;		/* another host has it, or may have it */
	struct log_now_lease {
		uint64_t session, token;
	} *leases;
	size_t n;
	bool other_clock;	/* of another time namespace: when an event was
				 * is not known exactly */
	int64_t now_ns;		/* the table's clock */
	int64_t zero_ms;	/* since 1970, when that was 0 */
};

/*
 * Asks the table for the holders of o->key.  Returns 0, also if there is only a
 * copy of the table (o->file) or this process cannot attach.  Returns -EUCLEAN
 * or -EPROTO, with the library's detail, if the table is refused to every
 * process; its history is then no answer.  Returns -ENOMEM without memory.
 */
int log_now_ask(struct log_now *now, const struct log_opts *o);

/* Returns whether that holder still has its lease; LOG_NOW_ENDED: the table's
 * memory still names it as the holder, because it has not been reclaimed. */
enum log_now_answer log_now_is_held(const struct log_now *now,
    const struct lh_party *p);

/* Notes how the table's clock stands to the wall clock. */
void log_now_set_clock(struct log_now *now, const struct lh_dump_table *t);

void log_now_free(struct log_now *now);

#endif
