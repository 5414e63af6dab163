/* SPDX-License-Identifier: MIT */
/*
 * Applies the events of a key to the list of its holders, and finds out what an
 * event shows about the leases before it.
 *
 * log_at.c reads the events and applies them in the order of time.
 */
#include <stdlib.h>
#include <string.h>
#include "log_history.h"
#include "show_event.h"

bool
log_history_add(struct past *p, const struct holder *h)
{
	if (p->n_holders == p->room_holders) {
		size_t room = 2 * p->room_holders + 8;
		struct holder *q = reallocarray(p->holders, room, sizeof(*q));

		if (q == NULL) {
			p->no_memory = true;
			return false;
		}
		p->holders = q;
		p->room_holders = room;
	}
	p->holders[p->n_holders++] = *h;
	return true;
}

void
log_history_drop(struct past *p, uint64_t token, uint64_t session,
    uint32_t record)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n_holders; i++) {
		const struct holder *h = &p->holders[i];

		if ((token != 0 && h->token != token) ||
		    (session != 0 && h->session != session) ||
		    (record != LH_NO_RECORD && h->record != record))
			p->holders[kept++] = *h;
	}
	p->n_holders = kept;
}

/* True if no event is missing from this one on. */
static bool
is_complete_from(const struct past *p, const struct lh_log_entry *e)
{
	return p->complete && e->time_ns > p->lost_ns;
}

static void
settle_on_nobody(struct past *p, const struct lh_log_entry *e)
{
	p->n_holders = 0;
	p->settled = is_complete_from(p, e);
}

static void
apply_grant(struct past *p, const struct lh_log_entry *e)
{
	struct holder h = { .session = e->session_id, .token = e->token,
	    .record = e->record, .mode = e->mode, .since_ms = e->epoch_ms,
	    .certain = is_complete_from(p, e) };

	/* a reader joins readers or takes a free key */
	for (size_t i = 0; i < p->n_holders; i++) {
		if (e->mode == LH_EXCLUSIVE ||
		    p->holders[i].mode == LH_EXCLUSIVE) {
			p->n_holders = 0;
			break;
		}
	}
	if (e->mode == LH_EXCLUSIVE)
		p->settled = h.certain;
	if (e->kind == LH_LOG_HANDED_OVER && e->other != LH_NO_RECORD) {
		h.session = e->other_session_id;
		h.record = e->other;
		(void)show_event_other(h.who, e);
	} else {
		(void)show_event_who(h.who, e);
	}
	(void)log_history_add(p, &h);
}

/* A hand-off.  In shared mode the event does not say which reader's lease it
 * was. */
static void
apply_handover(struct past *p, const struct lh_log_entry *e)
{
	if (e->mode == LH_SHARED) {
		log_history_drop(p, 0, e->session_id, e->record);
		p->settled = false;
		for (size_t i = 0; i < p->n_holders; i++)
			p->holders[i].certain = false;
	}
	apply_grant(p, e);
}

static void
apply_end(struct past *p, const struct lh_log_entry *e)
{
	if (e->mode == LH_EXCLUSIVE)
		settle_on_nobody(p, e);
	else if (e->token != 0)
		log_history_drop(p, e->token, 0, LH_NO_RECORD);
}

void
log_history_apply(struct past *p, const struct lh_log_entry *e)
{
	switch ((enum lh_log_kind)e->kind) {
	case LH_LOG_GRANTED:
	case LH_LOG_WAIT_GRANTED:
		apply_grant(p, e);
		break;
	case LH_LOG_CONVERTED:
		log_history_drop(p, 0, e->session_id, e->record);
		apply_grant(p, e);
		break;
	case LH_LOG_HANDED_OVER:
		apply_handover(p, e);
		break;
	case LH_LOG_RELEASED:
	case LH_LOG_EXPIRED:
	case LH_LOG_FREED_DEAD:
	case LH_LOG_BROKEN:
		apply_end(p, e);
		break;
	case LH_LOG_TOLD_LOST:
		if (e->token != 0)
			log_history_drop(p, e->token, 0, LH_NO_RECORD);
		break;
	case LH_LOG_KEY_MADE:
	case LH_LOG_EVICTED:
		settle_on_nobody(p, e);
		break;
	case LH_LOG_SESSION_ENDED:
		log_history_drop(p, 0, e->session_id, e->record);
		break;
	case LH_LOG_FOUND_DEAD:
		if (e->other_session_id != 0)
			log_history_drop(p, 0, e->other_session_id,
			    LH_NO_RECORD);
		break;
	case LH_LOG_GRANTS_ON:
		p->complete = true;
		break;
	case LH_LOG_GRANTS_OFF:
		p->complete = p->settled = false;
		for (size_t i = 0; i < p->n_holders; i++)
			p->holders[i].certain = false;
		break;
	case LH_LOG_SESSION_BEGAN:
	case LH_LOG_WAIT_BEGAN:
	case LH_LOG_TIMED_OUT:
	case LH_LOG_CANCELLED:
	case LH_LOG_BURIED:
		break;
	}
	if (e->key_hash != 0)
		p->last = *e;
}

/* True if the log has one grant of the key to that reader's session, and one
 * release: then the release is that of this grant, because its ring keeps what
 * is later. */
static bool
is_only_grant(const struct past *p, const struct holder *h)
{
	size_t grants = 0, releases = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct lh_log_entry *e = &p->events[i];

		if (e->kind == LH_LOG_GRANTS_ON || e->kind == LH_LOG_GRANTS_OFF)
			return false;
		if (e->session_id != h->session || e->key_hash == 0)
			continue;
		grants += e->kind == LH_LOG_GRANTED ||
		    e->kind == LH_LOG_WAIT_GRANTED;
		releases += e->kind == LH_LOG_RELEASED;
	}
	return grants == 1 && releases == 1;
}

/*
 * The lease of that token ended later, by release or break.  An exclusive token
 * is given once, so the lease is the one whose grant was recorded, even if
 * other grants were not.  Readers may share a token.
 */
static void
note_end(const struct past *p, struct holder *h, const struct lh_log_entry *e)
{
	/* a lease of a cluster key may have ended with the host's right before
	 * that, which is not recorded */
	if (p->now.cluster)
		return;
	if (h->mode == LH_EXCLUSIVE && e->mode == LH_EXCLUSIVE) {
		h->stayed = h->certain = true;
	} else if (h->certain) {
		h->stayed = true;
	} else if (e->kind == LH_LOG_RELEASED && h->session != 0 &&
	    e->session_id == h->session && is_only_grant(p, h)) {
		h->stayed = h->certain = true;
	}
}

void
log_history_later(struct past *p, const struct lh_log_entry *e)
{
	bool moved = e->kind == LH_LOG_CONVERTED || e->kind ==
	    LH_LOG_HANDED_OVER;

	if (!moved && e->kind != LH_LOG_RELEASED && e->kind != LH_LOG_BROKEN)
		return;
	for (size_t i = 0; i < p->n_holders; i++) {
		struct holder *h = &p->holders[i];

		/* (the event does not say which reader's lease it was) */
		if (!moved && e->token != 0 && h->token == e->token)
			note_end(p, h, e);
		else if (moved && h->record == e->record &&
		    p->n_holders == 1 && h->session == e->session_id)
			h->stayed = true;
	}
}
