/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2 and G4: several processes find the same holder dead at the
 * same moment.  One of them acquires the key, and its grant is not changed by
 * the others, however late their own recovery comes.  Two races: four actors
 * try for the key, round after round, while the winner's lease is verified; and
 * actors that attach at once to a table with few sessions must get different
 * ones.
 *
 * Otherwise two processes would succeed one dead holder.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define RACERS	4
#define ROUNDS	15

static struct race {
	struct t_event start;
	_Atomic int winners, odd, unverified;
	_Atomic uint64_t token;
	_Atomic uint64_t notes;
	_Atomic uint64_t sessions[RACERS];
} *race;

/* Try until somebody has won, and a little on. */
static int
try_it(struct t_actor *a, void *arg)
{
	int64_t end_ns = t_now_ns() + T_HANG_MS * T_NS_PER_MS, won_ns = 0;
	struct lh_lease lease;
	bool have = false;

	(void)arg;
	if (!t_await(&race->start, 1, T_HANG_MS))
		return 1;
	while (t_now_ns() < end_ns) {
		int r = have ? lh_verify(a->lh, &lease) :
		    t_acquire(a->lh, "k", 3600000, 0, &lease);

		if (have && r != 0)
			atomic_fetch_add(&race->unverified, 1);
		if (!have && r == 0) {
			have = true;
			atomic_fetch_add(&race->winners, 1);
			atomic_store(&race->token, lease.token);
			atomic_store(&race->notes, lease.notes);
		} else if (!have && r != -EAGAIN) {
			atomic_fetch_add(&race->odd, 1);
		}
		if (won_ns == 0 && atomic_load(&race->winners) > 0)
			won_ns = t_now_ns();
		if (won_ns != 0 && t_now_ns() - won_ns > 3 * T_NS_PER_MS)
			break;
	}
	if (have)
		a->lease = lease;
	return have ? 0 : -EAGAIN;
}

static void
for_the_key(const char *table, struct lh *lh)
{
	struct t_actor *racers[RACERS], *holder;
	int wins = 0, larger = 0, notes = 0, held = 0;

	for (int i = 0; i < RACERS; i++)
		racers[i] = t_actor(table);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t token;

		race = memset(race, 0, sizeof(*race));
		holder = t_actor(table);
		if (t_do_acquire(holder, "k", 3600000, 0) != 0)
			bail_out("no holder: %s", holder->detail);
		token = holder->lease.token;
		for (int i = 0; i < RACERS; i++)
			t_begin(racers[i], try_it, NULL);
		t_actor_kill(holder);
		t_actor_free(holder);
		t_post(&race->start);
		/* nobody releases before all have ended their tries */
		for (int i = 0; i < RACERS; i++)
			t_result(racers[i]);
		for (int i = 0; i < RACERS; i++)
			if (t_result(racers[i]) == 0)
				held += t_do_release(racers[i]) == 0;
		wins += race->winners == 1 && race->odd == 0 &&
		    race->unverified == 0;
		larger += race->token > token;
		notes += race->notes == LH_NOTE_PREVIOUS_DIED;
	}
	is(wins, ROUNDS, "one winner each time, whose lease stayed good");
	is(larger, ROUNDS, "with a token above the dead one's");
	is(notes, ROUNDS, "told that the one before died");
	is(held, ROUNDS, "and each could release what it had won");
	for (int i = 0; i < RACERS; i++)
		t_actor_end(racers[i]);
	is(t_findings(lh), 0, "the table is sound");
}

static int
attach(struct t_actor *a, void *arg)
{
	int r;

	if (!t_await(&race->start, 1, T_HANG_MS))
		return 1;
	r = lh_open(&a->lh, arg, NULL);
	return r;
}

static int
session_of(struct t_actor *a, void *arg)
{
	atomic_store(&race->sessions[(intptr_t)arg], lh_session_id(a->lh));
	return 0;
}

/* Six sessions: ours, one that lives, and four that are dead. */
static void
for_the_record(void)
{
	struct lh_open_opts o = t_open_opts();
	struct t_actor *dead[RACERS], *racers[RACERS], *live;
	const char *table = t_table();
	int opened = 0, distinct = 0;
	struct lh *lh;

	o.max_sessions = RACERS + 2;
	if (lh_open(&lh, table, &o) != 0)
		bail_out("%s", lh_error_detail());
	for (int i = 0; i < RACERS; i++)
		racers[i] = t_actor_unattached();
	for (int round = 0; round < 3; round++) {
		race = memset(race, 0, sizeof(*race));
		live = t_actor(table);
		if (t_do_acquire(live, "live", 3600000, 0) != 0)
			bail_out("%s", live->detail);
		for (int i = 0; i < RACERS; i++) {
			dead[i] = t_actor(table);
			if (t_do_acquire(dead[i], i & 1 ? "a" : "b", 3600000,
			    0) == 0)
				continue;
			/* leave a waiter behind as well */
			t_begin_acquire(dead[i], i & 1 ? "a" : "b", 3600000,
			    3600000);
		}
		t_await_waiters(lh, "a", 1);
		t_await_waiters(lh, "b", 1);
		for (int i = 0; i < RACERS; i++)
			t_begin(racers[i], attach, (void *)(uintptr_t)table);
		for (int i = 0; i < RACERS; i++) {
			t_actor_kill(dead[i]);
			t_actor_free(dead[i]);
		}
		t_post(&race->start);
		for (int i = 0; i < RACERS; i++) {
			int r = t_result(racers[i]);

			if (r != 0)
				diag("racer %d: %d %s", i, r,
				    racers[i]->detail);
			opened += r == 0;
			t_do(racers[i], session_of, (void *)(intptr_t)i);
		}
		for (int i = 0; i < RACERS; i++)
			for (int j = 0; j < i; j++)
				distinct += race->sessions[i] !=
				    race->sessions[j];
		if (round == 0)
			is(t_do_verify(live), 0, "who lives keeps its lease");
		for (int i = 0; i < RACERS; i++)
			is(t_do_close(racers[i]), 0, "closed");
		t_actor_end(live);
	}
	is(opened, 3 * RACERS, "all who attach over the dead succeed");
	is(distinct, 3 * RACERS * (RACERS - 1) / 2,
	    "with sessions of their own");
	is(t_findings(lh), 0, "the table is sound");
	is(t_holders(lh, "a"), 0, "no key of the dead is held");
	is(t_waiters(lh, "a"), 0, "nor waited for");
	for (int i = 0; i < RACERS; i++)
		t_actor_end(racers[i]);
	lh_close(lh);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh;

	race = t_shared(sizeof(*race));
	lh = t_open(table);
	for_the_key(table, lh);
	for_the_record();
	t_close(lh);
	return done();
}
