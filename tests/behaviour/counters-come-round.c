/* SPDX-License-Identifier: MIT */
/* test: slow 4 */
/*
 * Issue 21 B5, doc/format.md, "What counts up": more numbers that count up.  As
 * in numbers-come-round.c, each is set to just before its end and used beyond
 * it: turns of a queue, named sessions in `until`, uses of value records,
 * doorbells, the counters of `stats`, and those of the shim.
 *
 * Otherwise a table that has run for years would stop working.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include "support/actor.h"
#include "support/object.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 12		/* each number is set to fewer before its end */
#define UNTIL_BITS 26		/* of a session's number, in `until` */
#define WAITERS 6

struct place {
	const char *table;
	struct t_object o;
	struct lh *lh;
};

/* A table, and a process in it that has done nothing yet. */
static struct place
begin(const char *what)
{
	struct place p = { .table = t_table() };

	diag("%s", what);
	p.lh = t_open(p.table);
	p.o = t_map_object(p.table);
	return p;
}

static void
end(struct place *p)
{
	t_close(p->lh);
	t_unmap_object(&p->o);
}

/* Tickets of one process: granted in the order in which they came. */
static void
turns_of_a_queue(void)
{
	struct place p = begin("turns of a key's queue: 2^32");
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_ticket *t[WAITERS];
	struct lh_lease l = t_hold(p.lh, "k");
	int bad = 0;

	sh32_store(&p.o.slots[t_slot_of(&p.o, "k")].ticket,
	    UINT32_MAX - WAITERS / 2);
	for (int i = 0; i < WAITERS; i++) {
		bad += lh_acquire_start(p.lh, "k", &o, &t[i]) != 0;
		bad += !t_await_waiters(p.lh, "k", i + 1);
	}
	is(bad, 0, "%d wait, half of them beyond it", WAITERS);
	for (int i = 0; i < WAITERS; i++) {
		struct pollfd fd = { .fd = lh_ticket_fd(t[i]),
		    .events = POLLIN };

		is(lh_release(p.lh, &l), 0, "released");
		is(poll(&fd, 1, (int)T_HANG_MS), 1, "number %d has its turn",
		    i);
		is(lh_ticket_finish(t[i], &l), 0, "and is granted");
	}
	is(lh_release(p.lh, &l), 0, "released");
	end(&p);
}

static void
sessions_in_until(void)
{
	struct place p = begin("named sessions, in `until`: 2^26");
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	int bad = 0;

	o.ttl_ms = (uint32_t)t_ms(10000);
	for (uint32_t i = 0; i < p.o.geo.max_sessions; i++) {
		if (sess_st(sh64_load(&p.o.sessions[i].state)) == SESS_UNUSED)
			sh64_store(&p.o.sessions[i].state, sess_make(
			    SESS_UNUSED, 0, MASK(UNTIL_BITS) - 3));
	}
	for (int i = 0; i < ROUNDS; i++) {
		struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
		struct lh_acquire_opts a = t_opts(60000, 0);
		struct lh_session *s = NULL;
		struct lh_lease l;

		if (lh_session_open(p.lh, "s", &o, &s) != 0) {
			bad++;
			break;
		}
		more.session = s;
		a.more = &more;
		bad += lh_acquire(p.lh, "k", &a, &l) != 0;
		bad += lh_session_renew(s) <= 0 || lh_verify(p.lh, &l) != 0;
		bad += lh_session_destroy(s) != 0 || lh_verify(p.lh, &l) == 0;
		bad += lh_session_renew(s) != -ESTALE;
		lh_session_close(s);
	}
	is(bad, 0, "opened, renewed and destroyed %d times", ROUNDS);
	end(&p);
}

static void
uses_of_value_records(void)
{
	struct place p = begin("uses of a value record: 2^24");
	char want[16], got[LH_VALUE_MAX];
	struct lh_lease l[2] = { t_hold(p.lh, "a"), t_hold(p.lh, "b") };
	int bad = 0, set = 0;

	is(lh_value_set(p.lh, &l[0], "first", 5), 0, "a value");
	for (uint32_t i = 1; i < sh32_load(&p.o.h->ready_values); i++) {
		uint64_t owner = sh64_load(&p.o.values[i].owner);

		sh64_store(&p.o.values[i].owner, vown_make(vown_kind(owner),
		    vown_whose(owner), MASK(24) - 3));
		set += vown_kind(owner) != VALUE_FREE;
	}
	is(set, 1, "in a record");
	for (int i = 0; i < 2 * ROUNDS; i++) {
		const char *key = i % 2 ? "b" : "a";
		size_t len = 0;

		(void)snprintf(want, sizeof(want), "value %d", i);
		/* the next is looked for where the first one is */
		sh32_store(&p.o.h->value_next, 1);
		bad += lh_value_set(p.lh, &l[i % 2], want, strlen(want)) != 0;
		bad += lh_value_get(p.lh, key, got, &len, NULL) != 0 ||
		    len != strlen(want) || memcmp(got, want, len) != 0;
		if (i % 3 == 2)
			bad += lh_value_set(p.lh, &l[i % 2], NULL, 0) != 0;
	}
	is(bad, 0, "set and cleared %d times", 2 * ROUNDS);
	is(lh_release(p.lh, &l[0]), 0, "released");
	is(lh_release(p.lh, &l[1]), 0, "released");
	end(&p);
}

static int
break_it(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_break(a->lh, "lost", NULL, 0);
}

/* Wake-ups of tickets count in the lower half, losses in the upper one. */
static void
doorbell(void)
{
	struct place p = begin("a session's doorbell: twice 16 bits");
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct t_actor *other = t_actor(p.table);
	struct lh_event e = LH_EVENT_INIT;
	shm_u32 *bell = NULL;
	struct lh_watch *watch;
	struct lh_lock *lock;
	struct lh_ticket *t;
	struct lh_lease l;
	int bad = 0;

	for (uint32_t i = 0; i < p.o.geo.max_sessions; i++) {
		if (p.o.sessions[i].pid.raw == (uint32_t)getpid())
			bell = &p.o.sessions[i].doorbell;
	}
	is(lh_lock_open(p.lh, "lost", NULL, &lock), 0, "a live handle");
	is(lh_lock_watch(lock, LH_EVENT_LOST, &watch), 0, "watched");
	sh32_store(bell, (sh32_load(bell) & 1) | (UINT32_MAX - 5 * 0x10000u -
	    5 * 2u) / 2 * 2);
	for (int i = 0; i < ROUNDS; i++) {
		struct pollfd fd = { .events = POLLIN };

		l = t_hold(p.lh, "k");
		bad += lh_acquire_start(p.lh, "k", &o, &t) != 0;
		bad += lh_release(p.lh, &l) != 0;
		fd.fd = lh_ticket_fd(t);
		bad += poll(&fd, 1, (int)T_HANG_MS) != 1;
		bad += lh_ticket_finish(t, &l) != 0 ||
		    lh_release(p.lh, &l) != 0;

		bad += lh_lock_acquire(lock, &o) != 0;
		bad += t_do(other, break_it, NULL) != 1;
		fd.fd = lh_watch_fd(watch);
		bad += poll(&fd, 1, (int)T_HANG_MS) != 1;
		bad += lh_watch_next(watch, &e) != 0 ||
		    e.loss != LH_LOSS_BROKEN;
	}
	is(bad, 0, "%d tickets granted and %d losses told", ROUNDS, ROUNDS);
	cmp(sh32_load(bell), <, 0x80000000u, "it has come round");
	is(lh_watch_close(watch), 0, "watch closed");
	is(lh_lock_close(lock), 0, "handle closed");
	t_actor_end(other);
	end(&p);
}

static struct lh_stats
stats_of(struct lh *lh)
{
	struct lh_stats s = { .size = sizeof(s) };

	if (lh_stats(lh, &s) != 0)
		bail_out("no stats: %s", lh_error_detail());
	return s;
}

static void
counters_of_stats(void)
{
	struct place p = begin("counters of stats: 2^64");
	struct lh_stats before, after;
	struct lh_lease l;

	for (unsigned i = 0; i < SHM_STATS; i++) {
		for (uint32_t s = 0; s < p.o.geo.max_sessions; s++)
			sh64_store(&p.o.sessions[s].stat[i], UINT64_MAX - 4);
		sh64_store(&p.o.h->gone[i], UINT64_MAX - 4);
	}
	before = stats_of(p.lh);
	for (int i = 0; i < ROUNDS; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "k%d", i);
		l = t_hold(p.lh, key);
		is(lh_extend(p.lh, &l, 60000), 0, "extended");
		is(lh_release(p.lh, &l), 0, "released");
		is(lh_destroy(p.lh, key), 0, "destroyed");
	}
	after = stats_of(p.lh);
	ok(after.counters.keys_made - before.counters.keys_made == ROUNDS,
	    "keys made in between are counted");
	is((int)(after.counters.acquired - before.counters.acquired), ROUNDS,
	    "and grants");
	end(&p);
}

/* Its session is lost, and another shim begins one, again and again. */
static void
numbers_of_the_shim(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct t_object o = t_map_object(table);
	struct lh_acquire_opts a = t_opts(t_long(20000), t_long(5000));
	struct lh_lease l, old = { .mode = 0 };
	struct t_shim *s;
	int bad = 0;

	diag("epochs of rights: 2^30; lives in a right: 2^32; shim_seq: 2^32");
	for (uint32_t i = 1; i < sh32_load(&o.h->ready_slots); i++)
		sh32_store(&o.slots[i].gen, UINT32_MAX - 3);
	sh64_store(&o.h->cluster_epoch, MASK(RIGHT_EPOCH_BITS) - 5);
	sh32_store(&o.h->shim_seq, UINT32_MAX - 5);
	s = t_shim(table);
	for (int i = 0; i < ROUNDS; i++) {
		bad += lh_acquire(lh, "cluster:k", &a, &l) != 0 ||
		    l.token <= old.token || lh_verify(lh, &l) != 0;
		if (old.token != 0)
			bad += lh_verify(lh, &old) != -ESTALE;
		old = l;
		if (i % 3 == 0)
			bad += lh_release(lh, &l) != 0;
		t_shim_lose(s);
		bad += lh_verify(lh, &old) == 0;
		if (i % 3 == 2)
			bad += lh_destroy(lh, "cluster:k") != 0;
		t_shim_kill(s);
		s->beats = 1;
		t_shim_start(s);
	}
	is(bad, 0, "granted under %d sessions", ROUNDS);
	cmp(sh64_load(&o.h->cluster_epoch), >, MASK(RIGHT_EPOCH_BITS),
	    "the epoch has come round");
	cmp(sh32_load(&o.h->shim_seq), <, UINT32_C(1000), "and its path's");
	t_shim_kill(s);
	t_unmap_object(&o);
	t_close(lh);
}

int
main(void)
{
	turns_of_a_queue();
	sessions_in_until();
	uses_of_value_records();
	doorbell();
	counters_of_stats();
	numbers_of_the_shim();
	return done();
}
