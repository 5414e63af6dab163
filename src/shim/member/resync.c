/* SPDX-License-Identifier: MIT */
/*
 * Handles a full read of everything under our root.  A full read happens when
 * the watch begins, also after a gap; when a session is adopted; and regularly,
 * so that whatever was missed is found in the end.  resync_pages.c reads the
 * pages and calls resync_page_done().
 *
 * The sessions and the first page of the queues are read in one transaction, at
 * revision R.  More pages follow.  Together they tell
 *
 * - which peers exist: peers that are not listed are dead;
 * - who is ahead of and behind each claim, as member_queue.c learns it of one
 *   queue, or that the claim's key has vanished;
 * - which keys of our session belong to no known claim: they are deleted.  Keys
 *   of an adopted session are first offered to the caller, after a second read
 *   that shows which of them are first in their queues; and
 * - which keys belong to dead sessions: they are deleted.  If a key is older
 *   than R and its session is not there at R, then the session existed when the
 *   key was made, and never returns.  (The deletion still compares the
 *   session's key.)
 *
 * Pages are read at R or later.  They say nothing about claims whose keys are
 * younger than R.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "member.h"

#define AGAIN_MS 100
#define TIMES_TTL 6			/* interval of regular reads */

/* Keys of dead sessions. */

#define DEAD_MAX 60

struct dead_keys {
	size_t n;
	struct {
		char session[ROOT_MAX + HEX + 8];
		char *key;
		int64_t lease;
	} of[DEAD_MAX];
	char text[];
};

static int
dead_keys_send(struct store_call *call)
{
	struct txn *t = txn_begin(call->r);
	struct dead_keys *d = call->data;

	for (size_t i = 0; i < d->n; i++) {
		txn_compare(t,
		    kv_range_of_key(kv_bytes_of_text(d->of[i].session)),
		    KV_VERSION, 0);
		txn_delete(t, kv_range_of_key(kv_bytes_of_text(d->of[i].key)));
	}
	return txn_send(call);
}

/* Revokes the leases, too: the member that ended the sessions may have been
 * denied that because of one of these keys. */
static void
dead_keys_done(struct store_call *call, const struct kv_answer *answer)
{
	struct dead_keys *d = call->data;
	int64_t last = 0;

	if (!answer->succeeded)
		return;
	call->r->stats.swept += d->n;
	for (size_t i = 0; i < d->n; i++) {
		if (d->of[i].lease != last && d->of[i].lease != 0)
			peers_revoke_lease(call->r, d->of[i].lease);
		last = d->of[i].lease;
	}
}

static void delete_dead_keys(struct recipe *r,
    const struct kv_pair *const *pairs, size_t n);

/* A deletion was denied.  Deletes each key by itself, so that the allowed ones
 * go.  The next resync finds the keys that remain.  It finds nothing of keys
 * that are gone, nor their leases; so an UNKNOWN outcome is repeated. */
static bool
dead_keys_refused(struct store_call *call, const struct kv_answer *answer)
{
	struct dead_keys *d = call->data;

	if (call->unknown && !answer->denied)
		return false;
	for (size_t i = 0; answer->denied && d->n > 1 && i < d->n; i++) {
		struct kv_pair p = { .key = kv_bytes_of_text(d->of[i].key),
		    .lease = d->of[i].lease };
		const struct kv_pair *one = &p;

		delete_dead_keys(call->r, &one, 1);
	}
	return true;
}

static const struct store_call_ops dead_keys_ops = {.send = dead_keys_send,
    .done = dead_keys_done,
    .refused = dead_keys_refused,
    .once = true};

/* Deletes these keys, if their sessions are dead. */
static void
delete_dead_keys(struct recipe *r, const struct kv_pair *const *pairs, size_t n)
{
	struct dead_keys *d;
	struct store_call *call;
	struct queue_key p;
	size_t room = 0;
	char *text;

	for (size_t i = 0; i < n; i++)
		room += pairs[i]->key.len + 1;
	d = n == 0 ? NULL : calloc(1, sizeof(*d) + room);
	call = d == NULL ? NULL : store_call_start(r, &dead_keys_ops, NULL,
	    NULL);
	if (call == NULL) {
		free(d);
		return;
	}
	call->data = d;
	text = d->text;
	for (size_t i = 0; i < n; i++) {
		struct kv_bytes key = pairs[i]->key;

		(void)names_parse_queue_key(r, key, &p);
		names_format_session(r, p.session, d->of[i].session);
		memcpy(text, key.p, key.len);
		d->of[i].key = text;
		d->of[i].lease = pairs[i]->lease;
		text += key.len + 1;
	}
	d->n = n;
}

/* Handling pages. */

static void
clear_listings(struct recipe *r)
{
	struct member_key *k;
	struct claim *c;

	RB_FOREACH(k, member_keys, &r->keys)
		TAILQ_FOREACH(c, &k->claims, of_key) {
			c->seen = false;
			c->listed.create = 0;
			c->listed_behind = CLAIM_NONE;
		}
}

/* Notes for a claim that another claim is ahead or behind. */
static void
list_peer_claim(struct claim *c, const struct queue_key *p, int64_t create)
{
	if (c->create == 0 || !queue_modes_exclude(p->mode, c->mode))
		return;
	if (create > c->create) {
		if (p->mode > c->listed_behind)
			c->listed_behind = p->mode;
	} else if (create > c->listed.create) {
		c->listed = (struct peer_claim){p->session, p->request, create};
	}
}

/* Makes a claim for a key of an adopted session. */
static void
add_found_claim(struct recipe *r, const struct queue_key *p,
    const struct kv_pair *pair)
{
	uint8_t name[CLAIM_KEY_MAX];
	struct kv_bytes b = { name, 0 };
	struct claim *c;

	if (!names_parse_name(r, p->path, name, &b.len))
		return;
	c = claim_new(r, b, p->mode, p->request);
	if (c == NULL) {
		r->resync_no_memory = true;
		return;
	}
	c->state = CLAIM_FOUND;
	c->seen = true;
	c->create = pair->create_revision;
	c->revision = pair->mod_revision;
	TAILQ_INSERT_TAIL(&r->found, c, of_list);
}

/* Handles a key of our own session. */
static void
check_own_key(struct recipe *r, const struct queue_key *p,
    const struct kv_pair *pair)
{
	struct member_key *k = member_key_find(r, p->path);
	struct claim *c = k == NULL ? NULL : claim_find(k, p->request);

	if (c != NULL) {
		c->seen = true;
		claim_key_appeared(c, pair->create_revision);
	} else if (r->state != SESSION_UP || r->adopting != r->pass) {
		return;
	} else if (r->adopting == ADOPT_FIRST) {
		add_found_claim(r, p, pair);
	} else {
		claim_delete_unknown(r, p);
	}
}

/* True if the key belongs to a session that is dead. */
static bool
is_dead(struct recipe *r, const struct queue_key *p, const struct kv_pair *pair)
{
	return p->session != r->session.name &&
	    pair->create_revision <= r->resync_revision &&
	    peer_find(r, p->session) == NULL;
}

static void
read_page(struct recipe *r, const struct kv_result *page)
{
	const struct kv_pair *dead[DEAD_MAX];
	size_t n_dead = 0;
	struct queue_key p;
	struct member_key *k;
	struct claim *c;

	for (size_t i = 0; i < page->n; i++) {
		const struct kv_pair *pair = &page->pairs[i];

		if (!names_parse_queue_key(r, pair->key, &p)) {
			if (!r->listed_all)
				names_note_foreign(r, pair->key);
			continue;
		}
		k = member_key_find(r, p.path);
		if (k != NULL)
			TAILQ_FOREACH(c, &k->claims, of_key)
				if (p.session != r->session.name ||
				    p.request != c->request)
					list_peer_claim(c, &p,
					    pair->create_revision);
		if (p.session == r->session.name) {
			check_own_key(r, &p, pair);
		} else if (is_dead(r, &p, pair)) {
			dead[n_dead++] = pair;
			if (n_dead == DEAD_MAX) {
				delete_dead_keys(r, dead, n_dead);
				n_dead = 0;
			}
		}
	}
	delete_dead_keys(r, dead, n_dead);
}

/* Applies what the pages said to a claim whose key was in the store at R. */
static void
conclude_claim(struct recipe *r, struct claim *c)
{
	const struct peer_claim *ahead = &c->listed;

	if (c->create == 0 || c->create > r->resync_revision ||
	    (c->state != CLAIM_QUEUED && c->state != CLAIM_GRANTED &&
	    c->state != CLAIM_FOUND))
		return;
	if (!c->seen) {
		c->vanished = true;
		return;
	}
	c->behind = c->listed_behind;
	if (c->behind != CLAIM_NONE)
		claim_recall(c, c->behind);
	/* that claim may have been deleted since: a CONFIRM finds out, but
	 * nothing confirms a FOUND claim */
	if (ahead->create == 0 || (c->key->deleted > r->resync_revision &&
	    c->state != CLAIM_FOUND))
		ahead = NULL;
	queue_set_ahead(c, ahead, r->resync_revision);
}

static void
conclude_claims(struct recipe *r)
{
	struct batch *b, *next;
	struct member_key *k;
	struct claim *c;

	RB_FOREACH(k, member_keys, &r->keys)
		TAILQ_FOREACH(c, &k->claims, of_key) {
			conclude_claim(r, c);
			if (c->vanished && c->state == CLAIM_GRANTED &&
			    c->batch == NULL)
				claim_end_deleted(c);
		}
	TAILQ_FOREACH_SAFE(b, &r->batches, all, next) {
		if (b->call == NULL && b->step != BATCH_WAIT)
			batch_start(b);
		else
			batch_settle(b);
	}
}

static void
read_sessions(struct recipe *r, const struct kv_result *q, int64_t revision)
{
	uint64_t name;

	r->resync_revision = revision;
	clear_listings(r);
	peers_clear_listed(r);
	for (size_t i = 0; i < q->n; i++)
		if (names_parse_session(r, q->pairs[i].key, &name) &&
		    name != r->session.name)
			peer_heard(r, name, &q->pairs[i]);
	peers_end_unlisted(r, revision);
}

static void
finish_pass(struct recipe *r)
{
	conclude_claims(r);
	r->listed_all = true;
	if (r->resync_no_memory) { /* otherwise the key would be deleted */
		resync_soon(r, AGAIN_MS);
		return;
	}
	if (r->adopting != r->pass) {
		r->resync_again = true;	/* the session came up during the
					 * read */
	} else if (r->adopting == ADOPT_SECOND) {
		r->adopting = ADOPT_NO;
		r->notices |= NOTIFY_FOUND;
	} else if (r->adopting == ADOPT_FIRST) {
		r->adopting = ADOPT_SECOND;
		r->resync_again = true;
	}
	if (r->resync_again)
		resync_start(r, false);
	else
		resync_soon(r, timers_jitter_ms(TIMES_TTL * r->o.ttl_ms));
}

void
resync_page_done(struct store_call *call, const struct kv_answer *answer)
{
	struct recipe *r = call->r;
	const struct kv_result *page = &answer->results[0];
	struct kv_bytes last;

	r->resync_call = NULL;
	if (r->resync_from_len == 0)
		read_sessions(r, &answer->results[1], answer->revision);
	read_page(r, page);
	if (page->n == 0 || page->count <= (int64_t)page->n) {
		finish_pass(r);
		return;
	}
	last = page->pairs[page->n - 1].key;
	if (last.len > NAME_MAX_LEN) {	/* too long for a key of ours */
		finish_pass(r);
		return;
	}
	memcpy(r->resync_from, last.p, last.len);
	r->resync_from[last.len] = '\0';
	r->resync_from_len = last.len + 1;
	resync_next_page(r);
}
