/* SPDX-License-Identifier: MIT */
/*
 * What answers and changes say about a queue.
 *
 * Of each claim two things are known: who is ahead of it and excludes it, and,
 * if it is granted, whether somebody whom it excludes has come.
 *
 * Who is ahead: all of them, if they are few, nothing was missed since the look
 * and nobody left who was behind (`sure`): when the last one is deleted, it is
 * our turn (batch.c, TURN), and who came is behind.  Else the newest: when that
 * is gone it is probably our turn, of all that wait one wakes up, and a CONFIRM
 * finds out.
 *
 * Changes come from the watch, in order, but they and the answers to what we
 * ask overtake each other.  An answer that is older than a change we heard of
 * must not undo it: `deleted` and `arrived` of a key are the latest revisions
 * of such changes.  If a deletion is newer than the look, whoever was ahead may
 * be the one who went: who is not granted by the look, waits for nobody, and a
 * CONFIRM finds out.
 */
#include <stdio.h>
#include <string.h>
#include "member.h"

bool
excludes(enum claim_mode a, enum claim_mode b)
{
	return a == CLAIM_EXCLUSIVE || b == CLAIM_EXCLUSIVE;
}

static enum claim_mode
stronger(enum claim_mode a, enum claim_mode b)
{
	return a > b ? a : b;
}

/* Our own key in q.  NULL: it is not there. */
static const struct kv_pair *
own(struct claim *c, const struct kv_result *q)
{
	for (size_t i = 0; i < q->n; i++)
		if (same_bytes(q->pairs[i].key, c->own))
			return &q->pairs[i];
	return NULL;
}

/* Who came since an answer that does not know of them. */
void
queue_arrived(struct claim *c, int64_t revision)
{
	enum claim_mode m;

	for (m = CLAIM_SHARED; m <= CLAIM_EXCLUSIVE; m++)
		if (excludes(m, c->mode) && c->key->arrived[m] > revision)
			c->behind = stronger(c->behind, m);
}

void
queue_ahead(struct claim *c, const struct rival *newest, int64_t revision)
{
	c->looked = revision;
	c->sure = false;
	c->n_ahead = newest != NULL;
	if (newest != NULL)
		c->ahead[0] = *newest;
}

/* All later changes will be told; of those between our looks and it some may
 * not have been. */
void
queue_gap(struct recipe *r, int64_t revision)
{
	struct claim *c;
	struct key *k;

	r->watched = revision;
	RB_FOREACH(k, keys, &r->keys)
		TAILQ_FOREACH(c, &k->claims, of_key)
			if (c->looked < revision)
				c->sure = false;
}

/* True: nobody whom we know of is ahead any more. */
static bool
one_less_ahead(struct claim *c, const struct place *p, int64_t revision)
{
	if (revision <= c->looked)
		return false;
	for (unsigned i = 0; i < c->n_ahead; i++)
		if (c->ahead[i].session == p->session &&
		    c->ahead[i].request == p->request) {
			c->ahead[i] = c->ahead[--c->n_ahead];
			return c->n_ahead == 0;
		}
	/* he was behind; is there anybody yet to be recalled for? */
	c->sure = false;
	return false;
}

bool
queue_read(struct claim *c, const struct kv_result *q, int64_t revision)
{
	const struct kv_pair *mine = own(c, q);
	struct rival newest = { .create = 0 };
	unsigned n_ahead = 0;
	struct place p;

	queue_ahead(c, NULL, revision);
	c->behind = CLAIM_NONE;
	if (mine == NULL)
		return false;
	c->create = mine->create_revision;
	for (size_t i = 0; i < q->n; i++) {
		int64_t create = q->pairs[i].create_revision;

		if (&q->pairs[i] == mine ||
		    !parse_place(c->r, q->pairs[i].key, &p) ||
		    !excludes(p.mode, c->mode))
			continue;
		if (create > c->create) {
			c->behind = stronger(c->behind, p.mode);
			continue;
		}
		c->ahead[n_ahead % AHEAD_MAX] = (struct rival){ p.session,
		    p.request, create };
		if (create > newest.create)
			newest = c->ahead[n_ahead % AHEAD_MAX];
		n_ahead++;
	}
	if (n_ahead > AHEAD_MAX) {
		queue_ahead(c, &newest, revision);
	} else {
		c->n_ahead = n_ahead;
		c->sure = revision >= c->r->watched;
	}
	queue_arrived(c, revision);
	return c->deleted <= revision;
}

static void
printable(struct kv_bytes b, char *out, size_t len)
{
	size_t n = 0;

	for (; n < b.len && n + 1 < len; n++)
		out[n] = b.p[n] > ' ' && b.p[n] < 0x7f ? (char)b.p[n] : '?';
	out[n] = '\0';
}

/* "": nobody excludes us. */
void
queue_who(struct claim *c, const struct kv_result *q, char *out, size_t len)
{
	const struct kv_pair *oldest = NULL;
	char host[HOST_MAX + 1];
	struct place p, at = { .session = 0 };

	for (size_t i = 0; i < q->n; i++) {
		if (!parse_place(c->r, q->pairs[i].key, &p) ||
		    !excludes(p.mode, c->mode))
			continue;
		if (oldest == NULL || q->pairs[i].create_revision <
		    oldest->create_revision) {
			oldest = &q->pairs[i];
			at = p;
		}
	}
	out[0] = '\0';
	if (oldest == NULL)
		return;
	printable(oldest->value, host, sizeof(host));
	(void)snprintf(out, len, "host %s, session %016jx, %s, since revision "
	    "%jd", host, (uintmax_t)at.session, at.mode == CLAIM_SHARED ?
	    "shared" : "exclusive", (intmax_t)oldest->create_revision);
}

static void
own_deleted(struct claim *c, int64_t revision)
{
	if (c->state == CLAIM_ASKED)	/* the answer may be of before */
		c->deleted = revision;
	if (c->create == 0 || c->create > revision ||
	    (c->state != CLAIM_QUEUED && c->state != CLAIM_GRANTED &&
	    c->state != CLAIM_FOUND))
		return;
	claim_vanished(c);
}

static void
deleted(struct key *k, const struct place *p, int64_t revision, bool is_ours)
{
	struct claim *c, *next;

	if (k->deleted < revision)
		k->deleted = revision;
	TAILQ_FOREACH_SAFE(c, &k->claims, of_key, next) {
		if (is_ours && c->request == p->request && c->mode == p->mode) {
			own_deleted(c, revision);
			break;
		}
	}
	TAILQ_FOREACH_SAFE(c, &k->claims, of_key, next)
		if (one_less_ahead(c, p, revision) && c->batch != NULL)
			batch_check(c->batch, revision);
}

static void
arrived(struct key *k, const struct place *p, int64_t create)
{
	struct claim *c;

	if (k->arrived[p->mode] < create)
		k->arrived[p->mode] = create;
	TAILQ_FOREACH(c, &k->claims, of_key)
		if (c->create != 0 && create > c->create &&
		    excludes(p->mode, c->mode))
			claim_recall(c, p->mode);
}

void
queue_changed(struct recipe *r, const struct kv_change *change,
    const struct place *p)
{
	bool is_ours = r->session.name == p->session;
	struct key *k = key_find(r, p->path);
	struct claim *c = k == NULL || !is_ours ? NULL :
	    claim_find(k, p->request);

	if (change->deleted) {
		if (k != NULL)
			deleted(k, p, change->pair.mod_revision, is_ours);
		return;
	}
	if (change->pair.create_revision != change->pair.mod_revision)
		return;		/* confirmed, anchored */
	if (is_ours && r->state == SESSION_UP && c == NULL) {
		if (r->settled)
			claim_ghost(r, p);
		else	/* or is it one that is being found? */
			sweep_soon(r, 100);
	} else if (k != NULL) {
		if (c != NULL)
			claim_appeared(c, change->pair.create_revision);
		arrived(k, p, change->pair.create_revision);
	}
}
