/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2 and G7: the only living reader converts to exclusive:
 * readers that have released, died or expired do not count.  It goes before all
 * waiting writers, and keeps everyone out until it releases or converts back.
 * Its token grows with each conversion.
 *
 * Otherwise dead readers would prevent an upgrade, or two callers would hold
 * the key.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

enum other { NOBODY, RELEASED, DEAD, EXPIRED, ALL, N_OTHERS };

static const char *const names[N_OTHERS] = { "nobody else", "others released",
	"others died", "others expired", "all of that" };

static struct lh *lh;
static struct t_actor *r;

/* Readers that came and went in that way, elder and younger than mine. */
static struct lh_lease
among(enum other how, struct t_actor **dead)
{
	struct lh_lease mine = { .token = 0 }, l;

	for (int i = 0; i < 2; i++) {
		if (how == RELEASED || how == ALL) {
			is(t_do_read(r, "k", HOUR_MS, 0), 0, "one reads");
			is(t_do_release(r), 0, "and releases");
			l = t_read_hold(lh, "k");
			is(lh_release(lh, &l), 0, "this process, too");
		}
		if (how == DEAD || how == ALL) {
			dead[i] = t_actor(lh_table_name(lh));
			is(t_do_read(dead[i], "k", HOUR_MS, 0), 0,
			    "one reads");
		}
		if (how == EXPIRED || how == ALL) {
			is(t_do_read(r, "k", t_long(20), 0), 0,
			    "one reads for a short time");
		}
		if (i == 0)
			mine = t_read_hold(lh, "k");
	}
	if (how == EXPIRED || how == ALL)
		t_sleep_until(r->lease.expires_ns + T_NS_PER_MS);
	for (int i = 0; i < 2; i++) {
		if (dead[i] != NULL) {
			t_actor_kill(dead[i]);
			t_actor_free(dead[i]);
		}
	}
	return mine;
}

static void
upgrade(enum other how)
{
	struct t_actor *dead[2] = { NULL, NULL };
	struct lh_lease l = among(how, dead), old = l, down;

	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "%s: up", names[how]);
	is(l.mode, LH_EXCLUSIVE, "its lease says so");
	cmp(l.token, >, old.token, "with a larger token");
	is(l.expires_ns, old.expires_ns, "the same deadline");
	ok(l.id[0] == old.id[0] && l.id[1] != old.id[1], "a new id");
	is(lh_verify(lh, &l), 0, "it is held");
	is(lh_verify(lh, &old), -ESTALE, "not by a copy of before");
	is(lh_verify_token(lh, "k", l.token), 0, "the token is good");
	is(lh_verify_token(lh, "k", old.token), -ESTALE, "not the old one");
	is(t_do_read(r, "k", HOUR_MS, 0), -EAGAIN, "no reader gets in");
	is(t_do_acquire(r, "k", HOUR_MS, 0), -EAGAIN, "and no writer");
	is(t_holders(lh, "k"), 1, "one holds it");
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "again: nothing to do");
	down = l;
	is(lh_convert(lh, &l, LH_SHARED), 0, "down");
	cmp(l.token, >, down.token, "with a larger token");
	is(t_do_read(r, "k", HOUR_MS, 0), 0, "a reader gets in");
	cmp(r->lease.token, >, down.token, "with a larger token");
	is(t_do_release(r), 0, "and out");
	down = l;
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "up again");
	cmp(l.token, >, down.token, "with a larger token");
	cmp(l.token, >, r->lease.token, "than the reader's, too");
	is(lh_release(lh, &l), 0, "released");
	is(t_do_acquire(r, "k", HOUR_MS, 0), 0, "free for a writer");
	cmp(r->lease.token, >, l.token, "with a larger token");
	is(t_do_release(r), 0, "released");
}

/* Writers wait: the reader inside goes first, and they get their turns. */
static void
before_writers(void)
{
	struct t_actor *w = t_actor(lh_table_name(lh));
	struct lh_lease l = t_read_hold(lh, "k");

	t_queue(lh, w, LH_EXCLUSIVE, 9, 1);
	t_queue(lh, r, LH_SHARED, 9, 2);
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "up before those who wait");
	t_sleep_ms(t_long(30));
	ok(!t_answered(w) && !t_answered(r), "who wait on");
	is(lh_convert(lh, &l, LH_SHARED), 0, "down");
	t_sleep_ms(t_long(10));
	ok(!t_answered(w), "the writer waits on");
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "up again");
	is(lh_release(lh, &l), 0, "released");
	is(t_result(w), 0, "the writer has it");
	cmp(w->lease.token, >, l.token, "with a larger token");
	is(t_do_release(w), 0, "and releases");
	is(t_result(r), 0, "the reader has it");
	is(t_do_release(r), 0, "and releases");
	t_actor_end(w);
}

static void
play(void)
{
	const char *table = t_table();
	struct lh_lease l;

	r = t_actor(table);
	lh = t_open(table);
	for (int how = 0; how < N_OTHERS; how++)
		upgrade(how);
	before_writers();
	for (int i = 0; i < 200; i++) {
		uint64_t token;

		l = t_read_hold(lh, "k");
		token = l.token;
		if (lh_convert(lh, &l, LH_EXCLUSIVE) != 0 ||
		    l.token <= token || lh_release(lh, &l) != 0)
			fail("round %d: %s", i, lh_error_detail());
	}
	is(t_holders(lh, "k"), 0, "many times: it is free");
	t_actor_end(r);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "upgrade if sole");
	return done();
}
