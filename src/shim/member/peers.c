/* SPDX-License-Identifier: MIT */
/*
 * The sessions of others, and ending those that are dead.
 *
 * A heartbeat of another session gives its key a new mod_revision.  From the
 * moment that we hear of one (the watch, or a look) we wait, by our own clock,
 *
 *	TTL (1 + 2 rho) + slack
 *
 * rho being how fast clocks may run apart, and then delete the key, if its
 * mod_revision still is the one that we know.  The heartbeat was sent before we
 * heard of it, so the session's D (member_session.c) is past.  That we hear
 * late, or not at all, only makes us wait longer, or the comparison fail.
 *
 * All members do this; a little jitter, so that they do not all do it at once.
 * Whoever hears that the key is gone revokes the session's lease, and asks
 * until it is done: its keys in all queues are gone at once, and so is the
 * lease, which nobody would find any more without them.  (Who deleted the key
 * may die then.)  Who may not leaves them to a sweep (resync.c).
 */
#include <stdlib.h>
#include <bsd/stdlib.h>
#include "member.h"

#define RHO_INVERSE 1000u		/* 2 rho: 1 / 1000 */
#define SLACK_MS 100u
#define NS_PER_MS UINT64_C(1000000)

static int
by_name(const struct other *a, const struct other *b)
{
	return a->name < b->name ? -1 : a->name > b->name;
}

RB_GENERATE_INTERNAL(others, other, by_name, by_name,
    static __attribute__((unused)))

struct other *
other_find(struct recipe *r, uint64_t name)
{
	struct other want = { .name = name };

	return RB_FIND(others, &r->others, &want);
}

static uint64_t
due_ns(const struct other *o)
{
	return o->seen_ns + NS_PER_MS * (o->ttl_ms + o->ttl_ms / RHO_INVERSE +
	    SLACK_MS + o->jitter_ms);
}

static void
await_next(struct recipe *r)
{
	uint64_t now = boottime_ns(), due = UINT64_MAX;
	struct other *o;

	RB_FOREACH(o, others, &r->others)
		if (o->call == NULL && due_ns(o) < due)
			due = due_ns(o);
	r->others_due_ns = due;
	if (due == UINT64_MAX)
		return;
	timer_start(&r->others_timer, due <= now ? 1 :
	    (unsigned)((due - now) / NS_PER_MS) + 1);
}

/* It is alive, or was at p->mod_revision. */
void
other_heard(struct recipe *r, uint64_t name, const struct kv_pair *p)
{
	struct other *o = other_find(r, name);

	if (o == NULL) {
		o = calloc(1, sizeof(*o));
		if (o == NULL)
			return;		/* nobody steals from it, then */
		o->r = r;
		o->name = name;
		(void)RB_INSERT(others, &r->others, o);
	}
	o->listed = true;
	if (p->mod_revision <= o->mod)
		return;
	o->create = p->create_revision;
	o->mod = p->mod_revision;
	o->lease = p->lease;
	o->ttl_ms = parse_session_ttl(p->value, r->o.ttl_ms);
	o->jitter_ms = arc4random_uniform(o->ttl_ms / 8 + 1);
	o->seen_ns = boottime_ns();
	if (!event_pending(&r->others_timer, EV_TIMEOUT, NULL) ||
	    due_ns(o) < r->others_due_ns)
		await_next(r);
}

static void
forget(struct other *o)
{
	lease_revoke(o->r, o->lease);
	store_call_drop(o->call);
	(void)RB_REMOVE(others, &o->r->others, o);
	free(o);
}

/* Does one of our claims wait for it? */
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

/* Its key is gone.  (That may be our doing: the watch tells it before the
 * answer does, which is not heard any more then.) */
void
other_gone(struct recipe *r, uint64_t name)
{
	struct other *o = other_find(r, name);

	if (is_waited_for(r, name))
		sweep_soon(r, with_jitter(r->o.ttl_ms / 8));
	if (o != NULL)
		forget(o);
}

void
others_unlist(struct recipe *r)
{
	struct other *o;

	RB_FOREACH(o, others, &r->others)
		o->listed = false;
}

void
others_not_listed(struct recipe *r, int64_t revision)
{
	struct other *o, *next;

	RB_FOREACH_SAFE(o, others, &r->others, next)
		if (!o->listed && o->mod <= revision)
			forget(o);
}

void
others_free(struct recipe *r)
{
	struct other *o, *next;

	RB_FOREACH_SAFE(o, others, &r->others, next) {
		(void)RB_REMOVE(others, &r->others, o);
		free(o);
	}
}

/* Its lease. */

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
		return true;	/* and so are its keys */
	if (!answer->denied)
		return false;	/* it would be there for a hundred years */
	sweep_soon(call->r, with_jitter(50));
	return true;
}

static const struct store_call_ops revoke_ops = {
	.send = revoke_send, .done = revoke_done, .refused = revoke_refused,
	.anyway = true
};

void
lease_revoke(struct recipe *r, int64_t lease)
{
	struct store_call *call =
	    lease == 0 ? NULL : store_call_start(r, &revoke_ops, NULL);

	if (call == NULL)
		sweep_soon(r, with_jitter(50));
	else
		call->number = lease;
}

/* Its key. */

static struct kv_range
key_of(struct store_call *call, struct other *o)
{
	name_session(call->r, o->name, call->r->other_key);
	return one_key(text_bytes(call->r->other_key));
}

static int
steal_send(struct store_call *call)
{
	struct other *o = call->owner;
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
	struct other *o = call->owner;
	struct recipe *r = call->r;
	uint64_t name = o->name;

	o->call = NULL;
	if (!answer->succeeded && answer->results->n == 1) {
		other_heard(r, name, answer->results->pairs);
		await_next(r);
		return;
	}
	r->stats.stolen += answer->succeeded;	/* else somebody was faster */
	other_gone(r, name);
}

static bool
steal_refused(struct store_call *call, const struct kv_answer *answer)
{
	struct other *o = call->owner;

	if (!answer->denied)
		return false;
	o->call = NULL;			/* it is not ours to do, now */
	o->seen_ns = boottime_ns();
	await_next(call->r);
	return true;
}

static const struct store_call_ops steal_ops = {
	.send = steal_send, .done = steal_done, .refused = steal_refused
};

void
others_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct recipe *r = arg;
	uint64_t now = boottime_ns();
	struct other *o;

	(void)fd;
	(void)what;
	RB_FOREACH(o, others, &r->others)
		if (o->call == NULL && due_ns(o) <= now) {
			o->call = store_call_start(r, &steal_ops, o);
			if (o->call == NULL)
				o->seen_ns = now;
			else	/* not one that is heard of meanwhile */
				o->call->number = o->mod;
		}
	await_next(r);
}
