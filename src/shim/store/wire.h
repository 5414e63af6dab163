/* SPDX-License-Identifier: MIT */
/*
 * Converts between etcd's protobuf messages and the types of engine.h. wire.c
 * reads answers, wire_out.c writes requests; etcd.c, etcd_link.c and
 * etcd_watch.c call them.
 */
#ifndef SHIM_WIRE_H
#define SHIM_WIRE_H

#include "engine.h"

/* A packed message that the caller frees.  `p` is NULL if there was no
 * memory. */
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

/* The number and kinds of a transaction's operations.  They are kept while it
 * is in progress, to check its answer. */
struct wire_shape {
	uint8_t n_then, n_otherwise;
	uint8_t what[2 * KV_OPS_MAX];	/* enum kv_what */
};

void wire_shape(const struct kv_txn *t, struct wire_shape *shape);

/* A received message.  Only the fields of its kind are set. */
struct wire_in {
	uint64_t cluster;
	int64_t revision;
	/* transaction */
	bool succeeded;
	struct kv_result *results;
	size_t n_results;
	/* lease */
	int64_t lease;
	/* watch */
	bool created, canceled;
	int64_t compacted;
	const char *reason;
	struct kv_change *changes;
	size_t n_changes;
	/* status and login */
	const char *version, *token;

	struct kv_pair *pairs;	/* the pairs of all results */
	void *message;		/* protobuf-c's struct, which the fields point
				 * into */
	void (*free_message)(void *message);
};

/* Decodes an answer.  Returns NULL if it is invalid or there is no memory;
 * otherwise the caller calls wire_free(). */
typedef struct wire_in *wire_fn(const uint8_t *p, size_t len,
    const struct wire_shape *shape);
wire_fn wire_txn_answer, wire_get_answer, wire_grant_answer,
    wire_revoke_answer, wire_watch_message, wire_login_answer,
    wire_status_answer;

void wire_free(struct wire_in *in);

#endif
