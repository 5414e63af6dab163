/* SPDX-License-Identifier: MIT */
/* An engine, noted: see kv.h. */
#include <string.h>
#include <bsd/string.h>
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "tap.h"

static void
note_state(enum kv_state state, const char *why, void *arg)
{
	struct kv_noted *n = arg;

	n->states++;
	n->state = state;
	n->here += state == KV_HERE;
	n->away += state == KV_AWAY;
	n->refused += state == KV_REFUSED;
	(void)strlcpy(n->why, why, sizeof(n->why));
}

static void
note_changes(const struct kv_change *c, size_t count, int64_t revision,
    void *arg)
{
	struct kv_noted *n = arg;

	if (count == 0) {
		n->looks++;
		return;
	}
	n->changes += (int)count;
	c += count - 1;
	memset(n->last, 0, sizeof(n->last));
	memcpy(n->last, c->pair.key.p, c->pair.key.len < sizeof(n->last) ?
	    c->pair.key.len : sizeof(n->last) - 1);
	n->last_deleted = c->deleted;
	n->last_revision = revision;
}

static void
note_say(const char *text, void *arg)
{
	struct kv_noted *n = arg;

	n->says++;
	(void)strlcpy(n->said, text, sizeof(n->said));
}

void
kv_open(struct kv_noted *n, struct event_base *base, const char *endpoints,
    const struct etcd_opts *o, const struct kv_mark *mark)
{
	static const struct etcd_opts none;
	static const struct kv_mark no_mark;
	struct kv_hooks hooks = { note_state, note_changes, n };
	struct etcd_opts own = o == NULL ? none : *o;
	char why[400];

	memset(n, 0, sizeof(*n));
	n->base = base;
	n->state = KV_AWAY;
	own.base = base;
	own.endpoints = endpoints;
	if (own.root == NULL)
		own.root = "t/";
	own.say = note_say;
	own.say_arg = n;
	n->e = etcd_open(&own, &hooks, mark == NULL ? &no_mark : mark, why,
	    sizeof(why));
	if (n->e == NULL)
		bail_out("no engine: %s", why);
}

void
kv_close(struct kv_noted *n)
{
	n->e->ops->close(n->e);
	n->e = NULL;
}

bool
kv_until_state(struct kv_noted *n, enum kv_state state, int ms)
{
	int *count = state == KV_HERE ? &n->here : state == KV_AWAY ?
	    &n->away : &n->refused;

	return (n->state == state && n->states > 0) ||
	    loop_until(n->base, count, *count + 1, ms);
}

bool
kv_here(struct kv_noted *n, int ms)
{
	return kv_until_state(n, KV_HERE, ms);
}

void
kv_note(const struct kv_answer *a, void *arg)
{
	struct kv_said *s = arg;
	const struct kv_result *r = a->results;

	s->ended++;
	s->fate = a->fate;
	s->denied = a->denied;
	s->exists = a->exists;
	s->absent = a->absent;
	s->succeeded = a->succeeded;
	s->revision = a->revision;
	s->lease = a->lease;
	s->n_results = a->n_results;
	(void)strlcpy(s->why, a->why, sizeof(s->why));
	if (a->n_results == 0)
		return;
	s->n_pairs = r->n;
	s->count = r->count;
	if (r->n == 0)
		return;
	(void)snprintf(s->value, sizeof(s->value), "%.*s",
	    (int)r->pairs[0].value.len, r->pairs[0].value.len == 0 ? "" :
	    (const char *)r->pairs[0].value.p);
	s->create_revision = r->pairs[0].create_revision;
	s->mod_revision = r->pairs[0].mod_revision;
	s->version = r->pairs[0].version;
}

bool
kv_txn(struct kv_noted *n, const struct kv_txn *t, int ms, struct kv_said *s)
{
	memset(s, 0, sizeof(*s));
	return n->e->ops->txn(n->e, t, ms, kv_note, s) == 0 &&
	    loop_until(n->base, &s->ended, 1, ms + 5000);
}

struct kv_bytes
kv_text(const char *text)
{
	return (struct kv_bytes){ (const uint8_t *)text, strlen(text) };
}

struct kv_range
kv_key(const char *key)
{
	return (struct kv_range){ kv_text(key), { NULL, 0 } };
}

bool
kv_put(struct kv_noted *n, const char *key, const char *value,
    struct kv_said *s)
{
	struct kv_op put = { .what = KV_PUT, .range = kv_key(key),
	    .value = kv_text(value) };
	struct kv_txn t = { .then = &put, .n_then = 1 };

	return kv_txn(n, &t, KV_MS, s);
}

bool
kv_get(struct kv_noted *n, const char *key, struct kv_said *s)
{
	struct kv_op get = { .what = KV_GET, .range = kv_key(key) };
	struct kv_txn t = { .then = &get, .n_then = 1 };

	return kv_txn(n, &t, KV_MS, s);
}

bool
kv_grant(struct kv_noted *n, int64_t id, int64_t ttl_s, struct kv_said *s)
{
	memset(s, 0, sizeof(*s));
	return n->e->ops->grant(n->e, id, ttl_s, KV_MS, kv_note,
	    s) == 0 && loop_until(n->base, &s->ended, 1, KV_MS + 5000);
}

bool
kv_revoke(struct kv_noted *n, int64_t lease, struct kv_said *s)
{
	memset(s, 0, sizeof(*s));
	return n->e->ops->revoke(n->e, lease, KV_MS, kv_note, s) == 0 &&
	    loop_until(n->base, &s->ended, 1, KV_MS + 5000);
}
