/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2 and G4: nine threads in each of two processes acquire and
 * release a hundred keys in every way, one of the processes is killed again and
 * again, and afterwards every key can be acquired at once.  A witness beside
 * the keys knows the holder and the last token: a new holder must find nobody,
 * unless its lease notes a death, and must have a larger token.  The surviving
 * process competes for the keys that are freed.
 *
 * Otherwise a crash in a busy program would give one key to two threads, or
 * leave keys held.
 */
#include <errno.h>
#include <stdlib.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define THREADS	9
#define KEYS	100
#define ROUNDS	12

struct witness {
	_Atomic uint64_t inside;	/* session of who holds it, or 0 */
	_Atomic uint64_t token;		/* the largest yet */
};

static struct shared {
	struct witness keys[KEYS];
	_Atomic uint64_t overlaps, token_errors, odd_results, grants, died;
	_Atomic int odd;		/* one of the odd results */
	_Atomic uint32_t stop;
} *sh;

static const char *table;

static void
enter(struct lh *lh, int k, const struct lh_lease *lease)
{
	struct witness *w = &sh->keys[k];
	uint64_t found = atomic_exchange(&w->inside, lh_session_id(lh));
	uint64_t last = atomic_exchange(&w->token, lease->token);

	if (found != 0 && !(lease->notes & LH_NOTE_PREVIOUS_DIED))
		atomic_fetch_add(&sh->overlaps, 1);
	if (last >= lease->token)
		atomic_fetch_add(&sh->token_errors, 1);
	if (lease->notes & LH_NOTE_PREVIOUS_DIED)
		atomic_fetch_add(&sh->died, 1);
	atomic_fetch_add(&sh->grants, 1);
}

static void
odd(int r)
{
	atomic_fetch_add(&sh->odd_results, 1);
	atomic_store(&sh->odd, r);
}

static void *
worker(void *arg)
{
	struct lh *lh = arg;
	unsigned seed = (unsigned)(t_now_ns() ^ (intptr_t)&seed);
	struct lh_key *opened[KEYS];
	struct lh_lease lease;
	char name[16];
	int r, k;

	for (k = 0; k < KEYS; k++) {
		snprintf(name, sizeof(name), "key-%d", k);
		if (lh_key_open(lh, name, 0, &opened[k]) != 0)
			return NULL;
	}
	while (!atomic_load(&sh->stop)) {
		/* one in four from a few: those are contended for */
		unsigned dice = (unsigned)rand_r(&seed) >> 4;
		int64_t wait = dice % 3 == 0 ? 0 : dice % 3 == 1 ?
		    t_ms(5) : 3600000;
		struct lh_acquire_opts o = t_opts(3600000, wait);

		k = (int)((dice >> 8) % (dice & 64 ? KEYS : 3));
		snprintf(name, sizeof(name), "key-%d", k);
		r = dice & 128 ? lh_key_acquire(opened[k], &o, &lease) :
		    lh_acquire(lh, name, &o, &lease);
		if (r == (wait == 0 ? -EAGAIN : -ETIMEDOUT))
			continue;
		if (r != 0) {
			odd(r);
			continue;
		}
		enter(lh, k, &lease);
		if (dice & 256)
			t_nap();
		atomic_store(&sh->keys[k].inside, 0);
		r = lh_release(lh, &lease);
		if (r != 0)
			odd(r);
	}
	for (k = 0; k < KEYS; k++)
		lh_key_close(opened[k]);
	return NULL;
}

static int
process(void *arg)
{
	unsigned long threads[THREADS];
	struct lh *lh = t_open(table);

	(void)arg;
	for (int i = 0; i < THREADS; i++)
		threads[i] = t_thread(worker, lh);
	for (int i = 0; i < THREADS; i++)
		t_join(threads[i]);
	return lh_close(lh) != 0;
}

static bool
all_can_be_taken(struct lh *lh)
{
	struct lh_lease leases[KEYS];
	char name[16];
	int r, n = 0;

	for (int k = 0; k < KEYS; k++) {
		snprintf(name, sizeof(name), "key-%d", k);
		r = t_acquire(lh, name, 3600000, T_HANG_MS, &leases[k]);
		if (r != 0) {
			diag("%s: %s", name, lh_error_detail());
			continue;
		}
		enter(lh, k, &leases[k]);
		atomic_store(&sh->keys[k].inside, 0);
		n += lh_release(lh, &leases[k]) == 0;
	}
	return n == KEYS;
}

int
main(void)
{
	pid_t pids[2];
	struct lh *lh;
	int r;

	sh = t_shared(sizeof(*sh));
	table = t_table();
	lh = t_open(table);
	pids[0] = t_fork(process, NULL);
	pids[1] = t_fork(process, NULL);
	for (int round = 0; round < ROUNDS; round++) {
		t_sleep_ms(t_ms(20 + 7 * (round % 5)));
		t_kill(pids[round % 2]);
		pids[round % 2] = t_fork(process, NULL);
	}
	/* (one processor of a busy machine may give few so far) */
	(void)t_until(T_HANG_MS, sh->grants > 1000);
	t_kill(pids[0]);
	ok(all_can_be_taken(lh), "after %d kills all keys can be taken, "
	    "while one process goes on", ROUNDS + 1);
	atomic_store(&sh->stop, 1);
	r = t_reap(pids[1], T_HANG_MS);
	is(r, 0, "the process that was left alone ends well");
	ok(all_can_be_taken(lh), "and all can be taken afterwards");

	diag("%llu grants, %llu after a death",
	    (unsigned long long)sh->grants, (unsigned long long)sh->died);
	is(sh->overlaps, 0, "no two were ever inside together");
	is(sh->token_errors, 0, "tokens of a key only grew");
	is(sh->odd_results, 0, "every result was a grant or a refusal (%d)",
	    (int)sh->odd);
	cmp(sh->grants, >, 1000, "there were grants enough to mean something");
	cmp(sh->died, >, 0, "and the kills did meet holders");
	t_close(lh);
	return done();
}
