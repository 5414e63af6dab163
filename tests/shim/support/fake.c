/* SPDX-License-Identifier: MIT */
/*
 * A store in this process, whose answers can be lost: so that every point at
 * which the outcome of a call is not known can be visited in a test.
 *
 * It does what engine.h says of a store.  A call is applied when it is made (or
 * later: enum fake_mishap), and answered from the loop.  Changes go through a
 * queue of each host that watches.  Several engines on one store are several
 * hosts of one cluster.  A call that is late is applied even when the host that
 * made it is gone.
 *
 * For tests: when there is no memory it aborts.
 */
#include <stdlib.h>
#include <string.h>
#include "fake_host.h"

/* A change on its way to a host; gap: "some were missed" in place of it. */
struct news {
	TAILQ_ENTRY(news) of;
	bool gap;
	unsigned lag_ms;
	struct kv_change change;
	struct arena arena;
};

/* News. */

static void
host_news(struct host *h, const struct kv_change *c, unsigned lag_ms)
{
	struct news *n = calloc(1, sizeof(*n));

	if (n == NULL)
		abort();
	n->gap = c == NULL;
	n->lag_ms = lag_ms;
	if (c != NULL) {
		n->change = *c;
		n->change.pair.key = arena_bytes(&n->arena, c->pair.key);
		n->change.pair.value = arena_bytes(&n->arena, c->pair.value);
	}
	if (TAILQ_EMPTY(&h->news))
		fake_start(h->tell_news, lag_ms);
	TAILQ_INSERT_TAIL(&h->news, n, of);
}

static void
news_free(struct news *n)
{
	arena_free(&n->arena);
	free(n);
}

static void
host_on_news(evutil_socket_t fd, short what, void *arg)
{
	struct host *h = arg;
	struct news *n = TAILQ_FIRST(&h->news);

	(void)fd;
	(void)what;
	if (n == NULL)
		return;
	TAILQ_REMOVE(&h->news, n, of);
	if (!TAILQ_EMPTY(&h->news))
		fake_start(h->tell_news, TAILQ_FIRST(&h->news)->lag_ms);
	h->hooks.changes(&n->change, n->gap ? 0 : 1, n->gap ?
	    h->store->revision : n->change.pair.mod_revision, h->hooks.arg);
	news_free(n);
}

static void
host_drop_news(struct host *h)
{
	struct news *n;

	(void)event_del(h->tell_news);
	while ((n = TAILQ_FIRST(&h->news)) != NULL) {
		TAILQ_REMOVE(&h->news, n, of);
		news_free(n);
	}
}

static bool
is_watched(const struct host *h, struct kv_bytes key)
{
	return h->prefix.p != NULL && !h->cut && key.len >= h->prefix.len &&
	    memcmp(key.p, h->prefix.p, h->prefix.len) == 0;
}

static void
tell_hosts(struct fake_store *s, bool deleted, const struct kv_pair *p)
{
	struct kv_change c = { deleted, *p };
	struct news *last;
	struct host *h;
	int lag;

	TAILQ_FOREACH(h, &s->hosts, all) {
		if (!is_watched(h, p->key))
			continue;
		last = TAILQ_LAST(&h->news, newses);
		if (last != NULL && last->gap)
			continue;	/* it will look later */
		lag = s->lag == NULL ? 0 : s->lag(h->number, s->arg);
		if (lag == FAKE_DROP)
			host_news(h, NULL, 5);
		else
			host_news(h, &c, (unsigned)lag);
	}
}

/* Hosts. */

static int
watch(struct engine *e, struct kv_bytes prefix)
{
	struct host *h = (struct host *)e;
	uint8_t *p = malloc(prefix.len + 1);

	if (p == NULL)
		abort();
	memcpy(p, prefix.p, prefix.len);
	free((void *)(uintptr_t)h->prefix.p);
	h->prefix = (struct kv_bytes){ p, prefix.len };
	if (h->told == KV_HERE)
		host_news(h, NULL, 0);
	return 0;
}

static void
mark(const struct engine *e, struct kv_mark *m)
{
	*m = ((const struct host *)e)->mark;
}

static void
outlive(struct engine *e, unsigned ms)
{
	((struct host *)e)->mark.outlive_ms = ms;
}

static void
on_state(evutil_socket_t fd, short what, void *arg)
{
	struct host *h = arg;

	(void)fd;
	(void)what;
	if (h->state == h->told)
		return;
	h->told = h->state;
	if (h->state == KV_HERE && h->prefix.p != NULL)
		host_news(h, NULL, 0);
	h->hooks.state(h->state, h->state == KV_HERE ? "" : h->state ==
	    KV_AWAY ? "connection lost" : "not the store of before",
	    h->hooks.arg);
}

void
fake_cut(struct engine *e, bool cut)
{
	struct host *h = (struct host *)e;

	if (h->state == KV_REFUSED || h->cut == cut)
		return;
	h->cut = cut;
	if (cut) {
		host_give_up(h);
		host_drop_news(h);
		host_set_state(h, KV_AWAY);
	} else if (host_check(h)) {
		host_set_state(h, KV_HERE);
	}
}

void
fake_store_cut(struct fake_store *s, bool cut)
{
	struct host *h;

	TAILQ_FOREACH(h, &s->hosts, all)
		fake_cut(&h->e, cut);
}

static void
close_host(struct engine *e)
{
	struct host *h = (struct host *)e;
	struct asked *a;

	host_drop_news(h);
	while ((a = TAILQ_FIRST(&h->asked)) != NULL) {
		if (!asked_is_late(a)) {
			asked_free(a);
			continue;
		}
		TAILQ_REMOVE(&h->asked, a, of);
		TAILQ_INSERT_TAIL(&h->store->late, a, of);
		a->host = NULL;
		a->told = true;
	}
	TAILQ_REMOVE(&h->store->hosts, h, all);
	event_free(h->tell_state);
	event_free(h->tell_news);
	free((void *)(uintptr_t)h->prefix.p);
	free(h);
}

struct engine *
fake_open(const struct kv_hooks *hooks, const struct kv_mark *seen, void *arg)
{
	static const struct engine_ops ops = { close_host, host_txn, host_grant,
	    host_revoke, watch, mark, outlive };
	const struct fake_host *of = arg;
	struct host *h = calloc(1, sizeof(*h));

	if (h == NULL)
		abort();
	h->e.ops = &ops;
	h->store = of->store;
	h->store->on_change = tell_hosts;
	h->number = of->number;
	h->hooks = *hooks;
	h->mark = *seen;
	h->told = KV_AWAY;
	TAILQ_INIT(&h->news);
	TAILQ_INIT(&h->asked);
	h->tell_state = fake_timer(h->store, on_state, h);
	h->tell_news = fake_timer(h->store, host_on_news, h);
	TAILQ_INSERT_TAIL(&h->store->hosts, h, all);
	if (host_check(h))
		host_set_state(h, KV_HERE);
	return &h->e;
}

void
fake_store_mishaps(struct fake_store *s, fake_mishap_fn *mishap,
    fake_lag_fn *lag, void *arg)
{
	s->mishap = mishap;
	s->lag = lag;
	s->arg = arg;
}

void
fake_store_free(struct fake_store *s)
{
	struct asked *a;

	while ((a = TAILQ_FIRST(&s->late)) != NULL)
		asked_free(a);
	store_empty(s);
}
