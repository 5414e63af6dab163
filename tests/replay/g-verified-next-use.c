/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1: a copy of a reader's lease that has ended is verified, and the
 * verifier is stopped at each of its loads.  Meanwhile the release is
 * completed, and the claim reads another key whose version is the same, beside
 * another reader.  The verifier must not take the claim's place there for that
 * of the old lease.
 *
 * Otherwise a lease would verify as held although a writer has had the key
 * since.
 */
#include <errno.h>
#include "replay.h"
#include "proc/attachment.h"
#include "shm/claim_record.h"

#define PLACES 22
#define OTHERS ((int)SHM_GROUP - 1)

static struct lh *lh, *other;
static struct lh_lease lease, next, others[OTHERS];
static char key[16], beside[16];

static int
read_and_go(void *unused)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease mine;
	int error;

	(void)unused;
	/* so that one claim of the thread's group is left for both reads */
	for (int i = 0; i < OTHERS; i++) {
		char name[24];

		snprintf(name, sizeof(name), "%s-%d", key, i);
		error = lh_acquire(lh, name, &o, &others[i]);
		if (error != 0)
			return error;
	}
	o.mode = LH_SHARED;
	error = lh_acquire(lh, key, &o, &mine);
	lease = mine;
	if (error == 0)
		error = lh_release(lh, &mine);
	return error != 0 ? error : lh_acquire(lh, beside, &o, &next);
}

static int
verify(void *unused)
{
	(void)unused;
	return lh_verify(lh, &lease);
}

static void
stopped_at(int n)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease w, r, rb;

	snprintf(key, sizeof(key), "k%d", n);
	snprintf(beside, sizeof(beside), "b%d", n);
	is(replay_try(other, key, &w), 0, "the key exists");
	is(lh_release(other, &w), 0, "and free");
	o.mode = LH_SHARED;
	is(lh_acquire(other, beside, &o, &rb), 0, "another key is read");
	replay_stop("reader", "shared.word_freed", read_and_go, NULL);
	is(replay_try(other, key, &w), 0, "a writer acquires it");
	is(lh_release(other, &w), 0, "and releases it");
	is(lh_acquire(other, key, &o, &r), 0, "another reader comes");
	replay_hold_nth("verifier", "load", n);
	replay_go("verifier", verify, NULL);
	if (replay_comes("verifier")) {
		is(replay_finish("reader"), 0,
		    "released, and the other key read");
		replay_release("verifier");
	} else {
		is(replay_finish("reader"), 0,
		    "released, and the other key read");
	}
	is(replay_result("verifier"), -ESTALE, "at load %d: not held", n);
	is(lid_claim(next.id[1]), lid_claim(lease.id[1]), "by one claim");
	is(lh_release(other, &r), 0, "released");
	is(lh_release(other, &rb), 0, "released");
	is(lh_release(lh, &next), 0, "released");
	for (int i = 0; i < OTHERS; i++)
		is(lh_release(lh, &others[i]), 0, "released");
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	for (int n = 1; n < PLACES; n++)
		stopped_at(n);
	t_close(other);
	t_close(lh);
	return done();
}
