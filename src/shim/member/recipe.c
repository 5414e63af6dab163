/* SPDX-License-Identifier: MIT */
/*
 * A member of a cluster: opens and closes it, handles the engine's hooks, and
 * calls the caller's hooks.
 *
 * No hook is called from inside the function that has news.  That function sets
 * bits, in the member or in a claim.  notify_all() then reports one item after
 * another, as the last step of whatever the loop called, when all data is
 * consistent.  A hook may do anything, including closing the member.  So after
 * each hook nothing of the member is touched unless `freed` says that it still
 * exists.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include "member.h"

#define MARK_NS UINT64_C(1000000000)

/* Reporting. */

/* Offers a found claim to the caller, and leaves it if it is not kept. */
static void
offer_found_claim(struct recipe *r, struct claim *c)
{
	struct recipe_found f = { c->key->name, c->mode, c->revision,
	    c->create, c->n_ahead == 0 };
	bool *freed = r->freed;

	TAILQ_REMOVE(&r->found, c, of_list);
	if (c->vanished) {	/* a late sending may put its key again */
		c->silent = true;
		claim_begin_leaving(c);
		return;
	}
	r->keeping = c;
	r->o.hooks->found(&f, r->o.arg);
	if (*freed || r->keeping == NULL)
		return;		/* the hook closed or retired the member */
	r->keeping = NULL;
	if (c->state == CLAIM_FOUND) {
		c->silent = true;
		claim_begin_leaving(c);
	}
}

static void
set_settled(struct recipe *r)
{
	struct batch *b, *next;

	r->settled = true;
	r->why[0] = '\0';
	TAILQ_FOREACH_SAFE(b, &r->batches, all, next)
		batch_start(b);
	r->o.hooks->settled(r->o.arg);
}

/* Reports one item of the member itself.  Returns false if there is none. */
static bool
notify_member(struct recipe *r)
{
	const struct recipe_hooks *h = r->o.hooks;
	unsigned bit = r->notices & -r->notices;	/* the lowest bit */

	if (bit == NOTIFY_FOUND && !TAILQ_EMPTY(&r->found)) {
		offer_found_claim(r, TAILQ_FIRST(&r->found));
		return true;
	}
	r->notices &= ~bit;
	switch (bit) {
	case NOTIFY_STORE:
		h->store(r->store, r->store == KV_HERE ? "" : r->why,
		    r->o.arg);
		break;
	case NOTIFY_LOST:
		h->lost(r->lost_why, r->o.arg);
		break;
	case NOTIFY_UP:
		h->up(&r->session, r->adopted, r->o.arg);
		break;
	case NOTIFY_ALIVE:
		h->alive(r->until_ns, r->o.arg);
		break;
	case NOTIFY_FOREIGN:
		if (h->foreign != NULL)
			h->foreign(r->foreign, r->foreign_at_start, r->o.arg);
		break;
	case NOTIFY_FOUND:
		set_settled(r);
		break;
	case NOTIFY_MARK:
		h->mark(&r->marked, r->o.arg);
		break;
	case NOTIFY_RETIRED:
		h->retired(r->o.arg);
		break;
	default:
		return false;
	}
	return true;
}

/* Reports one item of a claim. */
static void
notify_claim(struct recipe *r, struct claim *c)
{
	const struct recipe_hooks *h = r->o.hooks;
	unsigned bit = c->notices & -c->notices;
	bool *freed = r->freed;

	c->notices &= ~bit;
	if (c->notices == 0) {
		TAILQ_REMOVE(&r->to_notify, c, of_notify);
		c->in_notify = false;
	}
	if (bit == NOTIFY_GRANTED)
		h->granted(c, c->revision, c->arg);
	else if (bit == NOTIFY_ANCHORED)
		h->anchored(c, c->revision, c->arg);
	else if (bit == NOTIFY_DENIED)
		h->not_anchored(c, c->why, c->arg);
	else if (bit == NOTIFY_RECALLED)
		h->recalled(c, c->recalled, c->arg);
	if (bit != NOTIFY_END)
		return;
	if (c->end == END_BUSY)
		h->busy(c, c->why, c->arg);
	else if (c->end == END_FAILED)
		h->failed(c, c->error, c->why, c->arg);
	else if (c->end == END_LEFT)
		h->left(c, c->arg);
	if (!*freed && !r->stopped)
		claim_free(c);
}

static bool
is_same_mark(const struct kv_mark *a, const struct kv_mark *b)
{
	return a->cluster == b->cluster && a->revision == b->revision &&
	    a->outlive_ms == b->outlive_ms && a->wait_ms == b->wait_ms;
}

/* Schedules a report of the mark: at once if a wait begins or ends, because a
 * shim that is started again must know of it; else once a second at most. */
static void
note_mark(struct recipe *r)
{
	uint64_t now = timers_boottime_ns();
	struct kv_mark m;

	r->e->ops->mark(r->e, &m);
	if (m.wait_ms == r->marked.wait_ms &&
	    (now - r->marked_ns < MARK_NS || r->store != KV_HERE))
		return;
	/* not lowered before all sessions are known */
	if (r->listed_all && !r->stopped &&
	    peers_outlive_ms(r) != r->outlive_ms) {
		peers_set_outlive(r, peers_outlive_ms(r));
		r->e->ops->mark(r->e, &m);
	}
	if (is_same_mark(&m, &r->marked))
		return;
	r->marked = m;
	r->marked_ns = now;
	r->notices |= NOTIFY_MARK;
}

/* Reports everything, until nothing is left or the member is freed. */
static void
notify_all(struct recipe *r)
{
	bool freed = false;
	struct claim *c;

	note_mark(r);
	r->freed = &freed;
	for (;;) {
		if (!notify_member(r)) {
			c = TAILQ_FIRST(&r->to_notify);
			if (c == NULL)
				break;
			notify_claim(r, c);
		}
		if (freed)
			return;
	}
	r->freed = NULL;
	claims_send_leaving(r);
}

static void
on_soon(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	notify_all(arg);
}

static void
on_session_timer(evutil_socket_t fd, short what, void *arg)
{
	session_on_timer(fd, what, arg);
	notify_all(arg);
}

static void
on_resync_timer(evutil_socket_t fd, short what, void *arg)
{
	resync_on_timer(fd, what, arg);
	notify_all(arg);
}

/* Hooks of the engine. */

static void
on_state(enum kv_state state, const char *why, void *arg)
{
	struct recipe *r = arg;

	r->store = state;
	r->notices |= NOTIFY_STORE;
	(void)strlcpy(r->why, state != KV_HERE ? why : r->settled ? "" :
	    "there is no session yet", sizeof(r->why));
	if (state == KV_HERE) {
		if (r->state == SESSION_NONE && !r->stopped &&
		    !event_pending(&r->session_timer, EV_TIMEOUT, NULL))
			session_begin(r);
		store_call_send_all(r);
	} else {
		batches_fail_tries(r, why);
	}
	notify_all(r);
}

static void
on_change(struct recipe *r, const struct kv_change *c)
{
	struct queue_key p;
	uint64_t name;

	if (names_parse_queue_key(r, c->pair.key, &p)) {
		queue_changed(r, c, &p);
	} else if (names_parse_session(r, c->pair.key, &name)) {
		if (name == r->session.name)
			session_changed(r, c);
		else if (c->deleted)
			peer_ended(r, name);
		else
			peer_heard(r, name, &c->pair);
	} else if (!c->deleted) {
		names_note_foreign(r, c->pair.key);
	}
}

static void
on_changes(const struct kv_change *c, size_t n, int64_t revision, void *arg)
{
	struct recipe *r = arg;

	if (r->stopped)
		return;
	if (n == 0) {
		queue_note_gap(r, revision);
		resync_start(r, true);
	}
	for (size_t i = 0; i < n; i++)
		on_change(r, &c[i]);
	notify_all(r);
}

/* Opening and closing. */

static bool
has_valid_options(const struct recipe_opts *o)
{
	return o->root != NULL && o->root[0] != '\0' &&
	    strlen(o->root) <= ROOT_MAX && o->host != NULL &&
	    o->ttl_ms >= TTL_MIN_MS && o->ttl_ms <= TTL_MAX_MS &&
	    o->timeout_ms <= o->ttl_ms && o->hooks != NULL;
}

static void
init_recipe(struct recipe *r, const struct recipe_opts *o)
{
	uint32_t life = arc4random();

	r->o = *o;
	if (r->o.timeout_ms == 0)
		r->o.timeout_ms = o->ttl_ms / 4 < 300 ? o->ttl_ms / 4 : 300;
	(void)strlcpy(r->root, o->root, sizeof(r->root));
	(void)strlcpy(r->host, o->host, sizeof(r->host));
	(void)strlcpy(r->why, "not connected yet", sizeof(r->why));
	/* differs from the numbers of an earlier process of this session */
	r->requests = (uint64_t)life << 32;
	r->marked = o->mark;
	r->store = KV_AWAY;
	r->watched = INT64_MAX;
	TAILQ_INIT(&r->calls);
	for (unsigned i = 0; i < RECIPE_LANES; i++)
		TAILQ_INIT(&r->lanes[i].waiting);
	TAILQ_INIT(&r->batches);
	TAILQ_INIT(&r->leaving);
	TAILQ_INIT(&r->found);
	TAILQ_INIT(&r->to_notify);
	RB_INIT(&r->keys);
	RB_INIT(&r->peers);
	r->on_answered = notify_all;
	r->on_session_ended = session_lost;
	r->on_page = resync_page_done;
	(void)evtimer_assign(&r->session_timer, o->base, on_session_timer, r);
	(void)evtimer_assign(&r->peers_timer, o->base, peers_on_timer, r);
	(void)evtimer_assign(&r->resync_timer, o->base, on_resync_timer, r);
	(void)event_assign(&r->soon, o->base, -1, 0, on_soon, r);
}

struct recipe *
recipe_open(const struct recipe_opts *o)
{
	char prefix[ROOT_MAX + 2];
	struct kv_hooks hooks;
	struct recipe *r;
	unsigned least;

	if (!has_valid_options(o)) {
		errno = EINVAL;
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return NULL;
	init_recipe(r, o);
	hooks = (struct kv_hooks){ on_state, on_changes, r };
	(void)snprintf(prefix, sizeof(prefix), "%s/", r->root);
	r->e = o->engine(&hooks, &o->mark, o->engine_arg);
	if (r->e != NULL &&
	    r->e->ops->watch(r->e, kv_bytes_of_text(prefix)) == 0) {
		least = peers_outlive_ms(r);
		peers_set_outlive(r, o->mark.outlive_ms > least ?
		    o->mark.outlive_ms : least);
		return r;
	}
	if (r->e != NULL)
		r->e->ops->close(r->e);
	free(r);
	errno = ENOMEM;
	return NULL;
}

static void
stop_timers(struct recipe *r)
{
	(void)event_del(&r->session_timer);
	(void)event_del(&r->peers_timer);
	(void)event_del(&r->resync_timer);
}

void
recipe_close(struct recipe *r)
{
	if (r->freed != NULL)
		*r->freed = true;
	r->e->ops->close(r->e);
	claims_free_all(r);
	store_call_free_all(r);
	peers_free(r);
	stop_timers(r);
	(void)event_del(&r->soon);
	free(r);
}

void
recipe_retire(struct recipe *r)
{
	struct store_call *call, *next;

	if (r->stopped)
		return;
	r->stopped = true;
	r->settled = false;
	r->keeping = NULL;
	r->notices = 0;
	claims_free_all(r);
	TAILQ_FOREACH_SAFE(call, &r->calls, all, next)
		store_call_drop(call);
	r->session_call = r->resync_call = NULL;
	peers_free(r);
	stop_timers(r);
	session_stop(r);
	recipe_notify_soon(r);
}

void
recipe_stats(const struct recipe *r, struct recipe_stats *s)
{
	struct kv_mark m;

	*s = r->stats;
	r->e->ops->mark(r->e, &m);
	s->wait_ms = m.left_ms;
}

/* Asking who holds a key. */

struct look {
	struct recipe *r;
	recipe_look_fn *fn;
	void *arg;
	size_t len;
	char path[NAME_MAX_LEN + 1], end[NAME_MAX_LEN + 1];
};

static int
look_send(struct store_call *call)
{
	struct look *l = call->data;
	struct txn *t = txn_begin(call->r);

	txn_get(t, true, (struct kv_range){ kv_bytes_of_text(l->path),
	    kv_bytes_of_text(l->end) })->by_create = true;
	return txn_send(call);
}

static void
look_done(struct store_call *call, const struct kv_answer *answer)
{
	const struct kv_result *q = answer->results;
	struct look *l = call->data;
	struct recipe_holder *h = calloc(q->n + 1, sizeof(*h));
	bool writer = false;
	struct queue_key p;
	size_t n = 0;

	for (size_t i = 0; h != NULL && i < q->n; i++) {
		if (!names_parse_queue_key(call->r, q->pairs[i].key, &p))
			continue;
		h[n].host = q->pairs[i].value;
		h[n].session = p.session;
		h[n].mode = p.mode;
		h[n].holds = !writer && (n == 0 || p.mode == CLAIM_SHARED);
		h[n].ours = p.session == call->r->session.name;
		h[n].since = q->pairs[i].create_revision;
		writer = writer || p.mode == CLAIM_EXCLUSIVE;
		n++;
	}
	l->fn(h == NULL ? ENOMEM : 0, "out of memory", h, n, l->arg);
	free(h);
}

static bool
look_refused(struct store_call *call, const struct kv_answer *answer)
{
	struct look *l = call->data;

	l->fn(answer->denied ? EACCES : EHOSTUNREACH, answer->why, NULL, 0,
	    l->arg);
	return true;
}

static const struct store_call_ops look_ops = {
	.send = look_send, .done = look_done, .refused = look_refused,
	.once = true
};

int
recipe_look(struct recipe *r, struct kv_bytes key, recipe_look_fn *fn,
    void *arg)
{
	struct look *l;
	struct store_call *call;

	if (key.len > CLAIM_KEY_MAX || r->stopped)
		return -EINVAL;
	if (r->store != KV_HERE)
		return -EHOSTUNREACH;
	l = calloc(1, sizeof(*l));
	call = l == NULL ? NULL : store_call_start(r, &look_ops, NULL,
	    NULL);
	if (call == NULL) {
		free(l);
		return -ENOMEM;
	}
	call->data = l;
	l->fn = fn;
	l->arg = arg;
	l->len = names_format_path(r, key, l->path);
	(void)snprintf(l->end, sizeof(l->end), "%.*s0", (int)l->len - 1,
	    l->path);
	return 0;
}
