/* SPDX-License-Identifier: MIT */
/* Members of a cluster in one process, over the fake, and their callbacks. */
#ifndef SUPPORT_MEMBER_H
#define SUPPORT_MEMBER_H

#include "shim/support/fake.h"
#include "shim/member/recipe.h"

struct member {
	struct recipe *r;
	struct engine *e;	/* of the fake */
	unsigned number;
	struct recipe_session session;
	enum kv_state store;
	uint64_t until_ns;
	void (*on_settled)(struct member *m);	/* if set */
	unsigned ups, adoptions, losts, settled, retired, founds, marks;
	struct kv_mark mark;
	char why[160];
	/* found(): keep those that are first, here */
	struct want *keep;
	size_t n_keep, n_kept;
};

/* One claim, and its callbacks. */
struct want {
	struct member *of;
	struct claim *c;	/* NULL: it is gone */
	char name[64];
	unsigned granted, anchored, not_anchored, busy, failed, left;
	enum claim_mode recalled;
	int64_t revision;
	int error;
	char why[160];
	enum want_event { WANT_GRANTED, WANT_ANCHORED, WANT_NOT_ANCHORED,
	    WANT_RECALLED, WANT_BUSY, WANT_FAILED, WANT_LEFT }
	    event;		/* the latest */
	void (*told)(struct want *w);	/* after each, if set */
	void *arg;
};

extern struct event_base *member_base;
extern struct fake_store *member_store;
extern unsigned member_ttl_ms, member_timeout_ms;	/* at first 1000, 30 */

void member_begin(void);
void member_end(void);
void member_open(struct member *m, unsigned number);
/* With a session to adopt, and a mark. */
void member_open_with(struct member *m, unsigned number,
    const struct recipe_session *adopt, const struct kv_mark *mark);
/* And wait until it is settled. */
void member_up(struct member *m, unsigned number);
void member_close(struct member *m);

void want(struct want *w, struct member *m, const char *name,
    enum claim_mode mode, unsigned flags);
void want_many(struct want *w, size_t n, struct member *m,
    const char *const *names, enum claim_mode mode, unsigned flags);
/* One, and wait until it is in its queue, and the others know it; nobody else
 * comes or goes meanwhile. */
void want_queued(struct want *w, struct member *m, const char *name,
    enum claim_mode mode);
/* Leave, and wait for it. */
void want_leave(struct want *w);

/* Delete its session's key in the store. */
void session_delete(struct member *m);
/* The same for the first of its exclusive claims; false: it has none. */
bool claim_delete(struct member *m);

uint64_t member_now_ns(void);

/* Run the loop until it holds; it did, or 20 s have passed. */
#define UNTIL(x)							\
	do {								\
		uint64_t until_end_ns = member_now_ns() + 20000000000u;	\
		while (!(x) && member_now_ns() < until_end_ns)		\
			loop_once();					\
	} while (0)
void loop_once(void);
/* For how long we were not let run in UNTIL(), in all. */
extern uint64_t member_stopped_ns;
void loop_for(unsigned ms);

/* Keys in the store that begin so. */
size_t count_keys(const char *prefix);

int count_leases(void);

#endif
