/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 B5, doc/format.md, "What counts up": each number that counts up in a
 * table is set to just before its end and used beyond it.  Those that wrap do
 * so without a trace; the one that must not (tokens) is refused with an error.
 * Deadlines are tested by table-too-old.c.
 *
 * Otherwise a table that has run for years would stop working, or give old
 * tokens.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "support/child.h"
#include "support/moved_clock.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 12		/* each number is set to fewer before its end */
#define DAY_NS (24 * 3600 * NS_PER_SEC)

/* Acquires and releases, alone and beside another reader; ids and tokens are
 * new each time. */
static void
use_key(struct lh *lh, struct lh *other, const char *key)
{
	struct lh_lease old = { .mode = 0 }, l, mine, theirs;
	struct lh_acquire_opts o = t_opts(60000, 0);
	int bad = 0;

	for (int i = 0; i < ROUNDS; i++) {
		o.mode = LH_EXCLUSIVE;
		bad += lh_acquire(lh, key, &o, &l) != 0;
		bad += i > 0 && (l.token <= old.token ||
		    memcmp(l.id, old.id, sizeof(l.id)) == 0 ||
		    lh_release(lh, &old) == 0 || lh_verify(lh, &old) == 0);
		bad += lh_acquire(other, key, &o, &theirs) != -EAGAIN;
		bad += lh_extend(lh, &l, 50000) != 0;
		old = l;
		bad += lh_release(lh, &l) != 0;
		o.mode = LH_SHARED;
		bad += lh_acquire(lh, key, &o, &mine) != 0;
		bad += lh_acquire(other, key, &o, &theirs) != 0;
		bad += mine.token <= old.token || theirs.token <= old.token;
		bad += lh_release(other, &theirs) != 0;
		bad += lh_release(lh, &mine) != 0;
	}
	is(bad, 0, "used %d times beyond it", ROUNDS);
}

struct place {
	const char *table;
	struct t_object o;
	struct lh *lh, *other;
};

/* A table in which nobody has done anything yet. */
static struct place
begin(const char *what)
{
	struct place p = { .table = t_table() };

	diag("%s", what);
	t_close(t_open(p.table));
	p.o = t_map_object(p.table);
	return p;
}

static void
attach(struct place *p)
{
	p->lh = t_open(p->table);
	p->other = t_open(p->table);
}

static void
end(struct place *p)
{
	t_close(p->other);
	t_close(p->lh);
	t_unmap_object(&p->o);
}

static uint32_t
claims(const struct place *p)
{
	return sh32_load(&p->o.h->ready_chunks) * SHM_CHUNK;
}

static void
version(void)
{
	const char *table = t_table();
	struct lh *lh, *other;
	char path[300];

	diag("version of a lock word: 2^40");
	(void)snprintf(path, sizeof(path), "/dev/shm/leasehold.%u/%s.floor",
	    (unsigned)geteuid(), table);
	t_remove_at_exit(path);
	is(symlink("109951162777595", path), 0, "tokens begin 5 before it");
	lh = t_open(table);
	other = t_open(table);
	use_key(lh, other, "k");
	t_close(other);
	t_close(lh);
}

static void
uses_of_claims(void)
{
	struct place p = begin("uses of a claim: 2^22, and how often: 2^20");

	for (uint32_t i = SHM_CHUNK; i < claims(&p); i++) {
		sh64_store(&p.o.claims[i].state, state_make(ST_FREE,
		    MASK(SEQ_BITS) - 5, 0));
		sh32_store(&p.o.claims[i].wflags,
		    (uint32_t)MASK(EPOCH_BITS) << WAITER_BITS);
	}
	attach(&p);
	use_key(p.lh, p.other, "k");
	end(&p);
}

static int
wait_for_it(void *table)
{
	struct lh *lh = t_open(table);
	struct lh_lease l;

	is(t_acquire(lh, "k", 60000, T_HANG_MS, &l), 0, "a waiter is granted");
	is(lh_release(lh, &l), 0, "and releases");
	is(lh_close(lh), 0, "and closes");
	return tap_child_status();
}

static void
tags_of_links(void)
{
	struct place p = begin("tags of queues and chains: 2^41; keys: 2^36");
	struct lh_lease l;

	for (uint32_t i = SHM_CHUNK; i < claims(&p); i++) {
		sh64_store(&p.o.claims[i].wnext, link_make(false, 0,
		    MASK(LINK_TAG_BITS) - 3));
		sh64_store(&p.o.claims[i].rnext, link_make(false, 0,
		    MASK(LINK_TAG_BITS) - 3));
	}
	for (uint32_t i = 1; i < sh32_load(&p.o.h->ready_slots); i++)
		sh64_store(&p.o.slots[i].waitq, link_make(false, 0,
		    MASK(LINK_TAG_BITS) - 3));
	attach(&p);
	for (int i = 0; i < ROUNDS / 2; i++) {
		pid_t waiter;

		l = t_hold(p.lh, "k");
		waiter = t_fork(wait_for_it, (void *)(uintptr_t)p.table);
		ok(t_await_waiters(p.lh, "k", 1), "somebody waits");
		is(lh_release(p.lh, &l), 0, "released");
		is(t_reap(waiter, T_HANG_MS), 0, "and granted");
	}
	use_key(p.lh, p.other, "k");
	end(&p);
}

static void
lives_of_slots(void)
{
	struct place p = begin("lives of a slot: 2^32");
	struct lh_lease old = { .mode = 0 }, l;
	int bad = 0;

	for (uint32_t i = 1; i < sh32_load(&p.o.h->ready_slots); i++)
		sh32_store(&p.o.slots[i].gen, UINT32_MAX - 3);
	attach(&p);
	for (int i = 0; i < ROUNDS; i++) {
		l = t_hold(p.lh, "k");
		bad += i > 0 && (lh_verify(p.lh, &old) == 0 ||
		    l.token <= old.token);
		old = l;
		bad += lh_release(p.lh, &l) != 0;
		bad += lh_destroy(p.lh, "k") != 0;
	}
	is(bad, 0, "made and destroyed %d times", ROUNDS);
	use_key(p.lh, p.other, "k");
	end(&p);
}

static void
incarnations(void)
{
	struct place p = begin("sessions of a record: 2^48");
	uint64_t before = 0;
	int bad = 0;

	for (uint32_t i = 0; i < p.o.geo.max_sessions; i++)
		sh64_store(&p.o.sessions[i].state, sess_make(SESS_UNUSED, 0,
		    MASK(INC_BITS) - 3));
	for (int i = 0; i < ROUNDS; i++) {
		struct lh *lh = t_open(p.table);
		struct lh_session *s = NULL;
		struct lh_lease l = t_hold(lh, "k");

		bad += lh_session_id(lh) == before || l.id[0] == 0;
		before = lh_session_id(lh);
		bad += lh_session_open(lh, "named", NULL, &s) != 0;
		bad += s == NULL || lh_session_renew(s) < 0;
		bad += s == NULL || lh_session_destroy(s) != 0;
		lh_session_close(s);
		bad += lh_verify(lh, &l) != 0 || lh_release(lh, &l) != 0;
		bad += lh_close(lh) != 0;
	}
	is(bad, 0, "opened %d times, and named ones", ROUNDS);
	attach(&p);
	use_key(p.lh, p.other, "k");
	end(&p);
}

static int
count_grants(const struct lh_log_entry *e, void *arg)
{
	*(int *)arg += e->kind == LH_LOG_GRANTED;
	return 0;
}

static void
numbers_of_events(void)
{
	struct place p = begin("events of a ring: 2^64");
	struct lh_lease l;
	int n = 0;

	attach(&p);
	is(lh_log_grants(p.lh, 1), 0, "all leases are recorded");
	for (uint32_t i = 0; i < 2; i++)
		sh64_store(&p.o.rings[i].next, UINT64_MAX - 5);
	for (int i = 0; i < ROUNDS; i++) {
		l = t_hold(p.lh, "k");
		is(lh_release(p.lh, &l), 0, "released");
	}
	cmp(lh_log(p.table, NULL, count_grants, &n), >=, 0, "read");
	cmp(n, >=, ROUNDS / 2, "the last events are reported (%d)", n);
	end(&p);
}

static void
values(void)
{
	struct place p = begin("values of a key: 2^40, uses of a record: 2^24");
	char want[16], got[LH_VALUE_MAX];
	struct lh_lease l;
	int bad = 0;

	attach(&p);
	l = t_hold(p.lh, "k");
	is(lh_value_set(p.lh, &l, "first", 5), 0, "a value");
	for (uint32_t i = 1; i < sh32_load(&p.o.h->ready_slots); i++) {
		uint64_t v = sh64_load(&p.o.slots[i].value);

		if (v != 0)
			sh64_store(&p.o.slots[i].value, vlink_make(
			    (uint32_t)(v & MASK(VALUE_IDX_BITS)),
			    MASK(64 - VALUE_IDX_BITS) - 3));
	}
	for (int i = 0; i < ROUNDS; i++) {
		size_t len = 0;

		(void)snprintf(want, sizeof(want), "value %d", i);
		bad += lh_value_set(p.lh, &l, want, strlen(want)) != 0;
		bad += lh_value_get(p.lh, "k", got, &len, NULL) != 0 ||
		    len != strlen(want) || memcmp(got, want, len) != 0;
	}
	is(bad, 0, "set %d times", ROUNDS);
	is(lh_release(p.lh, &l), 0, "released");
	end(&p);
}

static int
ask(struct lh *lh, struct lh_lease *l)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(60000, 0);

	more.request[0] = more.request[1] = 7;
	o.more = &more;
	return lh_acquire(lh, "asked", &o, l);
}

/* One that is forgotten after a minute uses its record again. */
static void
requests(void)
{
	struct place p = begin("requests of a record: 2^10");
	struct lh_lease l, again, old = { .mode = 0 };
	int bad = 0, set = 0;

	attach(&p);
	t_clock_begin();
	for (int i = 0; i < ROUNDS; i++) {
		bad += ask(p.lh, &l) != 0 || l.token <= old.token;
		bad += ask(p.lh, &again) != 0 || again.token != l.token;
		bad += lh_release(p.lh, &l) != 0;
		bad += ask(p.lh, &again) != -ESTALE;
		old = l;
		for (uint32_t r = 0; i == 0 && r < sh32_load(
		    &p.o.h->ready_requests); r++) {
			uint64_t st = sh64_load(&p.o.requests[r].state);

			if (req_st(st) == REQ_FREE)
				continue;
			sh64_store(&p.o.requests[r].state, req_make(req_st(st),
			    MASK(64 - REQ_SEQ_SHIFT) - 2, req_who(st),
			    req_time(st)));
			set++;
		}
		t_clock_age((i + 1) * 120 * NS_PER_SEC);
	}
	t_clock_back();
	is(set, 1, "one record is used");
	is(bad, 0, "asked %d times", ROUNDS);
	end(&p);
}

static void
milliseconds(void)
{
	struct lh *lh;
	struct lh_lease l;
	const char *table = t_table();

	diag("milliseconds since a key was used: 2^32, 49 days");
	t_clock_begin();
	lh = t_open(table);
	l = t_hold(lh, "idle");
	is(lh_release(lh, &l), 0, "a key that was used");
	t_clock_age((INT64_C(1) << 32) * NS_PER_MS - 10 * NS_PER_SEC);
	l = t_hold(lh, "idle");
	is(lh_release(lh, &l), 0, "used again before the end");
	is(lh_evict(lh, NULL, 3600000), 0, "not idle for an hour");
	t_clock_age((INT64_C(1) << 32) * NS_PER_MS + 10 * NS_PER_SEC);
	is(lh_evict(lh, NULL, 3600000), 0, "nor is it 20 s later");
	t_clock_age((INT64_C(1) << 32) * NS_PER_MS + 2 * 3600 * NS_PER_SEC);
	cmp(lh_evict(lh, NULL, 3600000), >=, 0, "after two hours it may go");
	t_clock_back();
	t_close(lh);
}

static void
tokens(void)
{
	struct place p = begin("tokens: 2^62");
	struct lh_lease l;
	uint32_t slot;

	attach(&p);
	l = t_hold(p.lh, "k");
	is(lh_release(p.lh, &l), 0, "a key");
	slot = t_slot_of(&p.o, "k");
	sh64_store(&p.o.slots[slot].hint, (UINT64_C(1) << 62) - 2);
	sh64_store(&p.o.slots[slot].word, word_make(WORD_FREE, CAUSE_RELEASED,
	    (UINT64_C(1) << 62) - 2));
	is(t_acquire(p.lh, "k", 60000, 0, &l), -EOVERFLOW, "are used up: %s",
	    lh_error_detail());
	ok(strstr(lh_error_detail(), "used up") != NULL, "and it is said");
	is(lh_close(p.other), 0, "closed");
	is(lh_close(p.lh), 0, "closed");
	t_unmap_object(&p.o);
}

int
main(void)
{
	version();
	uses_of_claims();
	tags_of_links();
	lives_of_slots();
	incarnations();
	numbers_of_events();
	values();
	tokens();
	requests();
	milliseconds();
	return done();
}
