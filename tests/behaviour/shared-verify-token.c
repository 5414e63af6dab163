/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2, G3 and G11: lh_verify_token() accepts the token of each living
 * reader, oldest, youngest or between, and no other: not those of readers that
 * released, died or expired while others read on, nor those of writers before
 * and after.
 *
 * Otherwise a server would refuse a reader, or accept one that is gone.
 */
#include <errno.h>
#include "readers.h"

#define READERS 5

static struct lh *lh;
static struct t_actor *r[READERS];
static uint64_t before;

/* Checks that the tokens of those in the bit set verify, and no others. */
static void
good(unsigned who, const char *when)
{
	int wrong = 0;

	for (int i = 0; i < READERS; i++) {
		uint64_t token = r[i]->lease.token;
		int want = -ESTALE;

		/* readers may have the same token */
		for (int j = 0; j < READERS; j++)
			if (who & 1u << j && r[j]->lease.token == token)
				want = 0;
		if (lh_verify_token(lh, "k", token) != want) {
			diag("reader %d: not %d", i, want);
			wrong++;
		}
	}
	is(wrong, 0, "%s: the living readers' tokens, and no other", when);
	is(lh_verify_token(lh, "k", before), -ESTALE,
	    "not the writer's before");
	is(lh_verify_token(lh, "l", r[0]->lease.token), -ESTALE,
	    "nor for another key");
}

int
main(void)
{
	const char *table = t_table();
	struct lh_lease l;
	uint64_t most = 0;

	for (int i = 0; i < READERS; i++)
		r[i] = t_actor(table);
	lh = t_open(table);
	l = t_hold(lh, "k");
	before = l.token;
	is(lh_release(lh, &l), 0, "a writer was there");
	for (int i = 0; i < READERS; i++) {
		is(t_do_read(r[i], "k", HOUR_MS, 0), 0, "reader %d", i);
		cmp(r[i]->lease.token, >=, before, "not below the writer's");
		most = r[i]->lease.token > most ? r[i]->lease.token : most;
	}
	good(0x1f, "all five");
	is(lh_verify_token(lh, "k", most + 1), -ESTALE, "nor the next one");
	is(lh_verify_token(lh, "k", most ^ UINT64_C(1) << 41), -ESTALE,
	    "nor one that differs far up");
	is(t_do_release(r[4]), 0, "the youngest releases");
	good(0x0f, "without the youngest");
	is(t_do_release(r[0]), 0, "the oldest releases");
	good(0x0e, "without the oldest");
	is(t_do_read(r[4], "k", HOUR_MS, 0), 0, "one comes back");
	good(0x1e, "with it");
	t_actor_kill(r[2]);
	ok(t_await_holders(lh, "k", 3, T2_MS), "one is killed");
	good(0x1a, "without the dead one");
	is(t_do_extend(r[3], t_ms(30)), 0, "one gets a deadline");
	t_sleep_until(r[3]->lease.expires_ns + T_NS_PER_MS);
	good(0x12, "without the expired one");
	is(t_do_verify(r[3]), -ESTALE, "which knows it");
	is(t_do_release(r[1]), 0, "another releases");
	good(0x10, "the last one");
	is(t_do_convert(r[4], LH_EXCLUSIVE), 0, "it converts");
	good(0x10, "as a writer");
	is(t_do_release(r[4]), 0, "and releases");
	good(0, "nobody");
	l = t_hold(lh, "k");
	good(0, "with a writer");
	is(lh_verify_token(lh, "k", l.token), 0, "whose token is good");
	is(lh_release(lh, &l), 0, "released");
	for (int i = 0; i < READERS; i++)
		if (i == 2)
			t_actor_free(r[i]);
		else
			t_actor_end(r[i]);
	t_close(lh);
	return done();
}
