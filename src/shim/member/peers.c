/* SPDX-License-Identifier: MIT */
/*
 * The sessions of other members (peers), and how dead ones are ended.  recipe.c
 * and resync.c report news of peers to it.
 *
 * Each heartbeat of a peer gives its key a new mod_revision.  When we learn of
 * one (from the watch or a resync), we wait, by our own clock,
 *
 *	TTL (1 + 2 rho) + slack
 *
 * where rho is the largest rate by which clocks differ.  Then we delete the key
 * if its mod_revision is still the one that we know.  The heartbeat was sent
 * before we learnt of it, so the peer's D (member_session.c) has passed.  If we
 * learn of a heartbeat late or not at all, we wait longer, or the comparison
 * fails.
 *
 * Every member does this, with jitter, so that not all do it at once.  A member
 * that learns that the key is gone revokes the session's lease, and repeats
 * that until it is done.  This deletes all keys of the session in all queues at
 * once.  Without those keys nobody could find the lease later.  (The member
 * that deleted the key may die before it revokes the lease.)  A member that may
 * not revoke leases leaves the keys to a resync (resync.c).
 */
#include <stdlib.h>
#include <bsd/stdlib.h>
#include "member.h"

#define RHO_INVERSE 1000u		/* 2 rho: 1 / 1000 */
#define SLACK_MS 100u
#define NS_PER_MS UINT64_C(1000000)

static int
by_name(const struct peer *a, const struct peer *b)
{
	return a->name < b->name ? -1 : a->name > b->name;
}

RB_GENERATE_INTERNAL(peers, peer, by_name, by_name,
    static __attribute__((unused)))

struct peer *
peer_find(struct recipe *r, uint64_t name)
{
	struct peer want = { .name = name };

	return RB_FIND(peers, &r->peers, &want);
}

/* Returns for how long, by our clock, rights of a session may go on after the
 * last moment at which it can have been confirmed.  Rounded up. */
static unsigned
outlive_ms(unsigned ttl_ms)
{
	return ttl_ms + ttl_ms / RHO_INVERSE + 1 + SLACK_MS;
}

/* Returns when the peer is to be ended. */
static uint64_t
due_ns(const struct peer *o)
{
	return o->seen_ns + NS_PER_MS * (outlive_ms(o->ttl_ms) + o->jitter_ms);
}

unsigned
peers_outlive_ms(struct recipe *r)
{
	unsigned most = r->ttl_ms > r->o.ttl_ms ? r->ttl_ms : r->o.ttl_ms;
	struct peer *o;

	RB_FOREACH(o, peers, &r->peers)
		if (o->ttl_ms > most)
			most = o->ttl_ms;
	return outlive_ms(most);
}

void
peers_set_outlive(struct recipe *r, unsigned ms)
{
	r->outlive_ms = ms;
	r->e->ops->outlive(r->e, ms);
}

/* Sets the timer to the next peer that is due. */
static void
await_next(struct recipe *r)
{
	uint64_t now = timers_boottime_ns(), due = UINT64_MAX;
	struct peer *o;

	RB_FOREACH(o, peers, &r->peers)
		if (o->call == NULL && due_ns(o) < due)
			due = due_ns(o);
	r->peers_due_ns = due;
	if (due == UINT64_MAX)
		return;
	timers_start(&r->peers_timer, due <= now ? 1 :
	    (unsigned)((due - now) / NS_PER_MS) + 1);
}

/* Without memory the peer is not recorded. */
void
peer_heard(struct recipe *r, uint64_t name, const struct kv_pair *p)
{
	struct peer *o = peer_find(r, name);

	if (o == NULL) {
		o = calloc(1, sizeof(*o));
		if (o == NULL)
			return;		/* then this member does not end it */
		o->r = r;
		o->name = name;
		(void)RB_INSERT(peers, &r->peers, o);
	}
	o->listed = true;
	if (p->mod_revision <= o->mod)
		return;
	o->create = p->create_revision;
	o->mod = p->mod_revision;
	o->lease = p->lease;
	o->ttl_ms = names_parse_ttl(p->value, r->o.ttl_ms);
	if (outlive_ms(o->ttl_ms) > r->outlive_ms)
		peers_set_outlive(r, outlive_ms(o->ttl_ms));
	o->jitter_ms = arc4random_uniform(o->ttl_ms / 8 + 1);
	o->seen_ns = timers_boottime_ns();
	if (!event_pending(&r->peers_timer, EV_TIMEOUT, NULL) ||
	    due_ns(o) < r->peers_due_ns)
		await_next(r);
}

static void
remove_peer(struct peer *o)
{
	peers_revoke_lease(o->r, o->lease);
	store_call_drop(o->call);
	(void)RB_REMOVE(peers, &o->r->peers, o);
	free(o);
}

/* True if one of our claims waits for the peer. */
static bool
is_waited_for(struct recipe *r, uint64_t name)
{
	struct batch *b;
	struct claim *c;

	TAILQ_FOREACH(b, &r->batches, all)
		TAILQ_FOREACH(c, &b->claims, of_list)
			for (unsigned i = 0; i < c->n_ahead; i++)
				if (c->ahead[i].session == name)
					return true;
	return false;
}

/* We may have deleted the key ourselves: the watch reports that before the
 * answer, and the answer is then ignored. */
void
peer_ended(struct recipe *r, uint64_t name)
{
	struct peer *o = peer_find(r, name);

	if (is_waited_for(r, name))
		resync_soon(r, timers_jitter_ms(r->o.ttl_ms / 8));
	if (o != NULL)
		remove_peer(o);
}

void
peers_clear_listed(struct recipe *r)
{
	struct peer *o;

	RB_FOREACH(o, peers, &r->peers)
		o->listed = false;
}

void
peers_end_unlisted(struct recipe *r, int64_t revision)
{
	struct peer *o, *next;

	RB_FOREACH_SAFE(o, peers, &r->peers, next)
		if (!o->listed && o->mod <= revision)
			remove_peer(o);
}

void
peers_free(struct recipe *r)
{
	struct peer *o, *next;

	RB_FOREACH_SAFE(o, peers, &r->peers, next) {
		(void)RB_REMOVE(peers, &r->peers, o);
		free(o);
	}
}

/* Revoking leases. */

static int
revoke_send(struct store_call *call)
{
	return store_call_revoke_lease(call);
}

static void
revoke_done(struct store_call *call, const struct kv_answer *answer)
{
	(void)call;
	(void)answer;
}

static bool
revoke_refused(struct store_call *call, const struct kv_answer *answer)
{
	if (answer->absent)
		return true;	/* its keys are gone, too */
	if (!answer->denied)
		return false;	/* try again: it would last a hundred years */
	resync_soon(call->r, timers_jitter_ms(50));
	return true;
}

static const struct store_call_ops revoke_ops = {
	.send = revoke_send, .done = revoke_done, .refused = revoke_refused,
	.anyway = true
};

void
peers_revoke_lease(struct recipe *r, int64_t lease)
{
	struct store_call *call =
	    lease == 0 ? NULL : store_call_start(r, &revoke_ops, NULL,
	    NULL);

	if (call == NULL)
		resync_soon(r, timers_jitter_ms(50));
	else
		call->number = lease;
}

/* Deleting keys. */

static struct kv_range
key_of(struct store_call *call, struct peer *o)
{
	names_format_session(call->r, o->name, call->r->peer_key);
	return kv_range_of_key(kv_bytes_of_text(call->r->peer_key));
}

static int
steal_send(struct store_call *call)
{
	struct peer *o = call->owner;
	struct kv_range key = key_of(call, o);
	struct txn *t = txn_begin(call->r);

	txn_compare(t, key, KV_MOD, call->number);
	txn_delete(t, key);
	(void)txn_get(t, false, key);
	return txn_send(call);
}

static void
steal_done(struct store_call *call, const struct kv_answer *answer)
{
	struct peer *o = call->owner;
	struct recipe *r = call->r;
	uint64_t name = o->name;

	o->call = NULL;
	if (!answer->succeeded && answer->results->n == 1) {
		peer_heard(r, name, answer->results->pairs);
		await_next(r);
		return;
	}
	r->stats.stolen += answer->succeeded;	/* else another member was
						 * faster */
	peer_ended(r, name);
}

static bool
steal_refused(struct store_call *call, const struct kv_answer *answer)
{
	struct peer *o = call->owner;

	if (!answer->denied)
		return false;
	o->call = NULL;			/* we have no permission: wait a full
					 * TTL again */
	o->seen_ns = timers_boottime_ns();
	await_next(call->r);
	return true;
}

static const struct store_call_ops steal_ops = {
	.send = steal_send, .done = steal_done, .refused = steal_refused
};

void
peers_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct recipe *r = arg;
	uint64_t now = timers_boottime_ns();
	struct peer *o;

	(void)fd;
	(void)what;
	RB_FOREACH(o, peers, &r->peers)
		if (o->call == NULL && due_ns(o) <= now) {
			o->call = store_call_start(r, &steal_ops, o,
			    NULL);
			if (o->call == NULL)
				o->seen_ns = now;
			else	/* not a heartbeat that arrives in the
				 * meantime */
				o->call->number = o->mod;
		}
	await_next(r);
}
