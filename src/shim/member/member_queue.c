/* SPDX-License-Identifier: MIT */
/*
 * Interprets an answer of the store about a queue.  batch.c passes answers to
 * it; queue_watch.c and resync.c use its helpers.
 *
 * Two things are known of each claim: which claims are ahead and exclude it;
 * and, once it is granted, whether a claim that it excludes has queued behind
 * it.
 *
 * Claims ahead.  All of them are known (`sure`) if there are at most AHEAD_MAX,
 * no change was missed since the read, and nobody behind us has left.  When the
 * last of them is deleted, it is our turn (batch.c, TURN), because everybody
 * who came later is behind.  Otherwise only the newest is known.  When that one
 * is gone, it is probably our turn, and a CONFIRM finds out.  So only one
 * waiter wakes up.
 *
 * The watch reports changes in order, but changes and answers to our calls
 * overtake each other.  An answer that is older than a change must not override
 * it.  Therefore `deleted` and `arrived` of a key hold the latest revisions of
 * such changes.  If a deletion is newer than the read, the claim ahead may be
 * the deleted one.  So a claim that such a read does not grant waits for
 * nobody, and a CONFIRM finds out.
 */
#include <stdio.h>
#include <string.h>
#include "member.h"

bool
queue_modes_exclude(enum claim_mode a, enum claim_mode b)
{
	return a == CLAIM_EXCLUSIVE || b == CLAIM_EXCLUSIVE;
}

static enum claim_mode
stronger_mode(enum claim_mode a, enum claim_mode b)
{
	return a > b ? a : b;
}

/* Returns the claim's own key in q, or NULL. */
static const struct kv_pair *
find_own_key(struct claim *c, const struct kv_result *q)
{
	for (size_t i = 0; i < q->n; i++)
		if (kv_bytes_is_equal(q->pairs[i].key, c->own))
			return &q->pairs[i];
	return NULL;
}

void
queue_note_arrivals(struct claim *c, int64_t revision)
{
	enum claim_mode m;

	for (m = CLAIM_SHARED; m <= CLAIM_EXCLUSIVE; m++)
		if (queue_modes_exclude(m, c->mode) &&
		    c->key->arrived[m] > revision)
			c->behind = stronger_mode(c->behind, m);
}

void
queue_set_ahead(struct claim *c, const struct peer_claim *newest,
    int64_t revision)
{
	c->looked = revision;
	c->sure = false;
	c->n_ahead = newest != NULL;
	if (newest != NULL)
		c->ahead[0] = *newest;
}

bool
queue_read(struct claim *c, const struct kv_result *q, int64_t revision)
{
	const struct kv_pair *mine = find_own_key(c, q);
	struct peer_claim newest = { .create = 0 };
	unsigned n_ahead = 0;
	struct queue_key p;

	queue_set_ahead(c, NULL, revision);
	c->behind = CLAIM_NONE;
	if (mine == NULL)
		return false;
	c->create = mine->create_revision;
	for (size_t i = 0; i < q->n; i++) {
		int64_t create = q->pairs[i].create_revision;

		if (&q->pairs[i] == mine ||
		    !names_parse_queue_key(c->r, q->pairs[i].key, &p) ||
		    !queue_modes_exclude(p.mode, c->mode))
			continue;
		if (create > c->create) {
			c->behind = stronger_mode(c->behind, p.mode);
			continue;
		}
		c->ahead[n_ahead % AHEAD_MAX] = (struct peer_claim){ p.session,
		    p.request, create };
		if (create > newest.create)
			newest = c->ahead[n_ahead % AHEAD_MAX];
		n_ahead++;
	}
	if (n_ahead > AHEAD_MAX) {
		queue_set_ahead(c, &newest, revision);
	} else {
		c->n_ahead = n_ahead;
		c->sure = revision >= c->r->watched;
	}
	queue_note_arrivals(c, revision);
	return c->deleted <= revision;
}

/* Copies bytes as text, with '?'  for each byte that is not printable. */
static void
copy_printable(struct kv_bytes b, char *out, size_t len)
{
	size_t n = 0;

	for (; n < b.len && n + 1 < len; n++)
		out[n] = b.p[n] > ' ' && b.p[n] < 0x7f ? (char)b.p[n] : '?';
	out[n] = '\0';
}

void
queue_describe_holder(struct claim *c, const struct kv_result *q, char *out,
    size_t len)
{
	const struct kv_pair *oldest = NULL;
	char host[HOST_MAX + 1];
	struct queue_key p, at = { .session = 0 };

	for (size_t i = 0; i < q->n; i++) {
		if (!names_parse_queue_key(c->r, q->pairs[i].key, &p) ||
		    !queue_modes_exclude(p.mode, c->mode))
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
	copy_printable(oldest->value, host, sizeof(host));
	(void)snprintf(out, len, "host %s, session %016jx, %s, since revision "
	    "%jd", host, (uintmax_t)at.session, at.mode == CLAIM_SHARED ?
	    "shared" : "exclusive", (intmax_t)oldest->create_revision);
}
