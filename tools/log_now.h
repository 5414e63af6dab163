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
 * Asks the table for the holders of o->key.  Returns 0, also if it cannot be
 * asked: there is only a copy of it (o->file), or this process cannot attach.
 * Returns -EUCLEAN or -EPROTO, with the library's detail, for a table that is
 * refused to everybody: then its history is no answer.  Or -ENOMEM.
 */
int log_now_ask(struct log_now *now, const struct log_opts *o);

/* True if that holder's lease has ended, though the table's memory still says
 * that it holds the key: nobody has cleared it away. */
bool log_now_has_ended(const struct log_now *now, const struct lh_party *p);

void log_now_free(struct log_now *now);

#endif
