/* SPDX-License-Identifier: MIT */
/*
 * Looking at everything under our root: when the watch begins, which is also
 * after it missed something; when a session is adopted; and now and then, so
 * that whatever was forgotten is found in the end.
 *
 * The sessions and the first page of the queues in one transaction, at revision
 * R; then page after page.  What is learnt:
 *
 *   - the sessions of others, and that those not shown are dead
 *   - of each claim, who is ahead and who is behind, as member_queue.c does of
 *   one
 *     queue; and if its key is not there any more: it has vanished
 *   - keys of our session that no claim is known for: they are deleted; of an
 *     adopted session they are told first, after a second look that says which
 *     of them are first in their queues
 *   - keys of dead sessions: they are deleted.  A key that is older than R and
 *     whose session is not there at R: the session was there when the key was
 *     made, and never comes again.  (The deletion compares all the same.)
 *
 * What the pages say is as of R or later.  Of claims whose keys are younger
 * than R nothing is concluded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "member.h"

#define AGAIN_MS 100
#define TIMES_TTL 6			/* now and then */

/* Keys of the dead. */

#define DEAD_MAX 60

struct dead {
	size_t n;
	struct {
		char session[ROOT_MAX + HEX + 8];
		char *key;
		int64_t lease;
	} of[DEAD_MAX];
	char text[];
};

static int
bury_send(struct store_call *call)
{
	struct txn *t = txn_begin(call->r);
	struct dead *d = call->data;

	for (size_t i = 0; i < d->n; i++) {
		txn_compare(t, one_key(text_bytes(d->of[i].session)),
		    KV_VERSION, 0);
		txn_delete(t, one_key(text_bytes(d->of[i].key)));
	}
	return txn_send(call);
}

/* Their leases go with them: who ended the sessions may not have been allowed
 * to, because of one of these keys. */
static void
bury_done(struct store_call *call, const struct kv_answer *answer)
{
	struct dead *d = call->data;
	int64_t last = 0;

	if (!answer->succeeded)
		return;
	call->r->stats.swept += d->n;
	for (size_t i = 0; i < d->n; i++) {
		if (d->of[i].lease != last && d->of[i].lease != 0)
			lease_revoke(call->r, d->of[i].lease);
		last = d->of[i].lease;
	}
}

static void bury(struct recipe *r, const struct kv_pair *const *pairs,
    size_t n);

/* One of them may not be deleted: each for itself, so that the others are.  The
 * next sweep finds those that are left again; of those that have gone it finds
 * nothing, nor their leases, so where that is not known it is asked again. */
static bool
bury_refused(struct store_call *call, const struct kv_answer *answer)
{
	struct dead *d = call->data;

	if (call->unknown && !answer->denied)
		return false;
	for (size_t i = 0; answer->denied && d->n > 1 && i < d->n; i++) {
		struct kv_pair p = { .key = text_bytes(d->of[i].key),
		    .lease = d->of[i].lease };
		const struct kv_pair *one = &p;

		bury(call->r, &one, 1);
	}
	return true;
}

static const struct store_call_ops bury_ops = {
	.send = bury_send, .done = bury_done, .refused = bury_refused,
	.once = true
};

/* Those among them, a few at a time. */
static void
bury(struct recipe *r, const struct kv_pair *const *pairs, size_t n)
{
	struct dead *d;
	struct store_call *call;
	struct place p;
	size_t room = 0;
	char *text;

	for (size_t i = 0; i < n; i++)
		room += pairs[i]->key.len + 1;
	d = n == 0 ? NULL : calloc(1, sizeof(*d) + room);
	call = d == NULL ? NULL : store_call_start(r, &bury_ops, NULL);
	if (call == NULL) {
		free(d);
		return;
	}
	call->data = d;
	text = d->text;
	for (size_t i = 0; i < n; i++) {
		struct kv_bytes key = pairs[i]->key;

		(void)parse_place(r, key, &p);
		name_session(r, p.session, d->of[i].session);
		memcpy(text, key.p, key.len);
		d->of[i].key = text;
		d->of[i].lease = pairs[i]->lease;
		text += key.len + 1;
	}
	d->n = n;
}

/* What the pages say. */

static void
begin_claims(struct recipe *r)
{
	struct key *k;
	struct claim *c;

	RB_FOREACH(k, keys, &r->keys)
		TAILQ_FOREACH(c, &k->claims, of_key) {
			c->seen = false;
			c->listed.create = 0;
			c->listed_behind = CLAIM_NONE;
		}
}

static void
see_rival(struct claim *c, const struct place *p, int64_t create)
{
	if (c->create == 0 || !excludes(p->mode, c->mode))
		return;
	if (create > c->create) {
		if (p->mode > c->listed_behind)
			c->listed_behind = p->mode;
	} else if (create > c->listed.create) {
		c->listed = (struct rival){ p->session, p->request, create };
	}
}

static void
find(struct recipe *r, const struct place *p, const struct kv_pair *pair)
{
	uint8_t name[CLAIM_KEY_MAX];
	struct kv_bytes b = { name, 0 };
	struct claim *c;

	if (!parse_name(r, p->path, name, &b.len))
		return;
	c = claim_new(r, b, p->mode, p->request);
	if (c == NULL) {
		r->sweep_short = true;
		return;
	}
	c->state = CLAIM_FOUND;
	c->seen = true;
	c->create = pair->create_revision;
	c->revision = pair->mod_revision;
	TAILQ_INSERT_TAIL(&r->found, c, of_list);
}

static void
see_ours(struct recipe *r, const struct place *p, const struct kv_pair *pair)
{
	struct key *k = key_find(r, p->path);
	struct claim *c = k == NULL ? NULL : claim_find(k, p->request);

	if (c != NULL) {
		c->seen = true;
		claim_appeared(c, pair->create_revision);
	} else if (r->state != SESSION_UP || r->adopting != r->pass) {
		return;
	} else if (r->adopting == ADOPT_FIRST) {
		find(r, p, pair);
	} else {
		claim_ghost(r, p);
	}
}

static bool
is_dead(struct recipe *r, const struct place *p, const struct kv_pair *pair)
{
	return p->session != r->session.name &&
	    pair->create_revision <= r->sweep_revision &&
	    other_find(r, p->session) == NULL;
}

static void
see_page(struct recipe *r, const struct kv_result *page)
{
	const struct kv_pair *dead[DEAD_MAX];
	size_t n_dead = 0;
	struct place p;
	struct key *k;
	struct claim *c;

	for (size_t i = 0; i < page->n; i++) {
		const struct kv_pair *pair = &page->pairs[i];

		if (!parse_place(r, pair->key, &p))
			continue;
		k = key_find(r, p.path);
		if (k != NULL)
			TAILQ_FOREACH(c, &k->claims, of_key)
				if (p.session != r->session.name ||
				    p.request != c->request)
					see_rival(c, &p,
					    pair->create_revision);
		if (p.session == r->session.name) {
			see_ours(r, &p, pair);
		} else if (is_dead(r, &p, pair)) {
			dead[n_dead++] = pair;
			if (n_dead == DEAD_MAX) {
				bury(r, dead, n_dead);
				n_dead = 0;
			}
		}
	}
	bury(r, dead, n_dead);
}

/* Of a claim whose key was in the store at R. */
static void
conclude(struct recipe *r, struct claim *c)
{
	const struct rival *ahead = &c->listed;

	if (c->create == 0 || c->create > r->sweep_revision ||
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
	/* perhaps that was whose deletion was told since: a CONFIRM finds out,
	 * but of a FOUND claim nobody asks */
	if (ahead->create == 0 || (c->key->deleted > r->sweep_revision &&
	    c->state != CLAIM_FOUND))
		ahead = NULL;
	queue_ahead(c, ahead, r->sweep_revision);
}

static void
conclude_all(struct recipe *r)
{
	struct batch *b, *next;
	struct key *k;
	struct claim *c;

	RB_FOREACH(k, keys, &r->keys)
		TAILQ_FOREACH(c, &k->claims, of_key) {
			conclude(r, c);
			if (c->vanished && c->state == CLAIM_GRANTED &&
			    c->batch == NULL)
				claim_deleted(c);
		}
	TAILQ_FOREACH_SAFE(b, &r->batches, all, next) {
		if (b->call == NULL && b->step != BATCH_WAIT)
			batch_start(b);
		else
			batch_settle(b);
	}
}

static void
see_sessions(struct recipe *r, const struct kv_result *q, int64_t revision)
{
	uint64_t name;

	r->sweep_revision = revision;
	begin_claims(r);
	others_unlist(r);
	for (size_t i = 0; i < q->n; i++)
		if (parse_session(r, q->pairs[i].key, &name) &&
		    name != r->session.name)
			other_heard(r, name, &q->pairs[i]);
	others_not_listed(r, revision);
}

static void
finish(struct recipe *r)
{
	conclude_all(r);
	if (r->sweep_short) {	/* else it would be deleted, as a ghost */
		sweep_soon(r, AGAIN_MS);
		return;
	}
	if (r->adopting != r->pass) {
		r->sweep_again = true;	/* we went up meanwhile */
	} else if (r->adopting == ADOPT_SECOND) {
		r->adopting = ADOPT_NO;
		r->tell |= TELL_FOUND;
	} else if (r->adopting == ADOPT_FIRST) {
		r->adopting = ADOPT_SECOND;
		r->sweep_again = true;
	}
	if (r->sweep_again)
		sweep_start(r, false);
	else
		sweep_soon(r, with_jitter(TIMES_TTL * r->o.ttl_ms));
}

void
resync_page_done(struct store_call *call, const struct kv_answer *answer)
{
	struct recipe *r = call->r;
	const struct kv_result *page = &answer->results[0];
	struct kv_bytes last;

	r->resync_call = NULL;
	if (r->sweep_from_len == 0)
		see_sessions(r, &answer->results[1], answer->revision);
	see_page(r, page);
	if (page->n == 0 || page->count <= (int64_t)page->n) {
		finish(r);
		return;
	}
	last = page->pairs[page->n - 1].key;
	if (last.len > NAME_MAX_LEN) {	/* no key of ours: not our root */
		finish(r);
		return;
	}
	memcpy(r->sweep_from, last.p, last.len);
	r->sweep_from[last.len] = '\0';
	r->sweep_from_len = last.len + 1;
	resync_next_page(r);
}
