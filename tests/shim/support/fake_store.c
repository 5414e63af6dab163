/* SPDX-License-Identifier: MIT */
/*
 * The store of fake.c: keys in a tree, revisions, transactions, leases.  It
 * keeps nothing of the past, and does everything at once; that something is
 * lost or late is the business of fake.c.
 */
#include <stdlib.h>
#include <string.h>
#include "fake_store.h"

struct block {
	SLIST_ENTRY(block) of;
	_Alignas(max_align_t) uint8_t bytes[];
};

void
fake_start(struct event *ev, unsigned ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	if (event_add(ev, &tv) != 0)
		abort();
}

struct event *
fake_timer(struct fake_store *s, event_callback_fn fn, void *arg)
{
	struct event *ev = event_new(s->base, -1, 0, fn, arg);

	if (ev == NULL)
		abort();
	return ev;
}

void *
arena_get(struct arena *a, size_t size)
{
	struct block *b = calloc(1, sizeof(*b) + size + 1);

	if (b == NULL)
		abort();
	SLIST_INSERT_HEAD(&a->blocks, b, of);
	return b->bytes;
}

struct kv_bytes
arena_bytes(struct arena *a, struct kv_bytes b)
{
	uint8_t *p = arena_get(a, b.len);

	if (b.len > 0)
		memcpy(p, b.p, b.len);
	return (struct kv_bytes){ p, b.len };
}

void
arena_free(struct arena *a)
{
	struct block *b;

	while ((b = SLIST_FIRST(&a->blocks)) != NULL) {
		SLIST_REMOVE_HEAD(&a->blocks, of);
		free(b);
	}
}

static struct kv_bytes
copy_bytes(struct kv_bytes src)
{
	uint8_t *p = malloc(src.len + 1);

	if (p == NULL)
		abort();
	if (src.len > 0)
		memcpy(p, src.p, src.len);
	return (struct kv_bytes){ p, src.len };
}

static void
free_bytes(struct kv_bytes b)
{
	free((void *)(uintptr_t)b.p);
}

static int
compare_bytes(struct kv_bytes a, struct kv_bytes b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n == 0 ? 0 : memcmp(a.p, b.p, n);

	return c != 0 ? c : a.len < b.len ? -1 : a.len > b.len;
}

static int
by_key(const struct entry *a, const struct entry *b)
{
	return compare_bytes(a->pair.key, b->pair.key);
}

RB_GENERATE_INTERNAL(entries, entry, by_key, by_key,
    static __attribute__((unused)))

/* Ranges. */

static struct entry *
first_in(struct fake_store *s, const struct kv_range *r)
{
	struct entry want = { .pair.key = r->key };

	return r->end.len == 0 ? RB_FIND(entries, &s->entries, &want) :
	    RB_NFIND(entries, &s->entries, &want);
}

static bool
is_past(const struct kv_range *r, const struct entry *e)
{
	return e == NULL || (r->end.len == 0 ?
	    compare_bytes(e->pair.key, r->key) != 0 :
	    compare_bytes(e->pair.key, r->end) >= 0);
}

#define EACH_IN(e, next, s, r)						\
	for ((e) = first_in(s, r); !is_past(r, e) &&			\
	    ((next) = RB_NEXT(entries, &(s)->entries, e), true); (e) = (next))

static int64_t
subject_of(const struct kv_pair *p, enum kv_subject subject)
{
	return subject == KV_VERSION ? p->version : subject == KV_CREATE ?
	    p->create_revision : p->mod_revision;
}

static bool
relates(int64_t a, enum kv_relation relation, int64_t b)
{
	switch (relation) {
	case KV_EQUAL:
		return a == b;
	case KV_GREATER:
		return a > b;
	case KV_LESS:
		return a < b;
	default:
		return a != b;
	}
}

static bool
holds(struct fake_store *s, const struct kv_compare *c)
{
	static const struct kv_pair none;
	struct entry *e, *next;
	bool any = false;

	EACH_IN(e, next, s, &c->range) {
		any = true;
		if (!relates(subject_of(&e->pair, c->subject), c->relation,
		    c->number))
			return false;
	}
	return any || relates(subject_of(&none, c->subject), c->relation,
	    c->number);
}

/* Operations. */

static struct lease *
find_lease(struct fake_store *s, int64_t id)
{
	struct lease *l;

	TAILQ_FOREACH(l, &s->leases, all)
		if (l->id == id)
			return l;
	return NULL;
}

static void
note_change(struct fake_store *s, bool deleted, const struct kv_pair *p)
{
	if (s->on_change != NULL)
		s->on_change(s, deleted, p);
}

static void
put(struct fake_store *s, const struct kv_op *op, int64_t revision)
{
	struct entry *e = first_in(s, &op->range);

	if (e == NULL) {
		e = calloc(1, sizeof(*e));
		if (e == NULL)
			abort();
		e->pair.key = copy_bytes(op->range.key);
		e->pair.create_revision = revision;
		(void)RB_INSERT(entries, &s->entries, e);
		s->n++;
	}
	free_bytes(e->pair.value);
	e->pair.value = copy_bytes(op->value);
	e->pair.mod_revision = revision;
	e->pair.version++;
	e->pair.lease = op->lease;
	note_change(s, false, &e->pair);
}

static void
delete(struct fake_store *s, struct entry *e, int64_t revision)
{
	struct kv_pair gone = { .key = e->pair.key, .mod_revision = revision };

	(void)RB_REMOVE(entries, &s->entries, e);
	s->n--;
	note_change(s, true, &gone);
	free_bytes(e->pair.key);
	free_bytes(e->pair.value);
	free(e);
}

static int
by_age(const void *a, const void *b)
{
	int64_t x = ((const struct kv_pair *)a)->create_revision;
	int64_t y = ((const struct kv_pair *)b)->create_revision;

	return x < y ? -1 : x > y;
}

static void
get(struct fake_store *s, const struct kv_op *op, struct arena *a,
    struct kv_result *result)
{
	struct entry *e, *next;
	struct kv_pair *p;
	size_t n = 0;

	EACH_IN(e, next, s, &op->range)
		n++;
	p = arena_get(a, n * sizeof(*p));
	n = 0;
	EACH_IN(e, next, s, &op->range) {
		p[n] = e->pair;
		p[n].key = arena_bytes(a, e->pair.key);
		p[n].value = op->keys_only ? (struct kv_bytes){ NULL, 0 } :
		    arena_bytes(a, e->pair.value);
		n++;
	}
	if (op->by_create)
		qsort(p, n, sizeof(*p), by_age);
	result->pairs = p;
	result->count = (int64_t)n;
	result->n = op->limit > 0 && n > (size_t)op->limit ?
	    (size_t)op->limit : n;
}

static void
do_op(struct fake_store *s, const struct kv_op *op, int64_t revision,
    struct arena *a, struct kv_result *result)
{
	struct entry *e, *next;

	switch (op->what) {
	case KV_GET:
		get(s, op, a, result);
		break;
	case KV_PUT:
		put(s, op, revision);
		break;
	case KV_DELETE:
		EACH_IN(e, next, s, &op->range) {
			delete(s, e, revision);
			result->count++;
		}
		break;
	}
}

/* Whether it would change anything; lease_gone: it cannot be done. */
static bool
changes(struct fake_store *s, const struct kv_op *ops, size_t n,
    bool *lease_gone)
{
	struct entry *e, *next;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (ops[i].what == KV_PUT) {
			any = true;
			if (ops[i].lease != 0 &&
			    find_lease(s, ops[i].lease) == NULL)
				*lease_gone = true;
		} else if (ops[i].what == KV_DELETE) {
			EACH_IN(e, next, s, &ops[i].range)
				any = true;
		}
	}
	return any;
}

static void
fail(struct kv_answer *answer, const char *why)
{
	answer->fate = FATE_NOT_APPLIED;
	answer->why = why;
}

void
store_txn(struct fake_store *s, const struct kv_txn *t, struct arena *a,
    struct kv_answer *answer)
{
	bool yes = true, lease_gone = false;
	const struct kv_op *ops;
	struct kv_result *results;
	size_t n;

	if (t->n_compares > KV_OPS_MAX || t->n_then > KV_OPS_MAX ||
	    t->n_otherwise > KV_OPS_MAX) {
		fail(answer, "too many operations");
		return;
	}
	for (size_t i = 0; i < t->n_compares; i++)
		yes = yes && holds(s, &t->compares[i]);
	ops = yes ? t->then : t->otherwise;
	n = yes ? t->n_then : t->n_otherwise;
	if (changes(s, ops, n, &lease_gone) && !lease_gone)
		s->revision++;
	if (lease_gone) {
		fail(answer, "requested lease not found");
		return;
	}
	results = arena_get(a, n * sizeof(*results));
	for (size_t i = 0; i < n; i++)
		do_op(s, &ops[i], s->revision, a, &results[i]);
	answer->fate = FATE_DONE;
	answer->revision = s->revision;
	answer->succeeded = yes;
	answer->results = results;
	answer->n_results = n;
}

/* Leases. */

static void
end_lease(struct lease *l)
{
	struct fake_store *s = l->store;
	struct entry *e, *next;
	bool any = false;

	RB_FOREACH_SAFE(e, entries, &s->entries, next) {
		if (e->pair.lease != l->id)
			continue;
		if (!any)
			s->revision++;
		any = true;
		delete(s, e, s->revision);
	}
	TAILQ_REMOVE(&s->leases, l, all);
	event_free(l->end);
	free(l);
}

static void
on_lease_end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	end_lease(arg);
}

void
store_grant(struct fake_store *s, int64_t id, int64_t ttl_s,
    struct kv_answer *answer)
{
	struct timeval tv = { ttl_s, 0 };
	struct lease *l;

	if (id != 0 && find_lease(s, id) != NULL) {
		fail(answer, "lease already exists");
		answer->exists = true;
		return;
	}
	l = calloc(1, sizeof(*l));
	if (l == NULL || (l->end = event_new(s->base, -1, 0, on_lease_end,
	    l)) == NULL || event_add(l->end, &tv) != 0)
		abort();
	l->store = s;
	s->leases_made++;
	l->id = id != 0 ? id : s->leases_made;
	TAILQ_INSERT_TAIL(&s->leases, l, all);
	answer->fate = FATE_DONE;
	answer->revision = s->revision;
	answer->lease = l->id;
}

void
store_revoke(struct fake_store *s, int64_t lease, struct kv_answer *answer)
{
	struct lease *l = find_lease(s, lease);

	if (l == NULL) {
		fail(answer, "requested lease not found");
		answer->absent = true;
		return;
	}
	end_lease(l);
	answer->fate = FATE_DONE;
	answer->revision = s->revision;
}

struct fake_store *
fake_store_new(struct event_base *base)
{
	struct fake_store *s = calloc(1, sizeof(*s));

	if (s == NULL)
		abort();
	s->base = base;
	s->cluster = 0xfa4e;
	s->revision = 1;
	RB_INIT(&s->entries);
	TAILQ_INIT(&s->leases);
	TAILQ_INIT(&s->hosts);
	TAILQ_INIT(&s->late);
	return s;
}

void
fake_store_delete(struct fake_store *s, struct kv_bytes key)
{
	struct kv_range r = { key, { NULL, 0 } };
	struct entry *e = first_in(s, &r);

	if (e != NULL)
		delete(s, e, ++s->revision);
}

void
fake_store_each(struct fake_store *s, void (*fn)(const struct kv_pair *p,
    void *arg), void *arg)
{
	struct entry *e;

	RB_FOREACH(e, entries, &s->entries)
		fn(&e->pair, arg);
}

void
fake_store_become(struct fake_store *s, uint64_t cluster, int64_t revision)
{
	s->cluster = cluster;
	s->revision = revision;
}

int64_t
fake_store_revision(const struct fake_store *s)
{
	return s->revision;
}

size_t
fake_store_keys(const struct fake_store *s)
{
	return s->n;
}


void
store_empty(struct fake_store *s)
{
	struct entry *e, *next;
	struct lease *l;

	while ((l = TAILQ_FIRST(&s->leases)) != NULL)
		end_lease(l);
	RB_FOREACH_SAFE(e, entries, &s->entries, next)
		delete(s, e, s->revision);
	free(s);
}
