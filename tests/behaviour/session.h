/* SPDX-License-Identifier: MIT */
/* Short forms for the tests of named sessions. */
#ifndef TESTS_BEHAVIOUR_SESSION_H
#define TESTS_BEHAVIOUR_SESSION_H

#include "support/support.h"
#include "tap.h"

static inline struct lh_session *
open_session(struct lh *lh, const char *name, int64_t ttl_ms,
    int64_t lock_delay_ms, uint32_t flags)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s = NULL;

	o.ttl_ms = ttl_ms;
	o.lock_delay_ms = lock_delay_ms;
	o.flags = flags;
	if (!is(lh_session_open(lh, name, &o, &s), 0, "session %s",
	    name == NULL ? "without a name" : name))
		bail_out("%s", lh_error_detail());
	return s;
}

static inline int
acquire_into(struct lh *lh, struct lh_session *s, const char *key,
    uint32_t mode, struct lh_lease *l)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(3600000, 0);

	more.session = s;
	o.more = &more;
	o.mode = mode;
	return lh_acquire(lh, key, &o, l);
}

#endif
