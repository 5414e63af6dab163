/* SPDX-License-Identifier: MIT */
/*
 * Our session: how it is made, adopted, kept alive, lost and ended.  recipe.c
 * drives it.
 *
 * A session is a key in the store, <root>/s/<name>, and lives as long as that
 * key.  Each of our transactions that grants anything compares the
 * create_revision of this key.  So a request that arrives after the session's
 * end has no effect.
 *
 *	NONE	-> LOOK		a session is to be adopted: read its key and its
 *				lease; if the key is not there, it is lost
 *		-> LEASE	a lease is granted
 *	LEASE	-> MAKE		the key is put, if it is not there
 *		-> NONE		another session's lease has that id
 *	MAKE	-> NONE		refused, or no answer
 *	LOOK, MAKE -> UP	a heartbeat each quarter of the TTL
 *	UP	-> NONE		the key is not there, or not ours: lost
 *	any	-> RETIRE -> RETIRED
 *
 * A heartbeat is a transaction: if the key has our create_revision, put it
 * again.  The whole store agrees on this write.  A lease's keep-alive does not
 * have that property: etcd before 3.4.31 may confirm it and then end the lease.
 *
 * Peers time our heartbeats by their own clocks (peers.c).  They end the
 * session only if the key's mod_revision is unchanged, that is, if there was no
 * heartbeat since.
 *
 *	D = time of sending the latest heartbeat that was confirmed
 *	    + TTL - margin
 *
 * A peer sees that heartbeat after it was sent, waits longer than TTL by its
 * clock, and then deletes the key.  So nobody deletes it before D.  An answer
 * says nothing about earlier sendings whose answers were lost.  Therefore D is
 * never computed from the time of an answer, nor from another sending.
 *
 *	margin	max(100 ms, 2 % of TTL).  It covers clock differences, and a
 *		process that checks D and is slow afterwards
 *
 * The lease lets one call delete all keys of a session.  Its TTL is a hundred
 * years, because a lease that ended by itself would delete the keys of a live
 * session.  Its id is the session's name without the top bit.  So LEASE can be
 * repeated after a lost answer without making a second lease.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include "member.h"

#define LEASE_S INT64_C(3155760000)
#define NS_PER_MS UINT64_C(1000000)

static unsigned
margin_ms(unsigned ttl_ms)
{
	return ttl_ms / 50 > 100 ? ttl_ms / 50 : 100;
}

static void
format_value(struct recipe *r)
{
	(void)snprintf(r->session_value, sizeof(r->session_value), "%u %s",
	    r->ttl_ms, r->host);
}

/* Returns the range that contains our session's key. */
static struct kv_range
session_range(struct recipe *r)
{
	return kv_range_of_key(kv_bytes_of_text(r->session_key));
}

/* Starts a call of the session.  Without memory, the timer repeats it soon. */
static void
call_store(struct recipe *r, const struct store_call_ops *ops)
{
	r->session_call = store_call_start(r, ops, r, NULL);
	if (r->session_call == NULL)
		timers_start(&r->session_timer, 100);
}

const char *
recipe_why(const struct recipe *r)
{
	return r->why;
}

const char *
recipe_refusal(const struct recipe *r)
{
	return r->store == KV_HERE ? r->refusal : "";
}

/* Handles a confirmed heartbeat that was sent at sent_ns. */
static void
note_heartbeat(struct recipe *r, uint64_t sent_ns)
{
	uint64_t until = sent_ns + NS_PER_MS * (r->ttl_ms -
	    margin_ms(r->ttl_ms));

	r->losses = 0;
	r->stats.heartbeats++;
	if (r->settled)
		r->why[0] = '\0';
	if (r->refusal[0] != '\0') {
		r->refusal[0] = '\0';
		if (r->o.hooks->refused != NULL)
			r->o.hooks->refused("", r->o.arg);
	}
	if (until > r->until_ns) {
		r->until_ns = until;
		r->notices |= NOTIFY_ALIVE;
	}
	timers_start(&r->session_timer, r->ttl_ms / 4);
}

/* Marks the session as up, and starts to look for its claims if it was
 * adopted. */
static void
set_up(struct recipe *r, int64_t create)
{
	r->state = SESSION_UP;
	r->session.create_revision = create;
	r->notices |= NOTIFY_UP;
	if (r->adopted) {
		(void)strlcpy(r->why, "the session's claims are being read",
		    sizeof(r->why));
		r->adopting = ADOPT_FIRST;
		resync_start(r, false);
	} else {
		r->stats.sessions++;
		r->notices |= NOTIFY_FOUND;	/* nothing to find: settled */
	}
}

/* Heartbeats. */

static int
heartbeat_send(struct store_call *call)
{
	struct recipe *r = call->r;

	(void)txn_begin(r);
	txn_require_session(r);
	txn_put(r, kv_bytes_of_text(r->session_key),
	    kv_bytes_of_text(r->session_value));
	return txn_send(call);
}

static void
heartbeat_done(struct store_call *call, const struct kv_answer *answer)
{
	struct recipe *r = call->r;

	r->session_call = NULL;
	if (!answer->succeeded) {
		session_lost(r, r->state == SESSION_LOOK ?
		    "the session to adopt has ended" : SESSION_ENDED);
		return;
	}
	if (r->state == SESSION_LOOK)
		set_up(r, r->session.create_revision);
	note_heartbeat(r, call->sent_ns);
}

static const struct store_call_ops heartbeat_ops = {
	.send = heartbeat_send, .done = heartbeat_done
};

/* Adopting: reads the key to learn its lease. */

static int
adopt_send(struct store_call *call)
{
	struct txn *t = txn_begin(call->r);

	(void)txn_get(t, true, session_range(call->r));
	return txn_send(call);
}

static void
adopt_done(struct store_call *call, const struct kv_answer *answer)
{
	struct recipe *r = call->r;

	r->session_call = NULL;
	if (!txn_has_session(r, answer)) {
		session_lost(r, "the session to adopt is missing");
		return;
	}
	r->lease = answer->results->pairs->lease;
	/* keep its TTL: others may know it and may have computed D from it */
	r->ttl_ms = names_parse_ttl(answer->results->pairs->value, r->ttl_ms);
	format_value(r);
	call_store(r, &heartbeat_ops);
}

static const struct store_call_ops adopt_ops = {
	.send = adopt_send, .done = adopt_done
};

/* Making. */

static int
make_send(struct store_call *call)
{
	struct recipe *r = call->r;
	struct txn *t = txn_begin(r);

	txn_compare(t, session_range(r), KV_VERSION, 0);
	txn_put(r, kv_bytes_of_text(r->session_key),
	    kv_bytes_of_text(r->session_value));
	return txn_send(call);
}

/* Starts again with another lease.  This one is revoked, because it would last
 * for a hundred years. */
static void
retry_with_new_lease(struct recipe *r)
{
	peers_revoke_lease(r, r->lease);
	r->session_call = NULL;
	r->state = SESSION_NONE;
	timers_start(&r->session_timer, timers_jitter_ms(200));
}

static void
make_done(struct store_call *call, const struct kv_answer *answer)
{
	struct recipe *r = call->r;

	r->session_call = NULL;
	if (answer->succeeded) {
		set_up(r, answer->revision);
		note_heartbeat(r, call->sent_ns);
	} else {
		session_lost(r, "another session has the same name");
	}
}

/*
 * The lease may be gone: start again with another.
 *
 * Also start again if the session may have been made but we do not know when.
 * Other members may have seen it, may end it, and may then revoke its lease.  A
 * session made again in between would lose its keys with that lease.  So MAKE
 * is sent only once.
 */
static bool
make_refused(struct store_call *call, const struct kv_answer *answer)
{
	if (answer->fate == FATE_NOT_APPLIED && call->tries < 5)
		return false;
	retry_with_new_lease(call->r);
	return true;
}

static const struct store_call_ops make_ops = {
	.send = make_send, .done = make_done, .refused = make_refused,
	.once = true
};

static int
lease_send(struct store_call *call)
{
	return store_call_grant_lease(call, call->r->lease, LEASE_S);
}

static void
make_session(struct recipe *r)
{
	r->session_call = NULL;
	r->state = SESSION_MAKE;
	call_store(r, &make_ops);
}

static void
lease_done(struct store_call *call, const struct kv_answer *answer)
{
	call->r->lease = answer->lease;
	make_session(call->r);
}

/* If an earlier sending was UNKNOWN, the existing lease is ours. */
static bool
lease_refused(struct store_call *call, const struct kv_answer *answer)
{
	struct recipe *r = call->r;

	if (!answer->exists)
		return false;
	if (call->unknown) {
		make_session(r);
		return true;
	}
	r->session_call = NULL;
	r->state = SESSION_NONE;
	timers_start(&r->session_timer, timers_jitter_ms(20));
	return true;
}

static const struct store_call_ops lease_ops = {
	.send = lease_send, .done = lease_done, .refused = lease_refused,
	.anyway = true
};

static void
set_name(struct recipe *r, uint64_t name)
{
	r->session.name = name;
	names_format_session(r, name, r->session_key);
}

void
session_begin(struct recipe *r)
{
	uint64_t name = 0;

	r->until_ns = 0;
	r->lease = 0;		/* read from its key */
	r->ttl_ms = r->o.ttl_ms;
	format_value(r);
	r->adopted = r->o.adopt.name != 0;
	if (r->adopted) {
		r->session = r->o.adopt;
		set_name(r, r->session.name);
		r->o.adopt.name = 0;
		r->state = SESSION_LOOK;
		call_store(r, &adopt_ops);
		return;
	}
	while ((name & INT64_MAX) == 0)
		arc4random_buf(&name, sizeof(name));
	r->session.create_revision = 0;
	set_name(r, name);
	r->lease = (int64_t)(name & INT64_MAX);
	r->state = SESSION_LEASE;
	call_store(r, &lease_ops);
}

void
session_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct recipe *r = arg;

	(void)fd;
	(void)what;
	if (r->session_call != NULL)
		return;
	switch (r->state) {
	case SESSION_NONE:
		session_begin(r);
		break;
	case SESSION_LOOK:
		call_store(r, r->lease == 0 ? &adopt_ops : &heartbeat_ops);
		break;
	case SESSION_LEASE:
		call_store(r, &lease_ops);
		break;
	case SESSION_MAKE:
		call_store(r, &make_ops);
		break;
	case SESSION_UP:
		call_store(r, &heartbeat_ops);
		claims_send_leaving(r);
		break;
	case SESSION_RETIRE:
		session_stop(r);
		break;
	case SESSION_RETIRED:
		break;
	}
}

/* The session is dead, for certain, or was never made. */
void
session_lost(struct recipe *r, const char *why)
{
	unsigned shift = r->losses < 6 ? r->losses : 6;

	if (r->state == SESSION_UP || r->state == SESSION_LOOK) {
		r->stats.lost++;
		r->notices |= NOTIFY_LOST;
		/* a member that ended it revokes the lease, too */
		if (r->lease != 0)
			peers_revoke_lease(r, r->lease);
	}
	(void)strlcpy(r->lost_why, why, sizeof(r->lost_why));
	(void)strlcpy(r->why, why, sizeof(r->why));
	store_call_drop(r->session_call);
	r->session_call = NULL;
	r->state = SESSION_NONE;
	r->settled = false;
	r->adopting = ADOPT_NO;
	r->until_ns = 0;
	r->losses++;
	r->notices &= ~(unsigned)(NOTIFY_UP | NOTIFY_ALIVE | NOTIFY_FOUND);
	claims_end_session(r, why);
	timers_start(&r->session_timer, timers_jitter_ms(20u << shift));
}

/* After its deletion, later changes must not grant our claims (batch.c,
 * TURN). */
void
session_changed(struct recipe *r, const struct kv_change *c)
{
	if (c->deleted && (r->state == SESSION_UP ||
	    r->state == SESSION_LOOK) &&
	    c->pair.mod_revision > r->session.create_revision)
		session_lost(r, SESSION_ENDED);
}

/* Ending. */

static int
delete_send(struct store_call *call)
{
	struct txn *t = txn_begin(call->r);

	txn_delete(t, session_range(call->r));
	return txn_send(call);
}

static void
set_retired(struct recipe *r)
{
	r->session_call = NULL;
	r->state = SESSION_RETIRED;
	r->notices |= NOTIFY_RETIRED;
}

static int
revoke_send(struct store_call *call)
{
	return store_call_revoke_lease(call);
}

static void
revoke_done(struct store_call *call, const struct kv_answer *answer)
{
	(void)answer;
	set_retired(call->r);
}

static bool
revoke_refused(struct store_call *call, const struct kv_answer *answer)
{
	if (!answer->absent && (!answer->denied || call->tries < 3))
		return false;
	set_retired(call->r);
	return true;
}

static const struct store_call_ops revoke_ops = {
	.send = revoke_send, .done = revoke_done, .refused = revoke_refused,
	.anyway = true
};

static void
delete_done(struct store_call *call, const struct kv_answer *answer)
{
	struct recipe *r = call->r;

	(void)answer;
	if (r->lease == 0) {
		set_retired(r);
		return;
	}
	call_store(r, &revoke_ops);
	if (r->session_call != NULL)
		r->session_call->number = r->lease;
}

static const struct store_call_ops delete_ops = {
	.send = delete_send, .done = delete_done
};

/* The key is deleted first: after that no request of the session has any
 * effect. */
void
session_stop(struct recipe *r)
{
	store_call_drop(r->session_call);
	r->session_call = NULL;
	(void)event_del(&r->session_timer);
	r->state = SESSION_RETIRE;
	if (r->session.name == 0)
		set_retired(r);
	else
		call_store(r, &delete_ops);
}
