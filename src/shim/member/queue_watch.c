/* SPDX-License-Identifier: MIT */
/*
 * Applies changes reported by the watch to our claims of a queue.  recipe.c
 * calls it.  member_queue.c explains what is known of a queue, and how changes
 * and answers overtake each other.
 */
#include "member.h"

/* Changes between a read and the start of the watch may have been missed. */
void
queue_note_gap(struct recipe *r, int64_t revision)
{
	struct claim *c;
	struct member_key *k;

	r->watched = revision;
	RB_FOREACH(k, member_keys, &r->keys)
		TAILQ_FOREACH(c, &k->claims, of_key)
			if (c->looked < revision)
				c->sure = false;
}

/* Removes a deleted claim from those ahead of `c`.  Returns true if no known
 * claim is ahead any more. */
static bool
remove_ahead(struct claim *c, const struct queue_key *p, int64_t revision)
{
	if (revision <= c->looked)
		return false;
	for (unsigned i = 0; i < c->n_ahead; i++)
		if (c->ahead[i].session == p->session &&
		    c->ahead[i].request == p->request) {
			c->ahead[i] = c->ahead[--c->n_ahead];
			return c->n_ahead == 0;
		}
	/* it was behind us, and may have been the only one */
	c->sure = false;
	return false;
}

/* Handles the deletion of our own claim's key. */
static void
note_own_deletion(struct claim *c, int64_t revision)
{
	if (c->state == CLAIM_ASKED)	/* the pending answer may be older */
		c->deleted = revision;
	if (c->create == 0 || c->create > revision ||
	    (c->state != CLAIM_QUEUED && c->state != CLAIM_GRANTED &&
	    c->state != CLAIM_FOUND))
		return;
	claim_key_vanished(c);
}

static void
note_deletion(struct member_key *k, const struct queue_key *p, int64_t revision,
    bool is_ours)
{
	struct claim *c, *next;

	if (k->deleted < revision)
		k->deleted = revision;
	TAILQ_FOREACH_SAFE(c, &k->claims, of_key, next) {
		if (is_ours && c->request == p->request && c->mode == p->mode) {
			note_own_deletion(c, revision);
			break;
		}
	}
	TAILQ_FOREACH_SAFE(c, &k->claims, of_key, next)
		if (remove_ahead(c, p, revision) && c->batch != NULL)
			batch_check_turn(c->batch, revision);
}

static void
note_arrival(struct member_key *k, const struct queue_key *p, int64_t create)
{
	struct claim *c;

	if (k->arrived[p->mode] < create)
		k->arrived[p->mode] = create;
	TAILQ_FOREACH(c, &k->claims, of_key)
		if (c->create != 0 && create > c->create &&
		    queue_modes_exclude(p->mode, c->mode))
			claim_recall(c, p->mode);
}

void
queue_changed(struct recipe *r, const struct kv_change *change,
    const struct queue_key *p)
{
	bool is_ours = r->session.name == p->session;
	struct member_key *k = member_key_find(r, p->path);
	struct claim *c = k == NULL || !is_ours ? NULL :
	    claim_find(k, p->request);

	if (change->deleted) {
		if (k != NULL)
			note_deletion(k, p, change->pair.mod_revision, is_ours);
		return;
	}
	if (change->pair.create_revision != change->pair.mod_revision)
		return;		/* an existing key was put again: nothing is
				 * new */
	if (is_ours && r->state == SESSION_UP && c == NULL) {
		if (r->settled)
			claim_delete_unknown(r, p);
		else	/* it may be a key that adoption is about to find */
			resync_soon(r, 100);
	} else if (k != NULL) {
		if (c != NULL)
			claim_key_appeared(c, change->pair.create_revision);
		note_arrival(k, p, change->pair.create_revision);
	}
}
