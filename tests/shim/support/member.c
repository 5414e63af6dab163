/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bsd/string.h>
#include "shim/support/fake_store.h"
#include "member.h"

#define TURNS 20
#define TICK_MS 50u

struct event_base *member_base;
struct fake_store *member_store;
unsigned member_ttl_ms = 1000, member_timeout_ms = 30;

uint64_t
member_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

uint64_t member_stopped_ns;

void
loop_once(void)
{
	struct timeval tick = { 0, TICK_MS * 1000 };
	uint64_t begun_ns = member_now_ns(), took_ns;

	(void)event_base_once(member_base, -1, EV_TIMEOUT, on_tick, NULL,
	    &tick);
	(void)event_base_loop(member_base, EVLOOP_ONCE);
	took_ns = member_now_ns() - begun_ns;
	if (took_ns > 2 * TICK_MS * 1000000u)
		member_stopped_ns += took_ns - TICK_MS * 1000000u;
}

/* In turns: what is due while the process does not run has its consequences
 * after that, and before the end. */
void
loop_for(unsigned ms)
{
	unsigned turns = ms < TURNS ? ms : TURNS;	/* of a ms at least */
	unsigned us = turns > 0 ? ms * 1000 / turns : 0;
	struct timeval tv = { us / 1000000, us % 1000000 };

	for (unsigned i = 0; i < turns; i++) {
		(void)event_base_loopexit(member_base, &tv);
		(void)event_base_dispatch(member_base);
	}
}

void
member_begin(void)
{
	member_base = event_base_new();
	member_store = fake_store_new(member_base);
}

void
member_end(void)
{
	fake_store_free(member_store);
	event_base_free(member_base);
}

/* The callbacks of a member. */

static void
on_store(enum kv_state state, const char *why, void *arg)
{
	struct member *m = arg;

	m->store = state;
	(void)strlcpy(m->why, why, sizeof(m->why));
}

static void
on_up(const struct recipe_session *s, bool adopted, void *arg)
{
	struct member *m = arg;

	m->session = *s;
	m->ups++;
	m->adoptions += adopted;
}

static void
on_alive(uint64_t until_ns, void *arg)
{
	((struct member *)arg)->until_ns = until_ns;
}

static void
on_found(const struct recipe_found *f, void *arg)
{
	struct member *m = arg;
	struct want *w;

	m->founds++;
	if (m->n_kept == m->n_keep || !f->first)
		return;
	w = &m->keep[m->n_kept++];
	w->of = m;
	w->revision = f->revision;
	(void)snprintf(w->name, sizeof(w->name), "%.*s", (int)f->key.len,
	    (const char *)f->key.p);
	w->c = recipe_keep(m->r, f, w);
	w->granted = w->c != NULL;
}

static void
on_settled(void *arg)
{
	struct member *m = arg;

	m->settled++;
	if (m->on_settled != NULL)
		m->on_settled(m);
}

static void
on_lost(const char *why, void *arg)
{
	struct member *m = arg;

	m->losts++;
	m->until_ns = 0;
	(void)strlcpy(m->why, why, sizeof(m->why));
}

static void
on_mark(const struct kv_mark *mark, void *arg)
{
	struct member *m = arg;

	m->mark = *mark;
	m->marks++;
}

static void
on_retired(void *arg)
{
	((struct member *)arg)->retired++;
}

/* Of claims. */

static void
told(struct want *w, enum want_event event)
{
	w->event = event;
	if (w->told != NULL)
		w->told(w);
}

static void
on_granted(struct claim *c, int64_t revision, void *arg)
{
	struct want *w = arg;

	(void)c;
	w->granted++;
	w->revision = revision;
	told(w, WANT_GRANTED);
}

static void
on_anchored(struct claim *c, int64_t revision, void *arg)
{
	struct want *w = arg;

	(void)c;
	w->anchored++;
	w->revision = revision;
	told(w, WANT_ANCHORED);
}

static void
on_not_anchored(struct claim *c, const char *why, void *arg)
{
	struct want *w = arg;

	(void)c;
	w->not_anchored++;
	(void)strlcpy(w->why, why, sizeof(w->why));
	told(w, WANT_NOT_ANCHORED);
}

static void
on_recalled(struct claim *c, enum claim_mode mode, void *arg)
{
	struct want *w = arg;

	(void)c;
	w->recalled = mode;
	told(w, WANT_RECALLED);
}

static void
on_busy(struct claim *c, const char *who, void *arg)
{
	struct want *w = arg;

	(void)c;
	w->c = NULL;
	w->busy++;
	(void)strlcpy(w->why, who, sizeof(w->why));
	told(w, WANT_BUSY);
}

static void
on_failed(struct claim *c, int error, const char *why, void *arg)
{
	struct want *w = arg;

	(void)c;
	w->c = NULL;
	w->failed++;
	w->error = error;
	(void)strlcpy(w->why, why, sizeof(w->why));
	told(w, WANT_FAILED);
}

static void
on_left(struct claim *c, void *arg)
{
	struct want *w = arg;

	(void)c;
	w->c = NULL;
	w->left++;
	told(w, WANT_LEFT);
}

static const struct recipe_hooks hooks = {
	.store = on_store, .up = on_up, .alive = on_alive, .found = on_found,
	.settled = on_settled, .lost = on_lost, .mark = on_mark,
	.retired = on_retired, .granted = on_granted,
	.anchored = on_anchored, .not_anchored = on_not_anchored,
	.recalled = on_recalled, .busy = on_busy, .failed = on_failed,
	.left = on_left
};

/* Making. */

static struct engine *
open_engine(const struct kv_hooks *h, const struct kv_mark *mark, void *arg)
{
	struct member *m = arg;
	struct fake_host of = { member_store, m->number };

	m->e = fake_open(h, mark, &of);
	return m->e;
}

void
member_open_with(struct member *m, unsigned number,
    const struct recipe_session *adopt, const struct kv_mark *mark)
{
	static char name[8][16];
	struct recipe_opts o = { .base = member_base, .engine = open_engine,
	    .engine_arg = m, .root = "test", .host = name[number % 8],
	    .ttl_ms = member_ttl_ms, .timeout_ms = member_timeout_ms,
	    .hooks = &hooks, .arg = m };

	(void)snprintf(name[number % 8], sizeof(name[0]), "host%u", number);
	m->number = number;
	m->until_ns = 0;
	if (adopt != NULL)
		o.adopt = *adopt;
	if (mark != NULL)
		o.mark = *mark;
	m->r = recipe_open(&o);
	if (m->r == NULL)
		abort();
}

void
member_open(struct member *m, unsigned number)
{
	member_open_with(m, number, NULL, NULL);
}

void
member_up(struct member *m, unsigned number)
{
	unsigned before = m->settled;

	member_open(m, number);
	UNTIL(m->settled > before);
}

void
member_close(struct member *m)
{
	recipe_close(m->r);
	m->r = NULL;
}

void
want_many(struct want *w, size_t n, struct member *m,
    const char *const *names, enum claim_mode mode, unsigned flags)
{
	struct claim_want ask[RECIPE_CLAIMS_MAX] = { 0 };
	struct claim *out[RECIPE_CLAIMS_MAX];

	for (size_t i = 0; i < n; i++) {
		void (*fn)(struct want *) = w[i].told;
		void *arg = w[i].arg;

		w[i] = (struct want){ .of = m, .told = fn, .arg = arg };
		(void)strlcpy(w[i].name, names[i], sizeof(w[i].name));
		ask[i] = (struct claim_want){ { (const uint8_t *)w[i].name,
		    strlen(w[i].name) }, mode, &w[i] };
	}
	if (recipe_claim(m->r, ask, n, flags, out) != 0)
		abort();
	for (size_t i = 0; i < n; i++)
		w[i].c = out[i];
}

void
want(struct want *w, struct member *m, const char *name,
    enum claim_mode mode, unsigned flags)
{
	want_many(w, 1, m, &name, mode, flags);
}

void
want_queued(struct want *w, struct member *m, const char *name,
    enum claim_mode mode)
{
	size_t before = count_keys("test/q/");

	want(w, m, name, mode, 0);
	UNTIL(count_keys("test/q/") == before + 1);
	loop_for(20);
}

void
want_leave(struct want *w)
{
	if (w->c == NULL)
		return;
	claim_leave(w->c);
	UNTIL(w->c == NULL);
}

void
session_delete(struct member *m)
{
	char key[60];

	(void)snprintf(key, sizeof(key), "test/s/%016jx",
	    (uintmax_t)m->session.name);
	fake_store_delete(member_store, (struct kv_bytes){ (uint8_t *)key,
	    strlen(key) });
}

struct finding {
	char mark[40];
	char key[200];
};

static void
find_key(const struct kv_pair *p, void *arg)
{
	struct finding *f = arg;

	if (f->key[0] == '\0' && memmem(p->key.p, p->key.len, f->mark,
	    strlen(f->mark)) != NULL)
		(void)snprintf(f->key, sizeof(f->key), "%.*s",
		    (int)p->key.len, (const char *)p->key.p);
}

bool
claim_delete(struct member *m)
{
	struct finding f = { .key = "" };

	(void)snprintf(f.mark, sizeof(f.mark), "w/%016jx-",
	    (uintmax_t)m->session.name);
	fake_store_each(member_store, find_key, &f);
	if (f.key[0] == '\0')
		return false;
	fake_store_delete(member_store, (struct kv_bytes){
	    (const uint8_t *)f.key, strlen(f.key) });
	return true;
}

struct counting {
	const char *prefix;
	size_t n;
};

static void
count(const struct kv_pair *p, void *arg)
{
	struct counting *c = arg;
	size_t len = strlen(c->prefix);

	c->n += p->key.len >= len && memcmp(p->key.p, c->prefix, len) == 0;
}

size_t
count_keys(const char *prefix)
{
	struct counting c = { prefix, 0 };

	fake_store_each(member_store, count, &c);
	return c.n;
}

int
count_leases(void)
{
	struct lease *l;
	int n = 0;

	TAILQ_FOREACH(l, &member_store->leases, all)
		n++;
	return n;
}
