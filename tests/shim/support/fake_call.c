/* SPDX-License-Identifier: MIT */
/* The calls of fake.c: when each is applied, and how it is answered. */
#include <stdlib.h>
#include "fake_host.h"

void
host_set_state(struct host *h, enum kv_state state)
{
	h->state = state;
	fake_start(h->tell_state, 0);
}

bool
host_check(struct host *h)
{
	struct fake_store *s = h->store;

	if ((h->mark.cluster != 0 && h->mark.cluster != s->cluster) ||
	    s->revision < h->mark.revision) {
		host_set_state(h, KV_REFUSED);
		return false;
	}
	h->mark.cluster = s->cluster;
	h->mark.revision = s->revision;
	return true;
}

void
asked_free(struct asked *a)
{
	if (a->host != NULL)
		TAILQ_REMOVE(&a->host->asked, a, of);
	else
		TAILQ_REMOVE(&a->store->late, a, of);
	event_free(a->timer);
	arena_free(&a->arena);
	free(a);
}

static void
apply(struct asked *a)
{
	if (a->kind == TXN)
		store_txn(a->store, &a->txn, &a->arena, &a->answer);
	else if (a->kind == GRANT)
		store_grant(a->store, a->number, a->ttl_s, &a->answer);
	else
		store_revoke(a->store, a->number, &a->answer);
}

bool
asked_is_late(const struct asked *a)
{
	return a->mishap == FAKE_LATE || a->mishap == FAKE_BROKEN_LATE;
}

static void
asked_unknown(struct asked *a, const char *why)
{
	a->answer = (struct kv_answer){ .fate = FATE_UNKNOWN, .why = why };
}

/* It is time for the callback, or after that to apply the request. */
static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct asked *a = arg;
	struct kv_answer answer;
	struct arena arena;
	kv_answer_fn *fn = a->fn;
	void *fn_arg = a->arg;

	(void)fd;
	(void)what;
	if (a->told) {
		apply(a);
		asked_free(a);
		return;
	}
	if (a->mishap == FAKE_SLOW)
		apply(a);
	if (a->answer.fate == FATE_DONE)
		a->host->mark.revision = a->store->revision;
	answer = a->answer;
	arena = a->arena;
	if (asked_is_late(a)) {
		a->told = true;
		SLIST_INIT(&arena.blocks);
		fake_start(a->timer, (unsigned)a->timeout_ms);
	} else {
		SLIST_INIT(&a->arena.blocks);
		asked_free(a);
	}
	fn(&answer, fn_arg);
	arena_free(&arena);
}

static void
decide(struct asked *a)
{
	unsigned wait = (unsigned)a->timeout_ms;

	switch (a->mishap) {
	case FAKE_NONE:
		apply(a);
		wait = 0;
		break;
	case FAKE_SLOW_ANSWER:
		apply(a);
		/* fall through */
	case FAKE_SLOW:
		wait /= 2;
		break;
	case FAKE_LOST_ANSWER:
		apply(a);
		asked_unknown(a, "no answer in time");
		break;
	case FAKE_BROKEN_APPLIED:
		apply(a);
		/* fall through */
	case FAKE_BROKEN:
	case FAKE_BROKEN_LATE:
		asked_unknown(a, "connection lost");
		wait = 0;
		break;
	case FAKE_REFUSED:
	case FAKE_DENIED:
		a->answer.fate = FATE_NOT_APPLIED;
		a->answer.why = a->mishap == FAKE_DENIED ?
		    "permission denied" : "no leader";
		a->answer.denied = a->mishap == FAKE_DENIED;
		wait = 0;
		break;
	default:
		asked_unknown(a, "no answer in time");
	}
	fake_start(a->timer, wait);
}

static struct asked *
asked_new(struct engine *e, int timeout_ms, kv_answer_fn *fn, void *arg)
{
	struct host *h = (struct host *)e;
	struct asked *a;

	if (h->state != KV_HERE || h->told != KV_HERE)
		return NULL;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		abort();
	a->store = h->store;
	a->host = h;
	a->timeout_ms = timeout_ms;
	a->fn = fn;
	a->arg = arg;
	a->answer.why = "";
	a->timer = fake_timer(h->store, on_timer, a);
	TAILQ_INSERT_TAIL(&h->asked, a, of);
	h->store->calls++;
	a->mishap = !host_check(h) ? FAKE_REFUSED : h->store->mishap == NULL ?
	    FAKE_NONE : h->store->mishap(h->number, h->store->calls,
	    h->store->arg);
	return a;
}

static struct kv_range
copy_range(struct arena *a, const struct kv_range *r)
{
	return (struct kv_range){ arena_bytes(a, r->key),
	    arena_bytes(a, r->end) };
}

static const struct kv_op *
copy_ops(struct arena *a, const struct kv_op *ops, size_t n)
{
	struct kv_op *to = arena_get(a, n * sizeof(*to));

	for (size_t i = 0; i < n; i++) {
		to[i] = ops[i];
		to[i].range = copy_range(a, &ops[i].range);
		to[i].value = arena_bytes(a, ops[i].value);
	}
	return to;
}

int
host_txn(struct engine *e, const struct kv_txn *t, int timeout_ms,
    kv_answer_fn *fn, void *arg)
{
	struct asked *a = asked_new(e, timeout_ms, fn, arg);
	struct kv_compare *c;

	if (a == NULL)
		return -1;
	a->kind = TXN;
	a->txn = *t;
	c = arena_get(&a->arena, t->n_compares * sizeof(*c));
	for (size_t i = 0; i < t->n_compares; i++) {
		c[i] = t->compares[i];
		c[i].range = copy_range(&a->arena, &t->compares[i].range);
	}
	a->txn.compares = c;
	a->txn.then = copy_ops(&a->arena, t->then, t->n_then);
	a->txn.otherwise = copy_ops(&a->arena, t->otherwise, t->n_otherwise);
	decide(a);
	return 0;
}

static int
ask_lease(struct engine *e, int kind, int64_t number, int64_t ttl_s,
    int timeout_ms, kv_answer_fn *fn, void *arg)
{
	struct asked *a = asked_new(e, timeout_ms, fn, arg);

	if (a == NULL)
		return -1;
	a->kind = kind;
	a->number = number;
	a->ttl_s = ttl_s;
	decide(a);
	return 0;
}

int
host_grant(struct engine *e, int64_t id, int64_t ttl_s, int timeout_ms,
    kv_answer_fn *fn, void *arg)
{
	return ask_lease(e, GRANT, id, ttl_s, timeout_ms, fn, arg);
}

int
host_revoke(struct engine *e, int64_t lease, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	return ask_lease(e, REVOKE, lease, 0, timeout_ms, fn, arg);
}

/* No request will be answered; only the late ones are applied. */
void
host_give_up(struct host *h)
{
	struct asked *a, *next;

	TAILQ_FOREACH_SAFE(a, &h->asked, of, next) {
		if (a->told)
			continue;
		if (a->mishap == FAKE_SLOW || a->mishap == FAKE_NONE ||
		    a->answer.fate == FATE_NOT_APPLIED)
			a->mishap = FAKE_BROKEN;
		asked_unknown(a, "connection lost");
		fake_start(a->timer, 0);
	}
}
