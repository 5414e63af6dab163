/* SPDX-License-Identifier: MIT */
/* etcd's messages, to and from the terms of engine.h: see wire.c. */
#ifndef SHIM_WIRE_H
#define SHIM_WIRE_H

#include "engine.h"

/* A message to be sent; p NULL: there was no memory.  To be freed. */
struct wire_out {
	uint8_t *p;
	size_t len;
};

struct wire_out wire_txn(const struct kv_txn *t);
struct wire_out wire_get(struct kv_bytes key);
struct wire_out wire_grant(int64_t id, int64_t ttl_s);
struct wire_out wire_revoke(int64_t lease);
struct wire_out wire_watch(struct kv_bytes prefix);
struct wire_out wire_login(const char *user, const char *password);
struct wire_out wire_nothing(void);

/* The shape of the answer that a transaction can have, kept while it is under
 * way. */
struct wire_shape {
	uint8_t n_then, n_otherwise;
	uint8_t what[2 * KV_OPS_MAX];	/* enum kv_what */
};

void wire_shape(const struct kv_txn *t, struct wire_shape *shape);

/* What came.  Of the fields below only those of its kind are set. */
struct wire_in {
	uint64_t cluster;
	int64_t revision;
	/* a transaction */
	bool succeeded;
	struct kv_result *results;
	size_t n_results;
	/* a lease */
	int64_t lease;
	/* a watch */
	bool created, canceled;
	int64_t compacted;
	const char *reason;
	struct kv_change *changes;
	size_t n_changes;
	/* status, login */
	const char *version, *token;

	struct kv_pair *pairs;	/* of the results */
	void *message;		/* that all of it points into */
	void (*free_message)(void *message);
};

/* NULL: it makes no sense (or no memory).  Else wire_free(). */
typedef struct wire_in *wire_fn(const uint8_t *p, size_t len,
    const struct wire_shape *shape);
wire_fn wire_txn_answer, wire_get_answer, wire_grant_answer,
    wire_revoke_answer, wire_watch_message, wire_login_answer,
    wire_status_answer;

void wire_free(struct wire_in *in);

#endif
