/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: a thousand leases in one session, by several processes: each
 * process may release any; the claims that a killed keeper of a chunk left are
 * used again; the end of the session frees all.
 *
 * Otherwise a long session would lose claims at each crash.
 */
#include <errno.h>
#include <stdio.h>
#include "session.h"
#include "support/actor.h"

#define LEASES 1000

static struct lh_lease *leases;

static int
acquire_half(struct t_actor *a, void *arg)
{
	struct lh_session *s = open_session(a->lh, "big", t_ms(60000), 0, 0);
	int from = arg == NULL ? 0 : LEASES / 2, error = 0;
	char key[32];

	for (int i = from; i < from + LEASES / 2 && error == 0; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		error = acquire_into(a->lh, s, key, i % 2 ? LH_SHARED :
		    LH_EXCLUSIVE, &leases[i]);
	}
	lh_session_close(s);
	return error;
}

static uint32_t
reserved(struct lh *lh)
{
	struct lh_stats st = { .size = sizeof(st) };

	is(lh_stats(lh, &st), 0, "stats");
	return st.leases_reserved;
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a, *b;
	struct lh *lh;
	struct lh_session *s;
	struct lh_lease l;
	uint32_t before;
	int held = 0, error = 0;

	leases = t_shared(LEASES * sizeof(*leases));
	a = t_actor(table);
	b = t_actor(table);
	lh = t_open(table);
	t_begin(a, acquire_half, NULL);
	t_begin(b, acquire_half, leases);
	is(t_result(a), 0, "one process acquires 500");
	is(t_result(b), 0, "another as many");
	t_actor_kill(a);
	t_actor_free(a);
	for (int i = 0; i < LEASES; i++)
		held += lh_verify(lh, &leases[i]) == 0;
	is(held, LEASES, "all are held, as a third one sees");
	before = reserved(lh);
	s = open_session(lh, "big", 1000, 0, LH_NO_CREATE);
	for (int i = 0; i < LEASES && error == 0; i += 2)
		error = lh_release(lh, &leases[i]);
	is(error, 0, "it releases half");
	for (int i = 0; i < LEASES && error == 0; i += 2) {
		char key[32];

		(void)snprintf(key, sizeof(key), "n%d", i);
		error = acquire_into(lh, s, key, LH_EXCLUSIVE, &leases[i]);
	}
	is(error, 0, "and acquires others");
	cmp(reserved(lh), <=, before + 64, "with the same claims, but its own");
	is(lh_session_destroy(s), 0, "destroyed");
	held = 0;
	for (int i = 0; i < LEASES; i++)
		held += lh_verify(lh, &leases[i]) == 0;
	is(held, 0, "none is held");
	is(t_acquire(lh, "k1", 1000, 0, &l), 0, "a key is free");
	is(lh_release(lh, &l), 0, "release");
	cmp(reserved(lh), <=, 64 * 3, "and the claims are back");
	lh_session_close(s);
	t_actor_end(b);
	t_close(lh);
	return done();
}
