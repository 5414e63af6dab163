/* SPDX-License-Identifier: MIT */
/*
 * Bytes from etcd: any are read without harm, and nonsense is not taken for an
 * answer.
 *
 * The script.  Its first byte says what it is:
 *	even	a message for a decoder: which (1 byte); for a transaction the
 *		shape that was asked (n_then, n_otherwise, 1 byte each), whose
 *		kinds are drawn from those bytes; the rest is the message
 *	odd	what a server does to a channel: etcd-channel.c
 */
#include <string.h>
#include "fuzz/fuzz.h"
#include "fuzz/etcd-channel.h"
#include "shim/store/wire.h"

const char fuzz_name[] = "etcd";

static wire_fn *const decoders[] = { wire_txn_answer, wire_get_answer,
    wire_grant_answer, wire_revoke_answer, wire_watch_message,
    wire_login_answer, wire_status_answer };

#define DECODERS (sizeof(decoders) / sizeof(decoders[0]))

static unsigned seen;		/* so that reading is not left out */

static void
look_at(struct kv_bytes b)
{
	for (size_t i = 0; i < b.len; i++)
		seen += b.p[i];
}

static void
look_at_pair(const struct kv_pair *p)
{
	look_at(p->key);
	look_at(p->value);
	if (p->create_revision < 0 || p->mod_revision < 0 || p->version < 0)
		fuzz_finding("a negative revision was let through");
}

static void
look_at_results(const struct wire_in *in, const struct wire_shape *shape)
{
	size_t want = in->succeeded ? shape->n_then : shape->n_otherwise;
	const uint8_t *what = shape->what + (in->succeeded ? 0 :
	    shape->n_then);

	if (in->n_results != want)
		fuzz_finding("%zu results, %zu asked for", in->n_results,
		    want);
	for (size_t i = 0; i < in->n_results; i++) {
		const struct kv_result *r = &in->results[i];

		if (what[i] != KV_GET && r->n != 0)
			fuzz_finding("pairs of what is no get");
		for (size_t k = 0; k < r->n; k++)
			look_at_pair(&r->pairs[k]);
	}
}

static void
decode(struct fuzz_input *in)
{
	wire_fn *fn = decoders[fuzz_take(in, 1) % DECODERS];
	struct wire_shape shape = { 0 };
	struct wire_in *w;

	if (fn == wire_txn_answer) {
		shape.n_then = (uint8_t)(fuzz_take(in, 1) % KV_OPS_MAX);
		shape.n_otherwise = (uint8_t)(fuzz_take(in, 1) % KV_OPS_MAX);
		for (unsigned i = 0; i < 2 * KV_OPS_MAX; i++)
			shape.what[i] = (uint8_t)((shape.n_then * 7u +
			    shape.n_otherwise * 5u + i) % 3);
	}
	w = fn(in->p, in->left, &shape);
	if (w == NULL)
		return;
	if (w->cluster == 0 || w->revision < 0)
		fuzz_finding("no cluster, or a negative revision");
	if (fn == wire_txn_answer)
		look_at_results(w, &shape);
	if (fn == wire_grant_answer && w->lease == 0)
		fuzz_finding("a lease that is none");
	for (size_t i = 0; i < w->n_changes; i++)
		look_at_pair(&w->changes[i].pair);
	if (w->token != NULL)
		seen += (unsigned)strlen(w->token);
	if (w->version != NULL)
		seen += (unsigned)strlen(w->version);
	if (w->reason != NULL)
		seen += (unsigned)strlen(w->reason);
	wire_free(w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	if (fuzz_take(&in, 1) % 2 == 0)
		decode(&in);
	else
		fuzz_channel(&in);
	return 0;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_channel_begin();
	return 0;
}
