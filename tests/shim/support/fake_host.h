/* SPDX-License-Identifier: MIT */
/* Shared by fake.c and fake_call.c. */
#ifndef TESTS_FAKE_HOST_H
#define TESTS_FAKE_HOST_H

#include "fake_store.h"

TAILQ_HEAD(newses, news);
TAILQ_HEAD(askeds, asked);

struct host {
	struct engine e;	/* first */
	TAILQ_ENTRY(host) all;
	struct fake_store *store;
	struct kv_hooks hooks;
	struct kv_mark mark;
	unsigned number;
	struct kv_bytes prefix;	/* watched; p NULL: nothing is */
	bool cut;
	enum kv_state state, told;
	struct event *tell_state, *tell_news;
	struct newses news;
	struct askeds asked;
};

/* A call on its way, with what it was asked copied. */
struct asked {
	TAILQ_ENTRY(asked) of;
	struct fake_store *store;
	struct host *host;	/* NULL: gone */
	enum fake_mishap mishap;
	enum { TXN, GRANT, REVOKE } kind;
	struct kv_txn txn;
	int64_t number, ttl_s;	/* of a lease */
	int timeout_ms;
	kv_answer_fn *fn;
	void *arg;
	struct event *timer;
	bool told;		/* it is only to be applied yet */
	struct kv_answer answer;
	struct arena arena;
};

/* Tells the state, soon. */
void host_set_state(struct host *h, enum kv_state state);

/* True if it is the store that we know; else it is KV_REFUSED from now on. */
bool host_check(struct host *h);

/* No request will be answered. */
void host_give_up(struct host *h);

void asked_free(struct asked *a);
bool asked_is_late(const struct asked *a);

int host_txn(struct engine *e, const struct kv_txn *t, int timeout_ms,
    kv_answer_fn *fn, void *arg);
int host_grant(struct engine *e, int64_t id, int64_t ttl_s, int timeout_ms,
    kv_answer_fn *fn, void *arg);
int host_revoke(struct engine *e, int64_t lease, int timeout_ms,
    kv_answer_fn *fn, void *arg);

#endif
