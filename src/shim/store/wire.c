/* SPDX-License-Identifier: MIT */
/*
 * Decodes the messages of etcd into the types of engine.h; see wire.h.
 *
 * protobuf-c unpacks the bytes.  These functions then check that the message is
 * valid:
 *
 * - it has a header with a cluster id and a revision that is not negative;
 * - a transaction has one result for each operation, of the right kind;
 * - numbers of leases and revisions are plausible.
 *
 * An invalid answer counts as no answer, because it does not say what happened.
 *
 * Bytes are not copied.  The results point into protobuf-c's structs, which
 * live as long as the wire_in.
 */
#include <stdlib.h>
#include "shim/store/etcd.pb-c.h"
#include "wire.h"

static struct kv_bytes
to_kv_bytes(ProtobufCBinaryData d)
{
	return (struct kv_bytes){ d.data, d.len };
}

/* Starts a wire_in for a message and checks its header.  Takes ownership of the
 * message, even if it returns NULL. */
static struct wire_in *
begin(void *message, void (*free_message)(void *message),
    const Etcd__Header *h)
{
	struct wire_in *in = NULL;

	if (message == NULL)
		return NULL;
	if (h != NULL && h->cluster_id != 0 && h->revision >= 0)
		in = calloc(1, sizeof(*in));
	if (in == NULL) {
		free_message(message);
		return NULL;
	}
	in->message = message;
	in->free_message = free_message;
	in->cluster = h->cluster_id;
	in->revision = h->revision;
	return in;
}

void
wire_free(struct wire_in *in)
{
	in->free_message(in->message);
	free(in->results);
	free(in->pairs);
	free(in->changes);
	free(in);
}

/* Frees `in` and returns NULL. */
static struct wire_in *
bad(struct wire_in *in)
{
	wire_free(in);
	return NULL;
}

static bool
is_pair(const Etcd__KeyValue *kv)
{
	return kv->create_revision >= 0 && kv->mod_revision >= 0 &&
	    kv->version >= 0;
}

static struct kv_pair
to_kv_pair(const Etcd__KeyValue *kv)
{
	return (struct kv_pair){ to_kv_bytes(kv->key), to_kv_bytes(kv->value),
	    kv->create_revision, kv->mod_revision, kv->version, kv->lease };
}

/* Transactions. */

static void
free_txn(void *m)
{
	etcd__txn_response__free_unpacked(m, NULL);
}

static bool
is_answer(const Etcd__ResponseOp *r, enum kv_what what)
{
	switch (what) {
	case KV_GET:
		return r->response_case == ETCD__RESPONSE_OP__RESPONSE_RANGE &&
		    r->range != NULL && r->range->count >= 0;
	case KV_PUT:
		return r->response_case == ETCD__RESPONSE_OP__RESPONSE_PUT;
	default:
		return r->response_case ==
		    ETCD__RESPONSE_OP__RESPONSE_DELETE_RANGE &&
		    r->delete_range != NULL && r->delete_range->deleted >= 0;
	}
}

/* Returns the number of pairs in all results.  Returns -1 if the results do not
 * match the operations of the transaction. */
static ssize_t
count_pairs(const Etcd__TxnResponse *t, const struct wire_shape *shape)
{
	const uint8_t *what = shape->what + (t->succeeded ? 0 : shape->n_then);
	size_t n = 0;

	if (t->n_responses != (t->succeeded ? shape->n_then :
	    shape->n_otherwise))
		return -1;
	for (size_t i = 0; i < t->n_responses; i++) {
		if (!is_answer(t->responses[i], what[i]))
			return -1;
		if (what[i] != KV_GET)
			continue;
		n += t->responses[i]->range->n_kvs;
		for (size_t k = 0; k < t->responses[i]->range->n_kvs; k++)
			if (!is_pair(t->responses[i]->range->kvs[k]))
				return -1;
	}
	return (ssize_t)n;
}

static void
set_result(struct kv_result *r, const Etcd__ResponseOp *op,
    struct kv_pair **free_pairs)
{
	if (op->response_case == ETCD__RESPONSE_OP__RESPONSE_DELETE_RANGE)
		r->count = op->delete_range->deleted;
	if (op->response_case != ETCD__RESPONSE_OP__RESPONSE_RANGE)
		return;
	r->pairs = *free_pairs;
	r->n = op->range->n_kvs;
	r->count = op->range->count;
	for (size_t i = 0; i < r->n; i++)
		*(*free_pairs)++ = to_kv_pair(op->range->kvs[i]);
}

struct wire_in *
wire_txn_answer(const uint8_t *p, size_t len, const struct wire_shape *shape)
{
	Etcd__TxnResponse *t = etcd__txn_response__unpack(NULL, len, p);
	struct wire_in *in = begin(t, free_txn, t == NULL ? NULL : t->header);
	struct kv_pair *pairs;
	ssize_t n;

	if (in == NULL)
		return NULL;
	n = count_pairs(t, shape);
	if (n < 0)
		return bad(in);
	in->succeeded = t->succeeded;
	in->n_results = t->n_responses;
	in->results = calloc(t->n_responses + 1, sizeof(*in->results));
	in->pairs = calloc((size_t)n + 1, sizeof(*in->pairs));
	if (in->results == NULL || in->pairs == NULL)
		return bad(in);
	pairs = in->pairs;
	for (size_t i = 0; i < t->n_responses; i++)
		set_result(&in->results[i], t->responses[i], &pairs);
	return in;
}

/* Other answers. */

static void
free_range(void *m)
{
	etcd__range_response__free_unpacked(m, NULL);
}

struct wire_in *
wire_get_answer(const uint8_t *p, size_t len, const struct wire_shape *shape)
{
	Etcd__RangeResponse *r = etcd__range_response__unpack(NULL, len, p);

	(void)shape;
	return begin(r, free_range, r == NULL ? NULL : r->header);
}

static void
free_grant(void *m)
{
	etcd__lease_grant_response__free_unpacked(m, NULL);
}

struct wire_in *
wire_grant_answer(const uint8_t *p, size_t len, const struct wire_shape *shape)
{
	Etcd__LeaseGrantResponse *g = etcd__lease_grant_response__unpack(NULL,
	    len, p);
	struct wire_in *in = begin(g, free_grant, g == NULL ? NULL :
	    g->header);

	(void)shape;
	if (in == NULL)
		return NULL;
	if (g->id == 0 || g->error[0] != '\0')
		return bad(in);
	in->lease = g->id;
	return in;
}

static void
free_revoke(void *m)
{
	etcd__lease_revoke_response__free_unpacked(m, NULL);
}

struct wire_in *
wire_revoke_answer(const uint8_t *p, size_t len, const struct wire_shape *shape)
{
	Etcd__LeaseRevokeResponse *r = etcd__lease_revoke_response__unpack(
	    NULL, len, p);

	(void)shape;
	return begin(r, free_revoke, r == NULL ? NULL : r->header);
}

static void
free_watch(void *m)
{
	etcd__watch_response__free_unpacked(m, NULL);
}

static bool
set_changes(struct wire_in *in, const Etcd__WatchResponse *w)
{
	in->changes = calloc(w->n_events + 1, sizeof(*in->changes));
	if (in->changes == NULL)
		return false;
	in->n_changes = w->n_events;
	for (size_t i = 0; i < w->n_events; i++) {
		const Etcd__Event *e = w->events[i];

		if (e->kv == NULL || !is_pair(e->kv))
			return false;
		in->changes[i].deleted = e->type == ETCD__EVENT__TYPE__DELETE;
		in->changes[i].pair = to_kv_pair(e->kv);
	}
	return true;
}

struct wire_in *
wire_watch_message(const uint8_t *p, size_t len, const struct wire_shape *shape)
{
	Etcd__WatchResponse *w = etcd__watch_response__unpack(NULL, len, p);
	struct wire_in *in = begin(w, free_watch, w == NULL ? NULL :
	    w->header);

	(void)shape;
	if (in == NULL)
		return NULL;
	in->created = w->created;
	in->canceled = w->canceled;
	in->compacted = w->compact_revision;
	in->reason = w->cancel_reason;
	return set_changes(in, w) ? in : bad(in);
}

static void
free_login(void *m)
{
	etcd__authenticate_response__free_unpacked(m, NULL);
}

struct wire_in *
wire_login_answer(const uint8_t *p, size_t len, const struct wire_shape *shape)
{
	Etcd__AuthenticateResponse *a =
	    etcd__authenticate_response__unpack(NULL, len, p);
	struct wire_in *in = begin(a, free_login, a == NULL ? NULL :
	    a->header);

	(void)shape;
	if (in == NULL)
		return NULL;
	in->token = a->token;
	return in;
}

static void
free_status(void *m)
{
	etcd__status_response__free_unpacked(m, NULL);
}

struct wire_in *
wire_status_answer(const uint8_t *p, size_t len, const struct wire_shape *shape)
{
	Etcd__StatusResponse *s = etcd__status_response__unpack(NULL, len, p);
	struct wire_in *in = begin(s, free_status, s == NULL ? NULL :
	    s->header);

	(void)shape;
	if (in == NULL)
		return NULL;
	in->version = s->version;
	return in;
}
