/* SPDX-License-Identifier: MIT */
/*
 * A key, locally ours: an ordinary exclusive lease of an ordinary participant.
 * While the host has no right to a key that somebody wants, we have it, and who
 * wants it stands in its queue behind us.
 *
 * It is waited for with a ticket, and renewed by the sweep; so a stopped
 * shim's runs out, and those behind it learn that there is no right.  Leases
 * of tickets are no thread's, and waits with them neither: what waits behind
 * us for a key of another host is never taken for part of a circle.
 *
 *	none -> waits	a ticket
 *	none -> held	it was free
 *	waits -> held	the ticket's descriptor was readable
 *	held -> none	let go; or lost: it ran out, or somebody broke it
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include "daemon/daemon_log.h"
#include "shim.h"

static void
end_wait(struct hold *h)
{
	if (h->ready != NULL)
		event_free(h->ready);
	h->ready = NULL;
	h->state = HOLD_NONE;
}

/* The ticket has come to something, or not yet: -EAGAIN. */
static int
finish(struct key *k)
{
	struct hold *h = &k->hold;
	int e;

	/* its descriptor goes with it, and the event goes before that */
	if (h->ready != NULL)
		(void)event_del(h->ready);
	e = lh_ticket_finish(h->ticket, &h->lease);
	if (e == -EAGAIN) {
		if (h->ready != NULL)
			(void)event_add(h->ready, NULL);
		return e;
	}
	h->ticket = NULL;
	end_wait(h);
	if (e == 0)
		h->state = HOLD_HELD;
	return e;
}

static void
on_ready(evutil_socket_t fd, short what, void *arg)
{
	struct key *k = arg;
	int e = finish(k);

	if (e == -EAGAIN)
		return;
	if (e != 0 && e != -ESTALE)
		log_line(LOG_ERR, "key %s: %s", k->name, lh_error_detail());
	k->s->on_key(k);
}

int
hold_take(struct key *k, bool first)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct hold *h = &k->hold;
	int e, fd;

	if (h->state == HOLD_HELD)
		return 0;
	if (h->state == HOLD_WAITS && (h->first || !first))
		return -EAGAIN;
	hold_let_go(k);
	o.ttl_ms = k->s->o.ttl_ms;
	o.max_wait_ms = LH_WAIT_FOREVER;
	o.priority = first ? UINT32_MAX : 0;
	o.more = &more;
	more.info = "for the cluster";
	e = lh_acquire_start(k->s->lh, k->name, &o, &h->ticket);
	if (e != 0)
		return e;
	h->state = HOLD_WAITS;
	h->first = first;
	e = finish(k);
	if (e != -EAGAIN)
		return e;
	fd = lh_ticket_fd(h->ticket);
	if (fd >= 0)
		h->ready = event_new(k->s->o.base, fd, EV_READ, on_ready, k);
	if (h->ready != NULL && event_add(h->ready, NULL) == 0)
		return -EAGAIN;
	hold_let_go(k);
	return fd < 0 ? fd : -ENOMEM;
}

bool
hold_sure(struct key *k)
{
	if (k->hold.state == HOLD_HELD &&
	    lh_verify(k->s->lh, &k->hold.lease) != 0)
		k->hold.state = HOLD_NONE;
	return k->hold.state == HOLD_HELD;
}

bool
hold_renew(struct key *k)
{
	if (k->hold.state == HOLD_HELD && lh_extend(k->s->lh, &k->hold.lease,
	    k->s->o.ttl_ms) == -ESTALE)
		k->hold.state = HOLD_NONE;
	return k->hold.state == HOLD_HELD;
}

void
hold_let_go(struct key *k)
{
	struct hold *h = &k->hold;

	if (h->state == HOLD_WAITS) {
		struct lh_ticket *t = h->ticket;

		end_wait(h);	/* before its descriptor goes */
		h->ticket = NULL;
		(void)lh_ticket_cancel(t);
	} else if (h->state == HOLD_HELD) {
		h->state = HOLD_NONE;
		(void)lh_release(k->s->lh, &h->lease);
	}
}
