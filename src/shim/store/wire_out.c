/* SPDX-License-Identifier: MIT */
/*
 * Encodes requests to etcd; see wire.h.
 *
 * A message's structs point to the caller's data, which is copied only when the
 * message is packed. protobuf-c needs arrays of pointers.  They have a fixed
 * size, because a transaction has at most KV_OPS_MAX comparisons and twice as
 * many operations.  So a transaction needs one allocation.
 */
#include <stdlib.h>
#include <string.h>
#include "shim/store/etcd.pb-c.h"
#include "wire.h"

struct pb_op {
	Etcd__RequestOp op;
	union {
		Etcd__RangeRequest range;
		Etcd__PutRequest put;
		Etcd__DeleteRangeRequest delete_range;
	} u;
};

struct pb_txn {
	Etcd__TxnRequest t;
	Etcd__Compare compares[KV_OPS_MAX];
	Etcd__Compare *compare_list[KV_OPS_MAX];
	struct pb_op ops[2 * KV_OPS_MAX];
	Etcd__RequestOp *then_list[KV_OPS_MAX], *otherwise_list[KV_OPS_MAX];
};

static ProtobufCBinaryData
to_protobuf_bytes(struct kv_bytes b)
{
	return (ProtobufCBinaryData){ b.len, (uint8_t *)(uintptr_t)b.p };
}

static struct wire_out
pack_message(const ProtobufCMessage *m)
{
	struct wire_out out = { NULL, protobuf_c_message_get_packed_size(m) };

	out.p = malloc(out.len + 1);
	if (out.p != NULL)
		(void)protobuf_c_message_pack(m, out.p);
	return out;
}

static void
set_compare(Etcd__Compare *c, const struct kv_compare *k)
{
	static const Etcd__Compare__Result results[] = {
		[KV_EQUAL] = ETCD__COMPARE__RESULT__EQUAL,
		[KV_GREATER] = ETCD__COMPARE__RESULT__GREATER,
		[KV_LESS] = ETCD__COMPARE__RESULT__LESS,
		[KV_NOT_EQUAL] = ETCD__COMPARE__RESULT__NOT_EQUAL,
	};

	etcd__compare__init(c);
	c->key = to_protobuf_bytes(k->range.key);
	c->range_end = to_protobuf_bytes(k->range.end);
	c->result = results[k->relation];
	switch (k->subject) {	/* the targets share one union */
	case KV_VERSION:
		c->target = ETCD__COMPARE__TARGET__VERSION;
		c->against_case = ETCD__COMPARE__AGAINST_VERSION;
		c->version = k->number;
		break;
	case KV_CREATE:
		c->target = ETCD__COMPARE__TARGET__CREATE;
		c->against_case = ETCD__COMPARE__AGAINST_CREATE_REVISION;
		c->create_revision = k->number;
		break;
	default:
		c->target = ETCD__COMPARE__TARGET__MOD;
		c->against_case = ETCD__COMPARE__AGAINST_MOD_REVISION;
		c->mod_revision = k->number;
		break;
	}
}

static void
set_get(Etcd__RangeRequest *r, const struct kv_op *o)
{
	etcd__range_request__init(r);
	r->key = to_protobuf_bytes(o->range.key);
	r->range_end = to_protobuf_bytes(o->range.end);
	r->limit = o->limit;
	r->keys_only = o->keys_only;
	if (!o->by_create)
		return;
	r->sort_order = ETCD__RANGE_REQUEST__ORDER__ASCEND;
	r->sort_target = ETCD__RANGE_REQUEST__TARGET__CREATE;
}

static Etcd__RequestOp *
set_op(struct pb_op *p, const struct kv_op *o)
{
	etcd__request_op__init(&p->op);
	switch (o->what) {
	case KV_GET:
		p->op.request_case = ETCD__REQUEST_OP__REQUEST_RANGE;
		p->op.range = &p->u.range;
		set_get(&p->u.range, o);
		break;
	case KV_PUT:
		p->op.request_case = ETCD__REQUEST_OP__REQUEST_PUT;
		p->op.put = &p->u.put;
		etcd__put_request__init(&p->u.put);
		p->u.put.key = to_protobuf_bytes(o->range.key);
		p->u.put.value = to_protobuf_bytes(o->value);
		p->u.put.lease = o->lease;
		break;
	default:
		p->op.request_case = ETCD__REQUEST_OP__REQUEST_DELETE_RANGE;
		p->op.delete_range = &p->u.delete_range;
		etcd__delete_range_request__init(&p->u.delete_range);
		p->u.delete_range.key = to_protobuf_bytes(o->range.key);
		p->u.delete_range.range_end = to_protobuf_bytes(o->range.end);
		break;
	}
	return &p->op;
}

struct wire_out
wire_txn(const struct kv_txn *k)
{
	struct pb_txn *p = malloc(sizeof(*p));
	struct wire_out out = { NULL, 0 };
	struct pb_op *op;

	if (p == NULL)
		return out;
	etcd__txn_request__init(&p->t);
	for (size_t i = 0; i < k->n_compares; i++) {
		set_compare(&p->compares[i], &k->compares[i]);
		p->compare_list[i] = &p->compares[i];
	}
	op = p->ops;
	for (size_t i = 0; i < k->n_then; i++)
		p->then_list[i] = set_op(op++, &k->then[i]);
	for (size_t i = 0; i < k->n_otherwise; i++)
		p->otherwise_list[i] = set_op(op++, &k->otherwise[i]);
	p->t.n_compare = k->n_compares;
	p->t.compare = p->compare_list;
	p->t.n_success = k->n_then;
	p->t.success = p->then_list;
	p->t.n_failure = k->n_otherwise;
	p->t.failure = p->otherwise_list;
	out = pack_message(&p->t.base);
	free(p);
	return out;
}

void
wire_shape(const struct kv_txn *t, struct wire_shape *shape)
{
	uint8_t *what = shape->what;

	shape->n_then = (uint8_t)t->n_then;
	shape->n_otherwise = (uint8_t)t->n_otherwise;
	for (size_t i = 0; i < t->n_then; i++)
		*what++ = (uint8_t)t->then[i].what;
	for (size_t i = 0; i < t->n_otherwise; i++)
		*what++ = (uint8_t)t->otherwise[i].what;
}

struct wire_out
wire_get(struct kv_bytes key)
{
	Etcd__RangeRequest r = ETCD__RANGE_REQUEST__INIT;

	r.key = to_protobuf_bytes(key);
	r.keys_only = true;
	return pack_message(&r.base);
}

struct wire_out
wire_grant(int64_t id, int64_t ttl_s)
{
	Etcd__LeaseGrantRequest g = ETCD__LEASE_GRANT_REQUEST__INIT;

	g.id = id;
	g.ttl = ttl_s;
	return pack_message(&g.base);
}

struct wire_out
wire_revoke(int64_t lease)
{
	Etcd__LeaseRevokeRequest r = ETCD__LEASE_REVOKE_REQUEST__INIT;

	r.id = lease;
	return pack_message(&r.base);
}

struct wire_out
wire_watch(struct kv_bytes prefix)
{
	Etcd__WatchCreateRequest c = ETCD__WATCH_CREATE_REQUEST__INIT;
	Etcd__WatchRequest w = ETCD__WATCH_REQUEST__INIT;
	struct wire_out out = { NULL, 0 };
	struct kv_bytes end = { NULL, 0 };
	uint8_t *p = malloc(prefix.len + 1);

	if (p == NULL)
		return out;
	end = (struct kv_bytes){ p, kv_prefix_end(prefix, p) };
	if (end.len == 0) {	/* etcd's notation for the end of all keys */
		p[0] = 0;
		end.len = 1;
	}
	c.key = to_protobuf_bytes(prefix);
	c.range_end = to_protobuf_bytes(end);
	w.request_case = ETCD__WATCH_REQUEST__REQUEST_CREATE;
	w.create = &c;
	out = pack_message(&w.base);
	free(p);
	return out;
}

struct wire_out
wire_login(const char *user, const char *password)
{
	Etcd__AuthenticateRequest a = ETCD__AUTHENTICATE_REQUEST__INIT;

	a.name = (char *)(uintptr_t)user;
	a.password = (char *)(uintptr_t)password;
	return pack_message(&a.base);
}

/* Returns an empty message, which has no bytes. */
struct wire_out
wire_nothing(void)
{
	return (struct wire_out){ malloc(1), 0 };
}
