/* SPDX-License-Identifier: MIT */
/* A store in this process, for tests: see fake.c. */
#ifndef TESTS_FAKE_H
#define TESTS_FAKE_H

#include <event2/event.h>
#include "shim/store/engine.h"

/* Faults of a request. */
enum fake_mishap {
	FAKE_NONE = 0,
	FAKE_SLOW,		/* DONE, applied after half the timeout */
	FAKE_SLOW_ANSWER,	/* DONE, applied at once, told after the same */
	FAKE_LOST_REQUEST,	/* UNKNOWN after the timeout; never applied */
	FAKE_LOST_ANSWER,	/* UNKNOWN after the timeout; applied at once */
	FAKE_LATE,		/* UNKNOWN after the timeout; applied later */
	FAKE_BROKEN,		/* UNKNOWN soon; never applied */
	FAKE_BROKEN_APPLIED,	/* UNKNOWN soon; applied at once */
	FAKE_BROKEN_LATE,	/* UNKNOWN soon; applied after the timeout */
	FAKE_REFUSED,		/* NOT_APPLIED, soon */
	FAKE_DENIED,		/* the same, for lack of permission */
	FAKE_MISHAPS
};

struct fake_store;

struct fake_store *fake_store_new(struct event_base *base);
void fake_store_free(struct fake_store *s);	/* after its engines */

/* Asked before each call of each engine; NULL: nothing goes wrong. */
typedef enum fake_mishap fake_mishap_fn(unsigned host, uint64_t call,
    void *arg);
/* Called for each change that a host watches.  Returns its delay in ms, and
 * that of all later ones; FAKE_DROP: the host learns only that some were
 * missed. */
#define FAKE_DROP (-1)
typedef int fake_lag_fn(unsigned host, void *arg);
void fake_store_mishaps(struct fake_store *s, fake_mishap_fn *mishap,
    fake_lag_fn *lag, void *arg);

/* An engine on it.  It is KV_HERE soon, or KV_REFUSED for the mark.  It is a
 * recipe_engine_fn: arg is a struct fake_host, looked at only now. */
struct fake_host {
	struct fake_store *store;
	unsigned number;
};
struct engine *fake_open(const struct kv_hooks *hooks,
    const struct kv_mark *mark, void *arg);

/* Cut off (KV_AWAY; what is asked meanwhile is not sent, what was asked is
 * UNKNOWN), and back. */
void fake_cut(struct engine *e, bool cut);

/* The same for all engines on it. */
void fake_store_cut(struct fake_store *s, bool cut);

/* From now on it says that it is that cluster, at that revision. */
void fake_store_become(struct fake_store *s, uint64_t cluster,
    int64_t revision);

/* Deletes by hand; lists what is there. */
void fake_store_delete(struct fake_store *s, struct kv_bytes key);
void fake_store_each(struct fake_store *s, void (*fn)(const struct kv_pair *p,
    void *arg), void *arg);
int64_t fake_store_revision(const struct fake_store *s);
size_t fake_store_keys(const struct fake_store *s);

#endif
