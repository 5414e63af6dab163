/* SPDX-License-Identifier: MIT */
/*
 * The operations of g-restless-points.c, and what is done at their points.
 */
#ifndef TESTS_REPLAY_RESTLESS_LATE_ACTS_H
#define TESTS_REPLAY_RESTLESS_LATE_ACTS_H

#include "restless-stage.h"
#include "shm/request_record.h"
#include "support/child.h"

#define MOMENT_MS 120		/* granted fast */
#define SOON_ENOUGH_MS 40	/* a lease of SOON_TTL_MS is over */
#define LONG_KEY "a-long-key-that-does-not-fit-into-its-slot-of-the-table"

/* --- done at a point */

static void
let_it_expire(struct stage *st)
{
	(void)st;
	t_sleep_ms(SOON_ENOUGH_MS);
}

static void
let_the_moment_pass(struct stage *st)
{
	(void)st;
	t_sleep_ms(MOMENT_MS + 10);
}

/* Some version of k's word on: the swap of an operation fails. */
static void
change_word(struct stage *st)
{
	struct t_object o = t_map_object(st->table);
	uint32_t s = t_slot_of(&o, "k");

	__atomic_add_fetch(&o.slots[s].word.raw, UINT64_C(1) << VER_SHIFT,
	    __ATOMIC_SEQ_CST);
	t_unmap_object(&o);
}

/* A rival of the request that is being made, in another of its places. */
static void
double_request(struct stage *st)
{
	struct t_object o = t_map_object(st->table);

	for (uint32_t i = 0; i < o.geo.n_requests; i++) {
		if (req_st(sh64_load(&o.requests[i].state)) != REQ_ASKED)
			continue;
		memcpy(&o.requests[i ^ 1], &o.requests[i],
		    sizeof(o.requests[i]));
		break;
	}
	t_unmap_object(&o);
}

/* The head of the chain of readers, to which k's word leads again, is as it was
 * before it was taken out. */
static void
relink_head(shm_u32 *word)
{
	shm_u64 *link = &stage->lh->v.claims[lid_claim(stage->l.id[1])].rnext;
	static uint64_t was;

	(void)word;
	if (was == 0)
		was = __atomic_load_n(&link->raw, __ATOMIC_SEQ_CST);
	if (link_marked(was))
		__atomic_store_n(&link->raw, was, __ATOMIC_SEQ_CST);
	else
		was = 0;
}

/* The chunk, whose keeper is to change, can be taken again. */
static void
free_chunk(shm_u32 *keeper)
{
	struct shm_chunk *c = (void *)((char *)keeper -
	    offsetof(struct shm_chunk, keeper));

	__atomic_store_n(&c->owner.raw, 0, __ATOMIC_SEQ_CST);
}

/* --- before */

static void
hold_k_for_a_moment(struct stage *st)
{
	if (t_acquire(st->lh, "k", SOON_TTL_MS, 0, &st->l) != 0)
		bail_out("k is not free");
}

static void
hold_k_for_a_moment_and_session(struct stage *st)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.ttl_ms = HOUR_MS;
	if (lh_session_open(st->lh, "s", &o, &st->s) != 0)
		bail_out("no session: %s", lh_error_detail());
	hold_k_for_a_moment(st);
}

/* Tokens of k's shard begin above 2^45. */
static void
high_floor(struct stage *st)
{
	for (unsigned i = 0; i < SHM_SHARDS; i++)
		sh64_store(&st->lh->v.hdr->floor[i], UINT64_C(1) << 45);
	sh64_store(&st->lh->v.hdr->ceiling, UINT64_C(1) << 46);
}

/* Every slot that is there is in use. */
static void
slots_in_use(struct stage *st)
{
	sh32_store(&st->lh->v.hdr->slot_next, lhi_slots_ready(&st->lh->v));
	sh32_store(&st->lh->v.hdr->slot_freed, 0);
}

static int
set_value(struct stage *st)
{
	return lh_value_set(st->lh, &st->l, "hello", 5);
}

static void
values_in_use(struct stage *st)
{
	struct t_object o = t_map_object(st->table);

	hold_k(st);
	if (set_value(st) != 0)
		bail_out("no value: %s", lh_error_detail());
	for (uint32_t i = 0; i < sh32_load(&o.h->ready_values); i++)
		sh64_store(&o.values[i].owner, MASK(VALUE_KIND_BITS));
	t_unmap_object(&o);
}

static void
long_keys_in_use(struct stage *st)
{
	char key[200];

	for (int i = 0; i < 2 * MANY; i++) {
		(void)snprintf(key, sizeof(key), "%s-%d", LONG_KEY, i);
		(void)t_hold(st->other, key);
	}
	sh32_store(&st->lh->v.hdr->long_next, 0);
}

static void
read_before(struct stage *st, int64_t ttl_ms)
{
	if (t_read(st->lh, "k", ttl_ms, 0, &st->l) != 0 ||
	    lh_release(st->lh, &st->l) != 0)
		bail_out("k is not to be read");
}

static void
reads_and_releases(struct stage *st)
{
	read_before(st, HOUR_MS);
}

/* (The second time it is granted fast.) */
static void
reads_for_a_moment(struct stage *st)
{
	read_before(st, HOUR_MS);
	read_before(st, MOMENT_MS);
}

static int
wait_in_child(void *arg)
{
	struct stage *st = arg;
	struct lh *lh = t_open(st->table);
	struct lh_lease l;

	return t_acquire(lh, "k", HOUR_MS, HOUR_MS, &l);
}

/* k is free, and the first who waits for it is stopped. */
static void
stopped_waits_for_k(struct stage *st)
{
	hold_k(st);
	st->child = t_fork(wait_in_child, st);
	if (!t_await_waiters(st->lh, "k", 1))
		bail_out("nobody waits");
	t_stop(st->child);
	(void)lh_release(st->lh, &st->l);
}

static void
hold_lent(struct stage *st)
{
	st->l = t_hold(st->lh, LENT_KEY);
}

static void
hold_lent_and_session(struct stage *st)
{
	hold_lent(st);
	open_session(st);
}

static void
lose_lent(struct stage *st)
{
	hold_lent(st);
	lent_pass();
}

/* --- the operations */

static int
verify(struct stage *st)
{
	return lh_verify(st->lh, &st->l);
}

static int
recall_lent(struct stage *st)
{
	struct lh_lease l;

	return lh_lease_recall(st->lh, LENT_KEY, st->l.id, st->l.token, &l);
}

static int
request_k(struct stage *st)
{
	struct lh_acquire_more more = more_of(NULL, 7, NULL);

	return acquire_more(st->lh, "k", 0, 0, &more, &st->l);
}

/* Its process's own thread listens for the ticket's turn. */
static int
ticket_that_waits(struct stage *st)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	struct lh_ticket *t;
	int error = lh_acquire_start(st->other, "k", &o, &t);

	if (error != 0)
		return error;
	(void)t_until(T_HANG_MS, __atomic_load_n(&reached, __ATOMIC_RELAXED));
	return lh_ticket_cancel(t);
}

static int
hand_over(struct stage *st)
{
	return lh_handoff(st->lh, &st->l, st->s);
}

static int
downgrade(struct stage *st)
{
	return lh_convert(st->lh, &st->l, LH_SHARED);
}

static int
convert_live(struct stage *st)
{
	struct lh_acquire_more more = more_of(NULL, 0, NULL);
	int error;

	more.policy = LH_POLICY_LIVE;
	error = acquire_more(st->lh, "k", 0, 0, &more, &st->l);
	return error != 0 ? error : lh_convert(st->lh, &st->l, LH_SHARED);
}

static int
remove_table(struct stage *st)
{
	return lh_table_remove(st->table, LH_FORCE);
}

static int
open_t(struct stage *st)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *t;
	int error = lh_session_open(st->other, "t", &o, &t);

	if (error == 0)
		lh_session_close(t);
	return error;
}

static int
session_acquires_k(struct stage *st)
{
	struct lh_acquire_more more = more_of(st->s, 0, NULL);

	return acquire_more(st->lh, "k", 0, 0, &more, &st->l);
}

static int
other_acquires_k(struct stage *st)
{
	return t_acquire(st->other, "k", HOUR_MS, 0, &st->m);
}

static int
ticket_k(struct stage *st)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 1000);
	struct lh_ticket *t;
	int error = lh_acquire_start(st->other, "k", &o, &t);

	if (error == 0)
		(void)lh_ticket_cancel(t);
	return error;
}

static int
acquire_new(struct stage *st)
{
	struct lh_lease l;

	return t_acquire(st->lh, "new", HOUR_MS, 0, &l);
}

static int
acquire_long(struct stage *st)
{
	struct lh_lease l;

	return t_acquire(st->lh, LONG_KEY, HOUR_MS, 0, &l);
}

static int
acquire_many_keys(struct stage *st)
{
	struct lh_lease l;
	char key[32];
	int error = 0;

	for (int i = 0; i < MANY && error == 0; i++) {
		(void)snprintf(key, sizeof(key), "n-%d", i);
		error = t_acquire(st->lh, key, HOUR_MS, 0, &l);
	}
	return error;
}

static int
read_again(struct stage *st)
{
	return t_read(st->lh, "k", HOUR_MS, 0, &st->l);
}

static int
read_for_a_moment(struct stage *st)
{
	return t_read(st->lh, "k", MOMENT_MS, 0, &st->l);
}

static void *
wait_for_k(void *arg)
{
	struct stage *st = arg;
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	struct lh_lease l;

	o.cancel = &st->cancel;
	(void)lh_acquire(st->other, "k", &o, &l);
	return NULL;
}

/* A waiter that sleeps is cancelled. */
static int
cancel_waiter(struct stage *st)
{
	unsigned long thread;
	int error;

	thread = t_thread(wait_for_k, st);
	if (!t_await_waiters(st->lh, "k", 1))
		bail_out("nobody waits");
	t_sleep_ms(10);	/* between two of its looks */
	error = lh_cancel(&st->cancel);
	(void)t_join(thread);
	return error;
}

static const struct act acts[] = {
	{ "hand over", 0, hold_k_and_session, hand_over },
	{ "hand over what expires", 0, hold_k_for_a_moment_and_session,
	    hand_over },
	{ "downgrade what expires", 0, hold_k_for_a_moment, downgrade },
	{ "convert live", 0, nothing, convert_live },
	{ "remove", 0, unused_k, remove_table },
	{ "open another session", 0, open_session, open_t },
	{ "acquire into a session", 0, open_session, session_acquires_k },
	{ "acquire", 0, unused_k, other_acquires_k },
	{ "a ticket", 0, hold_k, ticket_k },
	{ "acquire below a floor", 0, high_floor, acquire_new },
	{ "acquire with no slot", GROWS, slots_in_use, acquire_new },
	{ "acquire with no long key", GROWS, long_keys_in_use, acquire_long },
	{ "set with no record", GROWS, values_in_use, set_value },
	{ "acquire many", 0, nothing, acquire_many_keys },
	{ "read for a moment", 0, reads_for_a_moment, read_for_a_moment },
	{ "read again", 0, reads_and_releases, read_again },
	{ "a request", 0, nothing, request_k },
	{ "a ticket that waits", 0, hold_k, ticket_that_waits },
	{ "try before a stopped waiter", FIFO, stopped_waits_for_k,
	    other_acquires_k },
	{ "verify without a right", LENT, lose_lent, verify },
	{ "recall what the cluster lends", LENT, hold_lent, recall_lent },
	{ "hand over what the cluster lends", LENT, hold_lent_and_session,
	    hand_over },
	{ "cancel a waiter", 0, hold_k, cancel_waiter },
};

#define N_ACTS (sizeof(acts) / sizeof(acts[0]))

static const struct act *
acts_at(size_t i)
{
	return i < N_ACTS ? &acts[i] : NULL;
}

#endif
