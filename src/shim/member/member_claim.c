/* SPDX-License-Identifier: MIT */
/*
 * Claims as objects, the keys that they belong to, how claims end, and how
 * their keys are deleted from the store.  batch.c grants them.  The states of a
 * claim are CC1 to CC7 in doc/protocol.md ("Cluster claim").
 *
 * A claim may be left while a transaction with its key is in flight.  It then
 * waits for the outcome (wants_leave), so that the transaction cannot overtake
 * the deletion.  If the outcome is UNKNOWN, the transaction may still be
 * applied later.  Then the watch or a resync shows a key that belongs to no
 * known claim, and a silent claim deletes it; or the key is being deleted, and
 * is deleted again.  Request numbers are never reused, so such a deletion harms
 * no other claim.
 *
 * Deletions are sent together, up to KV_OPS_MAX in a transaction.  They compare
 * nothing, because a key's name belongs to one request only.  If the store
 * refuses a transaction, each deletion is sent by itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>
#include "member.h"

static int
by_path(const struct member_key *a, const struct member_key *b)
{
	struct kv_bytes x = a->queue.key, y = b->queue.key;
	size_t n = x.len < y.len ? x.len : y.len;
	int c = memcmp(x.p, y.p, n);

	return c != 0 ? c : x.len < y.len ? -1 : x.len > y.len;
}

RB_GENERATE(member_keys, member_key, by_path, by_path)

struct member_key *
member_key_find(struct recipe *r, struct kv_bytes path)
{
	struct member_key want = { .queue.key = path };

	return RB_FIND(member_keys, &r->keys, &want);
}

/* Returns the member_key of a name, made if it is missing.  Its text holds
 * five strings: the path, the path's end, the writers' path, its end, and
 * the name. */
static struct member_key *
member_key_get(struct recipe *r, struct kv_bytes name)
{
	char path[NAME_MAX_LEN + 1];
	size_t len = names_format_path(r, name, path);
	struct member_key *k =
	    member_key_find(r, (struct kv_bytes){(uint8_t *)path, len});
	char *p;

	if (k != NULL)
		return k;
	k = calloc(1, sizeof(*k) + 4 * (len + 4) + name.len);
	if (k == NULL)
		return NULL;
	TAILQ_INIT(&k->claims);
	p = k->text;
	(void)sprintf(p, "%s", path);
	k->queue.key = kv_bytes_of_text(p);
	p += len + 1;
	(void)sprintf(p, "%.*s0", (int)len - 1, path);
	k->queue.end = kv_bytes_of_text(p);
	p += len + 1;
	(void)sprintf(p, "%sw/", path);
	k->writers.key = kv_bytes_of_text(p);
	p += len + 3;
	(void)sprintf(p, "%sw0", path);
	k->writers.end = kv_bytes_of_text(p);
	p += len + 3;
	if (name.len > 0)
		memcpy(p, name.p, name.len);
	k->name = (struct kv_bytes){ (uint8_t *)p, name.len };
	(void)RB_INSERT(member_keys, &r->keys, k);
	return k;
}

/* Frees a member_key that has no claims. */
static void
member_key_put(struct recipe *r, struct member_key *k)
{
	if (!TAILQ_EMPTY(&k->claims))
		return;
	(void)RB_REMOVE(member_keys, &r->keys, k);
	free(k);
}

void
claim_set_name(struct claim *c)
{
	names_format_queue_key((const char *)c->key->queue.key.p, c->mode,
	    c->r->session.name, c->request, c->text);
	c->own = kv_bytes_of_text(c->text);
}

struct claim *
claim_new(struct recipe *r, struct kv_bytes name, enum claim_mode mode,
    uint64_t request)
{
	struct member_key *k = member_key_get(r, name);
	struct claim *c;

	if (k == NULL)
		return NULL;
	c = calloc(1, sizeof(*c) + k->queue.key.len + 2 * HEX + 8);
	if (c == NULL) {
		member_key_put(r, k);
		return NULL;
	}
	c->r = r;
	c->key = k;
	c->mode = mode;
	c->request = request;
	claim_set_name(c);
	TAILQ_INSERT_TAIL(&k->claims, c, of_key);
	r->stats.claims++;
	return c;
}

void
claim_free(struct claim *c)
{
	struct recipe *r = c->r;

	if (c->in_notify)
		TAILQ_REMOVE(&r->to_notify, c, of_notify);
	TAILQ_REMOVE(&c->key->claims, c, of_key);
	member_key_put(r, c->key);
	r->stats.claims--;
	free(c);
}

struct claim *
claim_find(struct member_key *k, uint64_t request)
{
	struct claim *c;

	TAILQ_FOREACH(c, &k->claims, of_key)
		if (c->request == request && c->state != CLAIM_ENDED)
			return c;
	return NULL;
}

/* Reporting. */

void
claim_notify(struct claim *c, unsigned what)
{
	c->notices |= what;
	if (!c->in_notify) {
		TAILQ_INSERT_TAIL(&c->r->to_notify, c, of_notify);
		c->in_notify = true;
	}
	recipe_notify_soon(c->r);
}

void
claim_end(struct claim *c, enum claim_end end, int error, const char *why)
{
	c->state = CLAIM_ENDED;
	c->end = c->silent ? END_SILENT : end;
	c->error = error;
	(void)strlcpy(c->why, why, sizeof(c->why));
	c->notices = 0;
	claim_notify(c, NOTIFY_END);
}

void
claim_recall(struct claim *c, enum claim_mode mode)
{
	if (c->state != CLAIM_GRANTED || mode <= c->recalled)
		return;
	c->recalled = mode;
	c->r->stats.recalls++;
	claim_notify(c, NOTIFY_RECALLED);
}

/* Leaving. */

/* The claims whose keys one transaction deletes. */
struct leaving {
	size_t n;
	struct claim *c[KV_OPS_MAX];
};

static int
leave_send(struct store_call *call)
{
	struct txn *t = txn_begin(call->r);
	struct leaving *l = call->data;

	for (size_t i = 0; i < l->n; i++)
		txn_delete(t, kv_range_of_key(l->c[i]->own));
	return txn_send(call);
}

static void
leave_done(struct store_call *call, const struct kv_answer *answer)
{
	struct leaving *l = call->data;

	for (size_t i = 0; i < l->n; i++) {
		struct claim *c = l->c[i];

		TAILQ_REMOVE(&call->r->leaving, c, of_list);
		/* a late sending put it again */
		if (c->create > answer->revision) {
			c->leave_asked = false;
			TAILQ_INSERT_TAIL(&call->r->leaving, c, of_list);
			continue;
		}
		call->r->stats.leaves++;
		claim_end(c, END_LEFT, 0, "");
	}
}

static bool leave_refused(struct store_call *call,
    const struct kv_answer *answer);

static const struct store_call_ops leave_ops = {
	.send = leave_send, .done = leave_done, .refused = leave_refused,
	.anyway = true
};

/* A deletion was denied.  Sends all but the first by themselves, so that the
 * allowed ones happen.  Returns false: the first is sent again. */
static bool
leave_refused(struct store_call *call, const struct kv_answer *answer)
{
	struct leaving *l = call->data, *one;
	struct store_call *other;

	while (answer->denied && l->n > 1) {
		one = calloc(1, sizeof(*one));
		other = one == NULL ? NULL :
		    store_call_start(call->r, &leave_ops, call->r,
		    call->lane);
		if (other == NULL) {
			free(one);
			break;
		}
		other->data = one;
		one->n = 1;
		one->c[0] = l->c[--l->n];
	}
	return false;
}

/* Without memory, the deletions are sent later. */
void
claims_send_leaving(struct recipe *r)
{
	struct claim *c = TAILQ_LAST(&r->leaving, claims);
	struct leaving *l;
	struct store_call *call;

	while (c != NULL && !c->leave_asked) {
		l = calloc(1, sizeof(*l));
		call = l == NULL ? NULL : store_call_start(r, &leave_ops, r,
		    c->lane);
		if (call == NULL) {
			free(l);
			return;
		}
		call->data = l;
		for (; c != NULL && !c->leave_asked && c->lane == call->lane &&
		    l->n < KV_OPS_MAX; c = TAILQ_PREV(c, claims, of_list)) {
			l->c[l->n++] = c;
			c->leave_asked = true;
		}
	}
}

void
claim_begin_leaving(struct claim *c)
{
	c->state = CLAIM_LEAVING;
	c->notices = 0;
	TAILQ_INSERT_TAIL(&c->r->leaving, c, of_list);
	recipe_notify_soon(c->r);
}

void
claims_drop_leaving(struct recipe *r)
{
	struct store_call *call, *next;

	TAILQ_FOREACH_SAFE(call, &r->calls, all, next)
		if (call->ops == &leave_ops)
			store_call_drop(call);
}

/* Makes a silent claim that deletes a key. */
static void
delete_leftover(struct recipe *r, struct kv_bytes name, enum claim_mode mode,
    uint64_t request)
{
	struct claim *c = claim_new(r, name, mode, request);

	if (c == NULL)
		return;		/* the next resync finds the key */
	c->silent = true;
	r->stats.swept++;
	claim_begin_leaving(c);
}

void
claim_delete_unknown(struct recipe *r, const struct queue_key *p)
{
	uint8_t name[CLAIM_KEY_MAX];
	struct kv_bytes b = { name, 0 };

	if (names_parse_name(r, p->path, name, &b.len))
		delete_leftover(r, b, p->mode, p->request);
}

void
claim_delete_leftover(struct claim *c)
{
	delete_leftover(c->r, c->key->name, c->mode, c->request);
}

void
claim_end_deleted(struct claim *c)
{
	claim_end(c, END_FAILED, ENOENT, "its key in the store was deleted");
	claim_delete_leftover(c);
}
