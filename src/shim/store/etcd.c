/* SPDX-License-Identifier: MIT */
/*
 * The engine over etcd: sends requests and delivers their answers.
 * src/shim/member calls it through engine.h.
 *
 * The engine uses one channel to one endpoint at a time (etcd_link.c).  All
 * requests and the watch (etcd_watch.c) share it.  A request is in one of three
 * lists:
 *
 *	waiting		not sent yet, because a connection or a token is
 *			missing.  When its time is over, or all endpoints have
 *			failed, it ends as NOT_APPLIED
 *	sent		the channel will report the outcome.  If the endpoint is
 *			given up, the request ends as UNKNOWN
 *	ended		it ended without an answer, which is to be delivered
 *
 * A request is accepted only while the last reported state is KV_HERE.  So
 * requests wait only during a change to another endpoint.
 *
 * Invariants of the engine (EI1 to EI3):
 *
 * EI1 Each accepted request is answered exactly once, unless the engine is
 *	closed.
 * EI2 Hooks and answers are called from the loop.  After a call, e is not
 *	touched unless `freed` says that it still exists.
 * EI3 DONE is reported only for a valid answer from the cluster of the mark.
 *	Its revision is not below the revision known when the request was sent.
 *	(Answers may overtake each other, so the revision known when the answer
 *	arrives is no bound.)
 *
 * An endpoint is given up after a failed request if nothing was received from
 * it since the request was sent, or if it cannot serve (no leader, timeout).
 * Other endpoints may be able to.  If there is only one endpoint, it is given
 * up after three such requests.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/stdlib.h>
#include "daemon/secret.h"
#include "etcd_link.h"

#define TICK_MS 10
#define CONNECT_MS 1000
#define REFUSED_MS 10000

/* Requests. */

/* Delivers an answer and frees the request.  The engine may be gone
 * afterwards. */
static void
deliver_answer(struct etcd_request *r, const struct kv_answer *a)
{
	r->fn(a, r->arg);
	etcd_request_free(r);
}

static void
deliver_done(struct etcd_request *r, struct wire_in *in)
{
	struct kv_answer a = { .fate = FATE_DONE, .why = "",
	    .revision = in->revision, .succeeded = in->succeeded,
	    .results = in->results, .n_results = in->n_results,
	    .lease = in->lease };

	deliver_answer(r, &a);
	wire_free(in);
}

/* Delivers an outcome other than DONE.  `status` is etcd's, or GRPC_NONE. */
static void
deliver_not_done(struct etcd_request *r, enum fate fate, const char *why,
    int status)
{
	bool refused = fate == FATE_NOT_APPLIED;
	struct kv_answer a = { .fate = fate, .why = why,
	    .denied = refused && status == GRPC_DENIED,
	    .said = status == GRPC_EXHAUSTED || status == GRPC_INVALID,
	    .absent = refused && status == GRPC_NOT_FOUND,
	    .exists = refused && status == GRPC_PRECONDITION &&
	    strstr(why, "lease already exists") != NULL };

	deliver_answer(r, &a);
}

/* True if the outcome suggests that the endpoint is unusable. */
static bool
is_trouble(const struct etcd_request *r, const struct answer *a)
{
	if (a->status == GRPC_NONE)
		return r->e->heard_ms <= r->sent_ms;
	return a->status == GRPC_UNAVAILABLE || a->status == GRPC_DEADLINE ||
	    a->status == GRPC_UNKNOWN;
}

/* Counts unusable outcomes and gives the endpoint up when there are enough. */
static void
note_trouble(struct etcd_request *r, const struct answer *a)
{
	struct etcd *e = r->e;

	if (!is_trouble(r, a)) {
		e->troubles = 0;
		return;
	}
	if (++e->troubles >= (e->ends.n > 1 ? 1 : 3))
		etcd_leave_endpoint(e, a->message);
}

static void
start_tick(struct etcd *e)
{
	struct timeval tv = { 0, TICK_MS * 1000 };

	if (!TAILQ_EMPTY(&e->waiting) && !evtimer_pending(e->tick, NULL))
		(void)event_add(e->tick, &tv);
}

/* Repeats a request that was refused because of our token, once, with a new
 * one.  Returns true if the request will be repeated. */
static bool
retry_with_token(struct etcd_request *r, const struct answer *a)
{
	struct etcd *e = r->e;

	if (r->again || !etcd_is_token_trouble(e, a))
		return false;
	r->again = true;
	TAILQ_INSERT_HEAD(&e->waiting, r, of);
	start_tick(e);
	if (e->step == STEP_READY)
		etcd_login(e);
	return true;
}

static void
on_answer(const struct answer *a, void *arg)
{
	struct etcd_request *r = arg;
	struct etcd *e = r->e;
	char why[ETCD_TEXT_MAX];
	struct wire_in *in;

	TAILQ_REMOVE(&e->sent, r, of);
	r->call = NULL;
	if (a->status != GRPC_NONE)
		e->heard_ms = etcd_now_ms();
	(void)snprintf(why, sizeof(why), "%s", a->message);
	if (a->fate != FATE_DONE) {
		if (retry_with_token(r, a))
			return;
		note_trouble(r, a);
		deliver_not_done(r, a->fate, why, a->status);
		return;
	}
	e->troubles = e->rounds = 0;
	in = r->decode(a->body, a->len, &r->shape);
	if (in != NULL && etcd_check_mark(e, in, r->linear ? r->mark : 0)) {
		deliver_done(r, in);
		return;
	}
	(void)snprintf(why, sizeof(why), "%s", in == NULL ?
	    "the answer is invalid" : e->why);
	if (in != NULL)
		wire_free(in);
	deliver_not_done(r, FATE_UNKNOWN, why, GRPC_NONE);
}

static void
send_request(struct etcd_request *r)
{
	struct etcd *e = r->e;
	int64_t now = etcd_now_ms();
	struct call_opts o = { .path = r->path, .token = e->token,
	    .timeout_ms = (int)(r->deadline_ms - now), .body = r->body.p,
	    .len = r->body.len, .answer = on_answer, .arg = r };

	if (o.timeout_ms <= 0) {
		etcd_request_end(r, &e->waiting, FATE_NOT_APPLIED,
		    "not sent in time");
		return;
	}
	r->call = channel_call(e->ch, &o);
	if (r->call == NULL) {
		etcd_request_end(r, &e->waiting, FATE_NOT_APPLIED,
		    "it cannot be sent");
		return;
	}
	r->sent_ms = now;
	r->mark = e->mark.revision;
	TAILQ_REMOVE(&e->waiting, r, of);
	TAILQ_INSERT_TAIL(&e->sent, r, of);
}

static void
send_waiting(struct etcd *e)
{
	struct etcd_request *r;

	while (e->step == STEP_READY &&
	    (r = TAILQ_FIRST(&e->waiting)) != NULL)
		send_request(r);
}

static void
on_ready(struct etcd *e)
{
	if (e->watch == NULL && e->prefix != NULL)
		etcd_watch(e);
	send_waiting(e);
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct etcd *e = arg;
	struct etcd_request *r, *next;
	int64_t now = etcd_now_ms();

	(void)fd;
	(void)what;
	for (r = TAILQ_FIRST(&e->waiting); r != NULL; r = next) {
		next = TAILQ_NEXT(r, of);
		if (r->deadline_ms <= now)
			etcd_request_end(r, &e->waiting, FATE_NOT_APPLIED,
			    "no connection in time");
	}
	start_tick(e);
}

/* Puts a request into the waiting list and sends it if possible.  Takes
 * ownership of `r` and `body`.  Returns 0 or -1. */
static int
add_request(struct engine *engine, struct etcd_request *r, struct wire_out body,
    int timeout_ms, kv_answer_fn *fn, void *arg)
{
	struct etcd *e = (struct etcd *)engine;

	if (r == NULL || body.p == NULL || e->state != KV_HERE) {
		free(body.p);
		free(r);
		return -1;
	}
	r->e = e;
	r->body = body;
	r->deadline_ms = etcd_now_ms() + timeout_ms;
	r->fn = fn;
	r->arg = arg;
	TAILQ_INSERT_TAIL(&e->waiting, r, of);
	send_waiting(e);
	start_tick(e);
	return 0;
}

/* Delivers one outcome, change of state or gap.  Returns false if there is
 * none. */
static bool
deliver_one_thing(struct etcd *e)
{
	struct etcd_request *r = TAILQ_FIRST(&e->ended);

	if (r != NULL) {
		TAILQ_REMOVE(&e->ended, r, of);
		deliver_not_done(r, r->fate, r->why, GRPC_NONE);
	} else if (e->untold) {
		e->untold = false;
		e->hooks.state(e->state, e->why, e->hooks.arg);
	} else if (e->look_again) {
		(void)etcd_deliver_gap(e);
	} else {
		return false;
	}
	return true;
}

static void
on_soon(evutil_socket_t fd, short what, void *arg)
{
	struct etcd *e = arg;
	bool freed = false;

	(void)fd;
	(void)what;
	e->freed = &freed;
	while (deliver_one_thing(e))
		if (freed)
			return;
	e->freed = NULL;
}

/* The operations of engine.h. */

static struct etcd_request *
new_request(const char *path, wire_fn *decode, bool linear)
{
	struct etcd_request *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->path = path;
	r->decode = decode;
	r->linear = linear;
	return r;
}

static int
op_txn(struct engine *e, const struct kv_txn *t, int timeout_ms,
    kv_answer_fn *fn, void *arg)
{
	struct wire_out none = { NULL, 0 };
	struct etcd_request *r;

	if (t->n_compares > KV_OPS_MAX || t->n_then > KV_OPS_MAX ||
	    t->n_otherwise > KV_OPS_MAX)
		return -1;
	r = new_request("/etcdserverpb.KV/Txn", wire_txn_answer, true);
	if (r != NULL)
		wire_shape(t, &r->shape);
	return add_request(e, r, r == NULL ? none : wire_txn(t), timeout_ms, fn,
	    arg);
}

static int
op_grant(struct engine *e, int64_t id, int64_t ttl_s, int timeout_ms,
    kv_answer_fn *fn, void *arg)
{
	return add_request(e, new_request("/etcdserverpb.Lease/LeaseGrant",
	    wire_grant_answer, false), wire_grant(id, ttl_s), timeout_ms, fn,
	    arg);
}

static int
op_revoke(struct engine *e, int64_t lease, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	return add_request(e, new_request("/etcdserverpb.Lease/LeaseRevoke",
	    wire_revoke_answer, false), wire_revoke(lease), timeout_ms, fn,
	    arg);
}

static int
op_watch(struct engine *engine, struct kv_bytes prefix)
{
	struct etcd *e = (struct etcd *)engine;
	uint8_t *p = malloc(prefix.len + 1);

	if (p == NULL)
		return -1;
	memcpy(p, prefix.p, prefix.len);
	free(e->prefix);
	e->prefix = p;
	e->prefix_len = prefix.len;
	if (e->step == STEP_READY)
		etcd_watch(e);
	return 0;
}

static void
op_mark(const struct engine *engine, struct kv_mark *m)
{
	const struct etcd *e = (const struct etcd *)engine;

	*m = e->mark;
	m->left_ms = etcd_wait_left_ms(e);
}

static void
op_outlive(struct engine *engine, unsigned ms)
{
	struct etcd *e = (struct etcd *)engine;

	e->mark.outlive_ms = ms;
	if (e->mark.wait_ms != 0 && e->mark.wait_ms < ms)
		e->mark.wait_ms = ms;
}

static void
free_list(struct etcd_requests *list)
{
	struct etcd_request *r;

	while ((r = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, r, of);
		etcd_request_free(r);
	}
}

static void
op_close(struct engine *engine)
{
	struct etcd *e = (struct etcd *)engine;

	if (e->freed != NULL)
		*e->freed = true;
	if (e->ch != NULL)
		channel_free(e->ch);
	free_list(&e->waiting);
	free_list(&e->sent);
	free_list(&e->ended);
	if (e->again != NULL)
		event_free(e->again);
	if (e->tick != NULL)
		event_free(e->tick);
	if (e->soon != NULL)
		event_free(e->soon);
	if (e->dns != NULL)
		evdns_base_free(e->dns, 1);
	endpoint_tls_free(e->tls);
	secret_free(e->token);
	free(e->prefix);
	free((void *)(uintptr_t)e->o.root);
	free((void *)(uintptr_t)e->o.user);
	secret_free((char *)(uintptr_t)e->o.password);
	free(e);
}

static const struct engine_ops ops = { op_close, op_txn, op_grant, op_revoke,
    op_watch, op_mark, op_outlive };

static bool
copy_opts(struct etcd *e, const struct etcd_opts *o)
{
	e->o = *o;
	e->o.root = strdup(o->root);
	e->o.user = o->user == NULL ? NULL : strdup(o->user);
	e->o.password = secret_copy(o->password == NULL ? "" : o->password);
	if (o->connect_ms == 0)
		e->o.connect_ms = CONNECT_MS;
	if (o->refused_ms == 0)
		e->o.refused_ms = REFUSED_MS;
	return e->o.root != NULL && e->o.password != NULL &&
	    (o->user == NULL) == (e->o.user == NULL);
}

static bool
new_events(struct etcd *e)
{
	e->again = evtimer_new(e->o.base, etcd_on_retry, e);
	e->tick = evtimer_new(e->o.base, on_tick, e);
	e->soon = evtimer_new(e->o.base, on_soon, e);
	/* if this fails (no resolv.conf), lookups block the loop */
	if (e->ends.names)
		e->dns = evdns_base_new(e->o.base,
		    EVDNS_BASE_INITIALIZE_NAMESERVERS |
		    EVDNS_BASE_DISABLE_WHEN_INACTIVE);
	return e->again != NULL && e->tick != NULL && e->soon != NULL;
}

struct engine *
etcd_open(const struct etcd_opts *o, const struct kv_hooks *hooks,
    const struct kv_mark *mark, char *why, size_t room)
{
	struct etcd *e = calloc(1, sizeof(*e));

	(void)snprintf(why, room, "no memory");
	if (e == NULL)
		return NULL;
	e->engine.ops = &ops;
	e->on_ready = on_ready;
	e->hooks = *hooks;
	e->mark = *mark;
	e->older_ms = etcd_now_ms();
	op_outlive(&e->engine, mark->outlive_ms);
	e->state = KV_AWAY;
	TAILQ_INIT(&e->waiting);
	TAILQ_INIT(&e->sent);
	TAILQ_INIT(&e->ended);
	if (!copy_opts(e, o) ||
	    endpoints_parse(&e->ends, o->endpoints, why, room) != 0 ||
	    (e->ends.tls && (e->tls = endpoint_tls(o->ca_file, o->cert_file,
	    o->key_file, why, room)) == NULL) || !new_events(e)) {
		op_close(&e->engine);
		return NULL;
	}
	e->at = arc4random_uniform(e->ends.n);
	etcd_connect(e);
	return &e->engine;
}
