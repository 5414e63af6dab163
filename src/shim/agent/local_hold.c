/* SPDX-License-Identifier: MIT */
/*
 * The shim's own lease on a key: an ordinary exclusive lease.  While a process
 * wants a key and this host has no right to it, the shim holds the key, and
 * processes queue behind the shim.  key_step.c calls this file.
 *
 * The shim waits for the key with a ticket, and key_upkeep.c renews the lease.
 * If the shim is stopped, its lease expires, and the next processes find that
 * there is no right.  A ticket's lease and wait belong to no thread.  So a
 * process that waits behind the shim for a key of another host is never part of
 * a deadlock.
 *
 *	none -> waits	a ticket was started
 *	none -> held	the key was free
 *	waits -> held	the ticket's descriptor became readable
 *	held -> none	released; or lost: it expired, or was broken
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include "daemon/daemon_log.h"
#include "shim.h"

/* Stops watching the ticket's descriptor. */
static void
free_wait(struct local_hold *h)
{
	if (h->ready != NULL)
		event_free(h->ready);
	h->ready = NULL;
	h->state = LOCAL_HOLD_NONE;
}

/* Takes the ticket's outcome.  Returns -EAGAIN if there is none yet. */
static int
finish_ticket(struct key *k)
{
	struct local_hold *h = &k->hold;
	int e;

	/* finishing closes the descriptor: stop watching it before */
	if (h->ready != NULL)
		(void)event_del(h->ready);
	e = lh_ticket_finish(h->ticket, &h->lease);
	if (e == -EAGAIN) {
		if (h->ready != NULL)
			(void)event_add(h->ready, NULL);
		return e;
	}
	h->ticket = NULL;
	free_wait(h);
	if (e == 0)
		h->state = LOCAL_HOLD_HELD;
	return e;
}

static void
on_ready(evutil_socket_t fd, short what, void *arg)
{
	struct key *k = arg;
	int e = finish_ticket(k);

	if (e == -EAGAIN)
		return;
	if (e != 0 && e != -ESTALE)
		log_line(LOG_ERR, "key %s: %s", k->name, lh_error_detail());
	k->s->on_key(k);
}

int
local_hold_acquire(struct key *k, bool first)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct local_hold *h = &k->hold;
	int e, fd;

	if (h->state == LOCAL_HOLD_HELD)
		return 0;
	if (h->state == LOCAL_HOLD_WAITS && (h->first || !first))
		return -EAGAIN;
	local_hold_release(k);
	o.ttl_ms = k->s->o.ttl_ms;
	o.max_wait_ms = LH_WAIT_FOREVER;
	o.priority = first ? UINT32_MAX : 0;
	o.more = &more;
	more.info = "for the cluster";
	e = lh_acquire_start(k->s->lh, k->name, &o, &h->ticket);
	if (e != 0)
		return e;
	h->state = LOCAL_HOLD_WAITS;
	h->first = first;
	e = finish_ticket(k);
	if (e != -EAGAIN)
		return e;
	fd = lh_ticket_fd(h->ticket);
	if (fd >= 0)
		h->ready = event_new(k->s->o.base, fd, EV_READ, on_ready, k);
	if (h->ready != NULL && event_add(h->ready, NULL) == 0)
		return -EAGAIN;
	local_hold_release(k);
	return fd < 0 ? fd : -ENOMEM;
}

bool
local_hold_is_valid(struct key *k)
{
	if (k->hold.state == LOCAL_HOLD_HELD &&
	    lh_verify(k->s->lh, &k->hold.lease) != 0)
		k->hold.state = LOCAL_HOLD_NONE;
	return k->hold.state == LOCAL_HOLD_HELD;
}

bool
local_hold_renew(struct key *k)
{
	if (k->hold.state == LOCAL_HOLD_HELD &&
	    lh_extend(k->s->lh, &k->hold.lease, k->s->o.ttl_ms) == -ESTALE)
		k->hold.state = LOCAL_HOLD_NONE;
	return k->hold.state == LOCAL_HOLD_HELD;
}

void
local_hold_release(struct key *k)
{
	struct local_hold *h = &k->hold;

	if (h->state == LOCAL_HOLD_WAITS) {
		struct lh_ticket *t = h->ticket;

		free_wait(h);	/* before the descriptor is closed */
		h->ticket = NULL;
		(void)lh_ticket_cancel(t);
	} else if (h->state == LOCAL_HOLD_HELD) {
		h->state = LOCAL_HOLD_NONE;
		(void)lh_release(k->s->lh, &h->lease);
	}
}
