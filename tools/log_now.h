/* SPDX-License-Identifier: MIT */
/* The present holders of a key, for `log --at`.  See log_now.c. */
#ifndef TOOLS_LOG_NOW_H
#define TOOLS_LOG_NOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "log_query.h"

struct log_now {
	bool asked;		/* the table said who holds the key */
	struct log_now_lease {
		uint64_t session, token;
	} *leases;
	size_t n;
};

/*
 * Asks the table for the holders of o->key.  Returns 0, also if there is only a
 * copy of the table (o->file) or this process cannot attach.  Returns -EUCLEAN
 * or -EPROTO, with the library's detail, if the table is refused to every
 * process; its history is then no answer.  Returns -ENOMEM without memory.
 */
int log_now_ask(struct log_now *now, const struct log_opts *o);

/* True if that holder's lease has ended although the table's memory still names
 * it as the holder, because it has not been reclaimed yet. */
bool log_now_has_ended(const struct log_now *now, const struct lh_party *p);

void log_now_free(struct log_now *now);

#endif
