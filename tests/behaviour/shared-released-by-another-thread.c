/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G11: a shared lease is released, extended or converted by
 * another thread than the one that acquired it, while that one reads the same
 * key again, and may revive its place at that moment.  Each lease is released
 * once, and the right number is held at each time.
 *
 * Otherwise a writer would come in beside a reader.
 */
#include <errno.h>
#include "readers.h"

#define ROUNDS 4000
#define AHEAD 4	/* leases held at a time, at most */

static struct lh *lh;
static struct lh_key *key;
static struct t_event offered, taken;
static struct lh_lease leases[ROUNDS];
static _Atomic int wrong, converted;

static void *
release_them(void *arg)
{
	int n = *(int *)arg;

	for (int i = 0; i < n; i++) {
		if (!t_await(&offered, (uint32_t)i + 1, T_HANG_MS)) {
			wrong++;
			return NULL;
		}
		wrong += lh_verify(lh, &leases[i]) != 0;
		if (i % 3 == 1)
			wrong += lh_extend(lh, &leases[i], HOUR_MS) != 0;
		if (i % 3 == 2) {
			int r = lh_convert(lh, &leases[i], LH_EXCLUSIVE);

			converted += r == 0;
			wrong += r != 0 && r != -EAGAIN;
		}
		wrong += lh_release(lh, &leases[i]) != 0;
		t_post(&taken);
	}
	return NULL;
}

int
main(void)
{
	struct lh_acquire_opts o = t_read_opts(HOUR_MS, T_HANG_MS);
	int n = t_count(ROUNDS, 200), most = 0, h;
	unsigned long thread;
	struct lh_lease copy;

	lh = t_open(t_table());
	is(lh_key_open(lh, "k", 0, &key), 0, "an opened key");
	thread = t_thread(release_them, &n);
	for (int i = 0; i < n; i++) {
		if (lh_key_acquire(key, &o, &leases[i]) != 0) {
			fail("acquire %d: %s", i, lh_error_detail());
			break;
		}
		if (i % 64 == 0) {
			h = t_holders(lh, "k");
			/* what the other has still to release, and this */
			wrong += h < 1 || h > AHEAD + 2;
			most = h > most ? h : most;
		}
		t_post(&offered);
		if (!t_await(&taken, (uint32_t)(i < AHEAD ? 0 : i - AHEAD),
		    T_HANG_MS))
			bail_out("lease %d is not released", i - AHEAD);
	}
	t_join(thread);
	is(wrong, 0, "the other thread released each, once");
	diag("at most %d held, %d converted", most, (int)converted);
	is(t_holders(lh, "k"), 0, "none is left");
	is(t_try(lh, "k", LH_EXCLUSIVE, 0), 0, "a writer gets in");

	/* one at a time, so that the place is taken again each time */
	for (int i = 0; i < 20; i++) {
		int one = 1;

		leases[0] = copy = t_read_hold(lh, "k");
		offered.count = 1;
		thread = t_thread(release_them, &one);
		t_join(thread);
		wrong += t_holders(lh, "k") != 0;
		leases[0] = t_read_hold(lh, "k");
		h = lh_release(lh, &copy);
		wrong += h != 0 && h != -ESTALE;
		wrong += t_holders(lh, "k") != 1;
		wrong += lh_release(lh, &leases[0]) != 0;
	}
	is(wrong, 0, "and one at a time");
	is(lh_key_close(key), 0, "closed");
	t_close(lh);
	return done();
}
