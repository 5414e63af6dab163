/* SPDX-License-Identifier: MIT */
/* Shared by fake.c and fake_store.c. */
#ifndef TESTS_FAKE_STORE_H
#define TESTS_FAKE_STORE_H

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include "fake.h"

/* Memory that goes at once.  There is always some: else abort(). */
struct arena {
	SLIST_HEAD(, block) blocks;
};

void *arena_get(struct arena *a, size_t size);
struct kv_bytes arena_bytes(struct arena *a, struct kv_bytes b);
void arena_free(struct arena *a);

struct entry {
	RB_ENTRY(entry) by_key;
	struct kv_pair pair;	/* its bytes are ours */
};

RB_HEAD(entries, entry);

struct lease {
	TAILQ_ENTRY(lease) all;
	struct fake_store *store;
	int64_t id;
	struct event *end;
};

struct host;
struct asked;

struct fake_store {
	struct event_base *base;
	struct entries entries;
	size_t n;
	int64_t revision;
	uint64_t cluster;
	int64_t leases_made;
	uint64_t calls;
	fake_mishap_fn *mishap;
	fake_lag_fn *lag;
	void *arg;
	/* Told of each change, if not NULL: fake.c */
	void (*on_change)(struct fake_store *s, bool deleted,
	    const struct kv_pair *p);
	TAILQ_HEAD(, lease) leases;
	TAILQ_HEAD(, host) hosts;
	TAILQ_HEAD(, asked) late;	/* of hosts that are gone */
};

/* Do it, and say what came of it, in memory of `a`. */
void store_txn(struct fake_store *s, const struct kv_txn *t, struct arena *a,
    struct kv_answer *answer);
void store_grant(struct fake_store *s, int64_t id, int64_t ttl_s,
    struct kv_answer *answer);
void store_revoke(struct fake_store *s, int64_t lease,
    struct kv_answer *answer);

/* The end of it, when nobody uses it any more. */
void store_empty(struct fake_store *s);

/* Starts a timer; makes one. */
void fake_start(struct event *ev, unsigned ms);
struct event *fake_timer(struct fake_store *s, event_callback_fn fn, void *arg);

#endif
