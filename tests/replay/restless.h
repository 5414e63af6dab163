/* SPDX-License-Identifier: MIT */
/*
 * Prepares the stage for an operation of g-restless-words.c.
 */
#ifndef TESTS_REPLAY_RESTLESS_H
#define TESTS_REPLAY_RESTLESS_H

#include "restless-stage.h"

static void
read_k(struct stage *st)
{
	st->l = t_read_hold(st->lh, "k");
}

static void
both_read_k(struct stage *st)
{
	st->m = t_read_hold(st->other, "k");
	st->l = t_read_hold(st->lh, "k");
}

static void
idle_k(struct stage *st)
{
	both_read_k(st);
	(void)lh_release(st->lh, &st->l);
	(void)lh_release(st->other, &st->m);
}

static void
idle_behind_k(struct stage *st)
{
	both_read_k(st);
	(void)lh_release(st->other, &st->m);
}

static void
session_holds_k(struct stage *st)
{
	struct lh_acquire_more more;

	open_session(st);
	more = more_of(st->s, 0, NULL);
	if (acquire_more(st->lh, "k", 0, 0, &more, &st->l) != 0)
		bail_out("the session does not get k");
}

static void
session_reads_k(struct stage *st)
{
	struct lh_acquire_more more;

	open_session(st);
	more = more_of(st->s, 0, NULL);
	if (acquire_more(st->lh, "k", LH_SHARED, 0, &more, &st->l) != 0)
		bail_out("the session does not read k");
	st->m = t_read_hold(st->other, "k");
}

static void
read_k_and_session(struct stage *st)
{
	both_read_k(st);
	open_session(st);
}

static void
expire_k(struct stage *st)
{
	if (t_acquire(st->lh, "k", SOON_TTL_MS, 0, &st->l) != 0)
		bail_out("k is not free");
	t_sleep_ms(SOON_TTL_MS + 12);
}

static void
expire_reader(struct stage *st)
{
	if (t_read(st->lh, "k", SOON_TTL_MS, 0, &st->l) != 0)
		bail_out("k is not to be read");
	t_sleep_ms(SOON_TTL_MS + 12);
}

static int
die_with_k(void *arg)
{
	struct stage *st = arg;
	struct lh *lh = t_open(st->table);
	struct lh_lease l = t_hold(lh, "k"), r = t_read_hold(lh, "r");

	(void)l;
	(void)r;
	_exit(0);
}

static void
dead_holds_k(struct stage *st)
{
	struct lh_lease l = t_hold(st->lh, "warm");

	(void)lh_release(st->lh, &l);
	st->m = t_read_hold(st->other, "r");
	(void)t_reap(t_fork(die_with_k, st), 5000);
}

static void
kept_k(struct stage *st)
{
	if (lh_key_create(st->lh, "k") != 0)
		bail_out("k is not made");
}

static void
k_has_value(struct stage *st)
{
	hold_k(st);
	if (lh_value_set(st->lh, &st->l, "abc", 3) != 0)
		bail_out("no value: %s", lh_error_detail());
}

static void
two_requests(struct stage *st)
{
	struct lh_acquire_more more = more_of(NULL, 5, NULL);

	if (acquire_more(st->lh, "q", 0, 0, &more, &st->m) != 0)
		bail_out("no request");
}

static void
holder_holds_k(struct stage *st)
{
	struct lh_acquire_more more = more_of(NULL, 0, "me");

	if (acquire_more(st->lh, "k", 0, 0, &more, &st->l) != 0)
		bail_out("no holder");
}

/* The table's ceiling is where the key's tokens have got to. */
static void
low_ceiling(struct stage *st)
{
	unused_k(st);
	sh64_store(&st->lh->v.hdr->ceiling, st->l.token);
}

/* k was held by a session that has ended, and is to be kept back. */
static void
ended_session_holds_k(struct stage *st)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_acquire_more more;

	o.ttl_ms = 100;
	o.lock_delay_ms = 1000;
	if (lh_session_open(st->lh, "s", &o, &st->s) != 0)
		bail_out("no session: %s", lh_error_detail());
	more = more_of(st->s, 0, NULL);
	if (acquire_more(st->lh, "k", 0, 0, &more, &st->l) != 0)
		bail_out("the session does not get k");
	t_sleep_ms(100 + 10);
}

/* Two readers, and the second leads back to the first. */
static void
circle_of_readers(struct stage *st)
{
	struct t_object o;
	uint32_t head, next;

	both_read_k(st);
	o = t_map_object(st->table);
	head = word_idx(sh64_load(&o.slots[t_slot_of(&o, "k")].word));
	next = link_idx(sh64_load(&o.claims[head].rnext));
	sh64_store(&o.claims[next].rnext, link_make(false, head, 5));
	t_unmap_object(&o);
}

/* A claim that waits for the key, and leads to itself. */
static void
circle_of_waiters(struct stage *st)
{
	struct t_object o;
	struct shm_claim *c;
	uint32_t ci;

	hold_k(st);
	o = t_map_object(st->table);
	ci = lid_claim(st->l.id[1]) / SHM_CHUNK * SHM_CHUNK + 40;
	c = &o.claims[ci];
	sh32_store(&c->wflags, WAITER_SUSPECT);
	sh64_store(&c->wnext, link_make(false, ci, 5));
	sh64_store(&c->slot_ref, lhi_slot_ref(st->l.key,
	    sh32_load(&o.slots[st->l.key].gen)));
	sh64_store(&c->state, state_make(ST_WAIT, 1, 0));
	sh64_store(&o.slots[st->l.key].waitq,
	    link_make(false, ci, 7));
	t_unmap_object(&o);
}

/* Equal hashes, and the second key leads back to the first. */
static void
circle_of_keys(struct stage *st)
{
	struct t_object o;
	uint32_t a, b;

	hold_k(st);
	st->m = t_hold(st->lh, "j");
	o = t_map_object(st->table);
	a = t_slot_of(&o, "k");
	b = t_slot_of(&o, "j");
	sh64_store(&o.slots[b].hash, sh64_load(&o.slots[a].hash));
	sh64_store(&o.slots[a].next, slink_make(b, 1));
	sh64_store(&o.slots[b].next, slink_make(a, 1));
	t_unmap_object(&o);
}

#endif
