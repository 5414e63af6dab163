/* SPDX-License-Identifier: MIT */
/*
 * The operations of g-restless-words.c, each on a stage of its own.
 */
#ifndef TESTS_REPLAY_RESTLESS_ACTS_H
#define TESTS_REPLAY_RESTLESS_ACTS_H

#include "restless.h"

static int
acquire_k(struct stage *st)
{
	return t_acquire(st->lh, "k", HOUR_MS, 0, &st->l);
}

static int
other_acquires_k(struct stage *st)
{
	return t_acquire(st->other, "k", HOUR_MS, 0, &st->m);
}

static int
other_waits_for_k(struct stage *st)
{
	return t_acquire(st->other, "k", HOUR_MS, 3, &st->m);
}

static int
other_reads_k(struct stage *st)
{
	return t_read(st->other, "k", HOUR_MS, 0, &st->m);
}

static int
release_k(struct stage *st)
{
	return lh_release(st->lh, &st->l);
}

static int
release_copy(struct stage *st)
{
	struct lh_lease as = st->l;
	int error = lh_release(st->other, &as);

	return error;
}

static int
downgrade(struct stage *st)
{
	return lh_convert(st->lh, &st->l, LH_SHARED);
}

static int
upgrade(struct stage *st)
{
	return lh_convert(st->lh, &st->l, LH_EXCLUSIVE);
}

static int
wait_to_upgrade(struct stage *st)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 3);

	return lh_convert_wait(st->lh, &st->l, LH_EXCLUSIVE, &o);
}

static int
extend(struct stage *st)
{
	return lh_extend(st->lh, &st->l, HOUR_MS);
}

static int
extend_copy(struct stage *st)
{
	return lh_extend(st->other, &st->l, HOUR_MS);
}

static int
verify(struct stage *st)
{
	return lh_verify(st->lh, &st->l);
}

static int
hand_over(struct stage *st)
{
	return lh_handoff(st->lh, &st->l, st->s);
}

static int
hand_to_attachment(struct stage *st)
{
	return lh_handoff(st->other, &st->l, NULL);
}

static int
break_k(struct stage *st)
{
	return lh_break(st->other, "k", NULL, 0);
}

static int
evict_all(struct stage *st)
{
	return (int)lh_evict(st->other, NULL, 0);
}

static int
destroy_k(struct stage *st)
{
	return lh_destroy(st->other, "k");
}

static int
keep_k(struct stage *st)
{
	return lh_key_create(st->lh, "k");
}

static int
set_value(struct stage *st)
{
	return lh_value_set(st->lh, &st->l, "hello", 5);
}

static int
clear_value(struct stage *st)
{
	return lh_value_set(st->lh, &st->l, NULL, 0);
}

static int
request_k(struct stage *st)
{
	struct lh_acquire_more more = more_of(NULL, 7, NULL);

	return acquire_more(st->lh, "k", 0, 0, &more, &st->l);
}

static int
repeat_q(struct stage *st)
{
	struct lh_acquire_more more = more_of(NULL, 5, NULL);

	return acquire_more(st->lh, "q", 0, 0, &more, &st->l);
}

static int
enter_again(struct stage *st)
{
	struct lh_acquire_more more = more_of(NULL, 0, "me");

	return acquire_more(st->lh, "k", 0, 0, &more, &st->m);
}

static int
open_s(struct stage *st)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	return lh_session_open(st->other, "s", &o, &st->s);
}

static int
renew_s(struct stage *st)
{
	return (int)lh_session_renew(st->s);
}

static int
destroy_s(struct stage *st)
{
	return lh_session_destroy(st->s);
}

static int
session_acquires_j(struct stage *st)
{
	struct lh_acquire_more more = more_of(st->s, 0, NULL);

	return acquire_more(st->lh, "j", 0, 0, &more, &st->m);
}

static int
close_lh(struct stage *st)
{
	struct lh *lh = st->lh;

	st->lh = NULL;
	return lh_close(lh);
}

static int
open_third(struct stage *st)
{
	struct lh *lh;
	int error = lh_open(&lh, st->table, NULL);

	if (error == 0)
		(void)lh_close(lh);
	return error;
}

static int
acquire_many_keys(struct stage *st)
{
	struct lh_lease l;
	char key[200];
	int error = 0;

	for (int i = 0; i < MANY && error == 0; i++) {
		(void)snprintf(key, sizeof(key), "%s-%d", i % 2 ? "a-long-key-"
		    "that-does-not-fit-into-its-slot-of-the-table" : "n", i);
		error = t_acquire(st->lh, key, HOUR_MS, 0, &l);
	}
	return error;
}

static int
acquire_locally(struct stage *st)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);

	o.scope = LH_LOCAL;
	return lh_acquire(st->lh, "k", &o, &st->l);
}

static int
acquire_live(struct stage *st)
{
	struct lh_acquire_more more = more_of(NULL, 0, NULL);

	more.policy = LH_POLICY_LIVE;
	return acquire_more(st->lh, "k", 0, 0, &more, &st->l);
}

static int
convert_live(struct stage *st)
{
	int error = acquire_live(st);

	return error != 0 ? error : lh_convert(st->lh, &st->l, LH_SHARED);
}

static int
check_table(struct stage *st)
{
	return lh_check(st->lh, NULL, NULL);
}

static int
on_key(const struct lh_key_info *k, void *arg)
{
	(void)k;
	(void)arg;
	return 0;
}

static int
list_all(struct stage *st)
{
	return lh_list(st->lh, NULL, on_key, NULL);
}

static int
stats(struct stage *st)
{
	struct lh_stats s = { .size = sizeof(s) };

	return lh_stats(st->lh, &s);
}

static int
recall_k(struct stage *st)
{
	struct lh_lease l;

	return lh_lease_recall(st->lh, "k", st->l.id, st->l.token, &l);
}

static int
verify_token(struct stage *st)
{
	return lh_verify_token(st->lh, "k", st->l.token);
}

static int
remove_table(struct stage *st)
{
	return lh_table_remove(st->table, LH_FORCE);
}

static int
ticket(struct stage *st)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 1000);
	struct lh_ticket *t;
	int error = lh_acquire_start(st->other, "k", &o, &t);

	return error != 0 ? error : lh_ticket_cancel(t);
}

static int
claim_range(struct stage *st)
{
	struct lhi_view *v = &st->lh->v;

	sh64_store(&v->hdr->token_seen,
	    sh64_load(&v->hdr->durable_ceiling) - 1);
	sh64_store(&v->hdr->raised_ms, 0);
	return lhi_token_ceiling_keep_ahead(v);
}

static const struct act acts[] = {
	{ "acquire", 0, nothing, acquire_k },
	{ "acquire in a durable table", DURABLE, nothing, acquire_k },
	{ "acquire locally", DURABLE, nothing, acquire_locally },
	{ "claim a range", DURABLE, nothing, claim_range },
	{ "acquire with global tokens", GLOBAL, nothing, acquire_k },
	{ "release", 0, hold_k, release_k },
	{ "release a copy", 0, hold_k, release_copy },
	{ "try what is held", 0, hold_k, other_acquires_k },
	{ "wait", 0, hold_k, other_waits_for_k },
	{ "cancel a ticket", 0, hold_k, ticket },
	{ "read", 0, nothing, other_reads_k },
	{ "read beside", 0, read_k, other_reads_k },
	{ "release the head", 0, both_read_k, release_k },
	{ "release a reader's copy", 0, both_read_k, release_copy },
	{ "take from idle readers", 0, idle_k, acquire_k },
	{ "take over an expired lease", 0, expire_k, other_acquires_k },
	{ "take over an expired reader", 0, expire_reader, other_acquires_k },
	{ "verify", 0, hold_k, verify },
	{ "verify what expired", 0, expire_k, verify },
	{ "extend", 0, hold_k, extend },
	{ "extend a copy", 0, hold_k, extend_copy },
	{ "extend what expired", 0, expire_k, extend },
	{ "downgrade", 0, hold_k, downgrade },
	{ "upgrade", 0, read_k, upgrade },
	{ "upgrade beside an idle reader", 0, idle_behind_k, upgrade },
	{ "wait to upgrade", 0, both_read_k, wait_to_upgrade },
	{ "hand over", 0, hold_k_and_session, hand_over },
	{ "hand over a reader's", 0, read_k_and_session, hand_over },
	{ "hand over to an attachment", 0, session_holds_k,
	    hand_to_attachment },
	{ "hand a reader's to an attachment", 0, session_reads_k,
	    hand_to_attachment },
	{ "break", 0, hold_k, break_k },
	{ "break readers", 0, both_read_k, break_k },
	{ "evict", 0, unused_k, evict_all },
	{ "destroy", 0, kept_k, destroy_k },
	{ "keep", 0, nothing, keep_k },
	{ "set a value", 0, hold_k, set_value },
	{ "set another value", 0, k_has_value, set_value },
	{ "clear a value", 0, k_has_value, clear_value },
	{ "a request", 0, nothing, request_k },
	{ "repeat a request", 0, two_requests, repeat_q },
	{ "enter again", 0, holder_holds_k, enter_again },
	{ "open a session", 0, nothing, open_s },
	{ "open one that is there", 0, open_session, open_s },
	{ "renew a session", 0, open_session, renew_s },
	{ "destroy a session", 0, session_holds_k, destroy_s },
	{ "destroy a reader's session", 0, session_reads_k, destroy_s },
	{ "acquire into a session", 0, session_holds_k, session_acquires_j },
	{ "release a session's", 0, session_holds_k, release_k },
	{ "release a session's reader", 0, session_reads_k, release_k },
	{ "downgrade a session's", 0, session_holds_k, downgrade },
	{ "close", 0, session_holds_k, close_lh },
	{ "close with a reader", 0, both_read_k, close_lh },
	{ "acquire from the dead", 0, dead_holds_k, acquire_k },
	{ "open where somebody is dead", 0, dead_holds_k, open_third },
	{ "acquire many", 0, nothing, acquire_many_keys },
	{ "acquire live", 0, nothing, acquire_live },
	{ "convert live", 0, nothing, convert_live },
	{ "check", 0, both_read_k, check_table },
	{ "list", 0, both_read_k, list_all },
	{ "stats", 0, hold_k, stats },
	{ "recall", 0, hold_k, recall_k },
	{ "verify a token", 0, hold_k, verify_token },
	{ "acquire above the ceiling", 0, low_ceiling, other_acquires_k },
	{ "evict above the ceiling", 0, low_ceiling, evict_all },
	{ "take over from an ended session", 0, ended_session_holds_k,
	    other_acquires_k },
	{ "check a circle of readers", 0, circle_of_readers, check_table },
	{ "check a circle of waiters", 0, circle_of_waiters, check_table },
	{ "check a circle of keys", 0, circle_of_keys, check_table },
	{ "remove", 0, nothing, remove_table },
	{ "remove a durable table", DURABLE, nothing, remove_table },
};

#define N_ACTS (sizeof(acts) / sizeof(acts[0]))

static const struct act *
acts_at(size_t i)
{
	return i < N_ACTS ? &acts[i] : NULL;
}

#endif
