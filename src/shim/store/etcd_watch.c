/* SPDX-License-Identifier: MIT */
/*
 * The engine's only watch on etcd.  etcd.c and etcd_link.c start it.
 *
 * The watch begins at the current revision: on each new channel, and after etcd
 * has cancelled it.  (etcd cancels a watch that lags behind a compaction.)
 * Changes between two watches are missed.  Therefore, when a new watch is
 * created, `changes` is called with n == 0 before the first change of that
 * watch.  After that call, each change is in what the caller reads, or the
 * watch reports it, or both.
 *
 * An etcd member that lags may repeat changes that another member reported
 * before.  These are dropped, so that changes come in the order of their
 * revisions.
 *
 * Starting the watch at a past revision would miss nothing.  But etcd serves
 * such a watch only every 100 ms until it has caught up.
 */
#include <stdlib.h>
#include <string.h>
#include "etcd_link.h"

#define SOON_MS 100

static void
on_end(const struct answer *a, void *arg)
{
	struct etcd *e = arg;

	e->watch = NULL;
	etcd_leave_endpoint(e, a->message);
}

/* Handles a watch that etcd has cancelled. */
static void
on_canceled(struct etcd *e, const struct wire_in *in)
{
	if (strstr(in->reason, "ermission") != NULL) {
		/* etcd returns the same text for an expired token */
		if (e->o.user != NULL && e->step == STEP_READY &&
		    !e->watch_denied) {
			e->watch_denied = true;
			call_cancel(e->watch);
			e->watch = NULL;
			etcd_login(e);
		} else {
			etcd_refuse_store(e,
			    "cannot watch the keys: permission denied");
		}
		return;
	}
	if (etcd_now_ms() - e->watch_ms < SOON_MS) {
		etcd_leave_endpoint(e, "the server cancels every watch");
		return;
	}
	etcd_watch(e);
}

bool
etcd_deliver_gap(struct etcd *e)
{
	bool *outer = e->freed, freed = false;

	if (!e->look_again)
		return true;
	e->look_again = false;
	e->freed = &freed;
	e->hooks.changes(NULL, 0, e->mark.revision, e->hooks.arg);
	if (!freed)
		e->freed = outer;
	else if (outer != NULL)
		*outer = true;
	return !freed;
}

/* Reports the changes that no earlier watch has reported.  The engine may be
 * gone afterwards. */
static void
deliver_changes(struct etcd *e, const struct wire_in *in)
{
	const struct kv_change *c = in->changes;
	size_t n = in->n_changes;

	for (; n > 0 && c->pair.mod_revision <= e->watch_floor; n--)
		c++;
	if (n == 0 || !etcd_deliver_gap(e))
		return;
	e->watch_told = c[n - 1].pair.mod_revision;
	e->hooks.changes(c, n, in->revision, e->hooks.arg);
}

static void
on_message(const uint8_t *body, size_t len, void *arg)
{
	struct etcd *e = arg;
	struct wire_in *in = wire_watch_message(body, len, NULL);

	e->heard_ms = etcd_now_ms();
	if (in == NULL) {
		etcd_leave_endpoint(e, "its watch sent an invalid message");
		return;
	}
	if (!etcd_check_mark(e, in, 0)) {
		wire_free(in);
		return;
	}
	if (in->canceled) {
		on_canceled(e, in);
	} else if (in->created) {
		e->watch_denied = false;
		e->look_again = true;
		event_active(e->soon, 0, 0);
	} else {
		deliver_changes(e, in);
	}
	wire_free(in);
}

void
etcd_watch(struct etcd *e)
{
	struct kv_bytes prefix = { e->prefix, e->prefix_len };
	struct wire_out body = wire_watch(prefix);
	struct call_opts o = { .path = "/etcdserverpb.Watch/Watch",
	    .token = e->token, .body = body.p, .len = body.len,
	    .message = on_message, .answer = on_end, .arg = e };

	if (e->watch != NULL)
		call_cancel(e->watch);
	e->watch_ms = etcd_now_ms();
	e->watch_floor = e->watch_told;
	e->watch = body.p == NULL ? NULL : channel_call(e->ch, &o);
	free(body.p);
	if (e->watch == NULL)
		etcd_leave_endpoint(e, "cannot start the watch");
}
