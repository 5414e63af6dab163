/* SPDX-License-Identifier: MIT */
/* An engine with what it tells noted, and short forms of what is asked. */
#ifndef TESTS_SHIM_KV_H
#define TESTS_SHIM_KV_H

#include <event2/event.h>
#include "shim/store/etcd.h"

/* For a call that is to be done: longer than a busy machine's etcd takes. */
#define KV_MS 10000

struct kv_noted {
	struct event_base *base;
	struct engine *e;
	enum kv_state state;
	char why[400];
	int states;		/* told */
	int here, away, refused;	/* of them */
	int changes, looks;	/* told; told with none */
	char last[64];		/* key of the latest change */
	bool last_deleted;
	int64_t last_revision;
	char said[400];
	int says;
};

/* Opened with these options (base, say and what is NULL filled in). */
void kv_open(struct kv_noted *n, struct event_base *base,
    const char *endpoints, const struct etcd_opts *o,
    const struct kv_mark *mark);
void kv_close(struct kv_noted *n);
bool kv_here(struct kv_noted *n, int ms);
bool kv_until_state(struct kv_noted *n, enum kv_state state, int ms);

struct kv_said {
	int ended;
	enum fate fate;
	bool denied, exists, absent, succeeded;
	char why[400];
	int64_t revision, lease;
	size_t n_results, n_pairs;	/* pairs of the first */
	int64_t count;
	char value[64];		/* of the first pair */
	int64_t create_revision, mod_revision, version;
};

/* Asked, and waited for; false: it could not be asked. */
bool kv_txn(struct kv_noted *n, const struct kv_txn *t, int ms,
    struct kv_said *s);
bool kv_put(struct kv_noted *n, const char *key, const char *value,
    struct kv_said *s);
bool kv_get(struct kv_noted *n, const char *key, struct kv_said *s);
bool kv_grant(struct kv_noted *n, int64_t id, int64_t ttl_s,
    struct kv_said *s);
bool kv_revoke(struct kv_noted *n, int64_t lease, struct kv_said *s);
void kv_note(const struct kv_answer *a, void *said);

struct kv_bytes kv_text(const char *text);
struct kv_range kv_key(const char *key);

#endif
