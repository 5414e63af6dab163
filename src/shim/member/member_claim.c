/* SPDX-License-Identifier: MIT */
/*
 * Claims: asking for keys, giving them back.  How a batch of them is granted:
 * batch.c.
 *
 *	ASKED	-> QUEUED	its key is in the store, others are ahead
 *		-> GRANTED
 *	QUEUED	-> GRANTED
 *	FOUND	-> GRANTED	of an adopted session, and kept
 *	any	-> LEAVING	its key is to be deleted; in r->leaving
 *		-> ENDED	what is left is to tell it, and to free it
 *
 * Who leaves while a transaction with its key is under way waits for what comes
 * of that (wants_leave), so that the deletion is not overtaken by it as a rule.
 * It can be all the same, when that outcome was UNKNOWN: then a key appears
 * that no claim is known for, in the watch or at the next sweep, and is deleted
 * as a ghost; or of one that is being deleted, and that is done again.  Its
 * request number is never used again, so deleting it harms nobody.
 *
 * Deletions go together, up to KV_OPS_MAX in a transaction, and need no
 * compare: the key's name is this request's alone.  If one of them may not be
 * done, each goes for itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>
#include "member.h"

static int
by_path(const struct key *a, const struct key *b)
{
	struct kv_bytes x = a->queue.key, y = b->queue.key;
	size_t n = x.len < y.len ? x.len : y.len;
	int c = memcmp(x.p, y.p, n);

	return c != 0 ? c : x.len < y.len ? -1 : x.len > y.len;
}

RB_GENERATE(keys, key, by_path, by_path)

struct key *
key_find(struct recipe *r, struct kv_bytes path)
{
	struct key want = { .queue.key = path };

	return RB_FIND(keys, &r->keys, &want);
}

/* The texts of a key: path, its end, the writers' and their end, name. */
static struct key *
key_get(struct recipe *r, struct kv_bytes name)
{
	char path[NAME_MAX_LEN + 1];
	size_t len = name_path(r, name, path);
	struct key *k = key_find(r, (struct kv_bytes){ (uint8_t *)path, len });
	char *p;

	if (k != NULL)
		return k;
	k = calloc(1, sizeof(*k) + 4 * (len + 4) + name.len);
	if (k == NULL)
		return NULL;
	TAILQ_INIT(&k->claims);
	p = k->text;
	(void)sprintf(p, "%s", path);
	k->queue.key = text_bytes(p);
	p += len + 1;
	(void)sprintf(p, "%.*s0", (int)len - 1, path);
	k->queue.end = text_bytes(p);
	p += len + 1;
	(void)sprintf(p, "%sw/", path);
	k->writers.key = text_bytes(p);
	p += len + 3;
	(void)sprintf(p, "%sw0", path);
	k->writers.end = text_bytes(p);
	p += len + 3;
	if (name.len > 0)
		memcpy(p, name.p, name.len);
	k->name = (struct kv_bytes){ (uint8_t *)p, name.len };
	(void)RB_INSERT(keys, &r->keys, k);
	return k;
}

static void
key_put_back(struct recipe *r, struct key *k)
{
	if (!TAILQ_EMPTY(&k->claims))
		return;
	(void)RB_REMOVE(keys, &r->keys, k);
	free(k);
}

void
claim_name(struct claim *c)
{
	name_place((const char *)c->key->queue.key.p, c->mode,
	    c->r->session.name, c->request, c->text);
	c->own = text_bytes(c->text);
}

struct claim *
claim_new(struct recipe *r, struct kv_bytes name, enum claim_mode mode,
    uint64_t request)
{
	struct key *k = key_get(r, name);
	struct claim *c;

	if (k == NULL)
		return NULL;
	c = calloc(1, sizeof(*c) + k->queue.key.len + 2 * HEX + 8);
	if (c == NULL) {
		key_put_back(r, k);
		return NULL;
	}
	c->r = r;
	c->key = k;
	c->mode = mode;
	c->request = request;
	claim_name(c);
	TAILQ_INSERT_TAIL(&k->claims, c, of_key);
	r->stats.claims++;
	return c;
}

void
claim_free(struct claim *c)
{
	struct recipe *r = c->r;

	if (c->to_be_told)
		TAILQ_REMOVE(&r->told, c, of_told);
	TAILQ_REMOVE(&c->key->claims, c, of_key);
	key_put_back(r, c->key);
	r->stats.claims--;
	free(c);
}

struct claim *
claim_find(struct key *k, uint64_t request)
{
	struct claim *c;

	TAILQ_FOREACH(c, &k->claims, of_key)
		if (c->request == request && c->state != CLAIM_ENDED)
			return c;
	return NULL;
}

/* Telling. */

void
claim_tell(struct claim *c, unsigned what)
{
	c->tell |= what;
	if (!c->to_be_told) {
		TAILQ_INSERT_TAIL(&c->r->told, c, of_told);
		c->to_be_told = true;
	}
	recipe_tell_soon(c->r);
}

void
claim_end(struct claim *c, enum claim_end end, int error, const char *why)
{
	c->state = CLAIM_ENDED;
	c->end = c->ghost ? END_SILENT : end;
	c->error = error;
	(void)strlcpy(c->why, why, sizeof(c->why));
	c->tell = 0;
	claim_tell(c, TELL_END);
}

void
claim_recall(struct claim *c, enum claim_mode mode)
{
	if (c->state != CLAIM_GRANTED || mode <= c->recalled)
		return;
	c->recalled = mode;
	c->r->stats.recalls++;
	claim_tell(c, TELL_RECALLED);
}

/* Leaving. */

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
		txn_delete(t, one_key(l->c[i]->own));
	return txn_send(call);
}

static void
leave_done(struct store_call *call, const struct kv_answer *answer)
{
	struct leaving *l = call->data;

	for (size_t i = 0; i < l->n; i++) {
		struct claim *c = l->c[i];

		TAILQ_REMOVE(&call->r->leaving, c, of_list);
		if (c->create > answer->revision) {	/* it came late */
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

/* One of them may not be deleted: each for itself, so that the others are. */
static bool
leave_refused(struct store_call *call, const struct kv_answer *answer)
{
	struct leaving *l = call->data, *one;
	struct store_call *other;

	while (answer->denied && l->n > 1) {
		one = calloc(1, sizeof(*one));
		other = one == NULL ? NULL :
		    store_call_start(call->r, &leave_ops, call->r);
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

/* Those that nobody has asked about.  Without memory: later. */
void
claims_flush(struct recipe *r)
{
	struct claim *c = TAILQ_LAST(&r->leaving, claims);
	struct leaving *l;
	struct store_call *call;

	while (c != NULL && !c->leave_asked) {
		l = calloc(1, sizeof(*l));
		call = l == NULL ? NULL : store_call_start(r, &leave_ops, r);
		if (call == NULL) {
			free(l);
			return;
		}
		call->data = l;
		for (; c != NULL && !c->leave_asked && l->n < KV_OPS_MAX;
		    c = TAILQ_PREV(c, claims, of_list)) {
			l->c[l->n++] = c;
			c->leave_asked = true;
		}
	}
}

void
claim_go(struct claim *c)
{
	c->state = CLAIM_LEAVING;
	c->tell = 0;
	TAILQ_INSERT_TAIL(&c->r->leaving, c, of_list);
	recipe_tell_soon(c->r);
}

void
claims_drop_leaving(struct recipe *r)
{
	struct store_call *call, *next;

	TAILQ_FOREACH_SAFE(call, &r->calls, all, next)
		if (call->ops == &leave_ops)
			store_call_drop(call);
}

static void
haunt(struct recipe *r, struct kv_bytes name, enum claim_mode mode,
    uint64_t request)
{
	struct claim *c = claim_new(r, name, mode, request);

	if (c == NULL)
		return;		/* the next sweep finds it */
	c->ghost = true;
	r->stats.swept++;
	claim_go(c);
}

void
claim_ghost(struct recipe *r, const struct place *p)
{
	uint8_t name[CLAIM_KEY_MAX];
	struct kv_bytes b = { name, 0 };

	if (parse_name(r, p->path, name, &b.len))
		haunt(r, b, p->mode, p->request);
}

void
claim_haunt(struct claim *c)
{
	haunt(c->r, c->key->name, c->mode, c->request);
}

void
claim_deleted(struct claim *c)
{
	claim_end(c, END_FAILED, ENOENT, "its key in the store was deleted");
	claim_haunt(c);
}
