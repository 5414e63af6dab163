/* SPDX-License-Identifier: MIT */
/*
 * Timing T4: tries of many keys that another host has, all at once: each
 * returns "busy" after the 50 ms that it waits for that host, and none "the
 * cluster does not answer". (A timer of the loop counts from the start of its
 * round, so it may be early.)
 *
 * Otherwise a busy key would look like a cluster that is away.
 */
#include <stdio.h>
#include <unistd.h>
#include "support/hosts.h"

#define KEYS 150			/* at once */
#define ROUNDS 3

static struct host *const a = &hosts[0], *const b = &hosts[1];
static char key[ROUNDS * KEYS][24];

static int fd;

/* Of keys that were not asked for yet. */
static void
do_try_all(void *arg)
{
	uint32_t from = *(uint32_t *)arg * KEYS;

	for (uint32_t i = from; i < from + KEYS; i++)
		hosts_want(fd, i + 1, key[i], RIGHT_EXCLUSIVE, FRAME_TRY);
}

/* Counts the tries that return busy. */
static int
try_all(uint32_t round)
{
	static struct lhi_frame f;
	int busy = 0, other = 0;

	hosts_do(do_try_all, &round);
	for (int i = 0; i < KEYS; i++) {
		if (hear(fd, &f, T_HANG_MS) == FRAME_BUSY)
			busy++;
		else if (other++ == 0)
			diag("told: %.*s", f.text_len, f.text);
	}
	return busy;
}

int
main(void)
{
	static struct lh_lease l[ROUNDS * KEYS];
	int good = 0, failed = 0;

	hosts_begin(2);
	for (int i = 0; i < ROUNDS * KEYS; i++) {
		(void)snprintf(key[i], sizeof(key[i]), "cluster:k%d", i);
		failed += take(b, key[i], RIGHT_EXCLUSIVE, T_HANG_MS, &l[i])
		    != 0;
	}
	is(failed, 0, "another host has them");
	fd = dial(a);
	for (uint32_t i = 0; i < ROUNDS; i++)
		good += try_all(i) == KEYS;
	/* but if the machine stood still for longer than they wait */
	cmp(good, >=, ROUNDS - 1, "each try returns busy");
	(void)close(fd);
	for (int i = 0; i < ROUNDS * KEYS; i++)
		(void)lh_release(b->lh, &l[i]);
	hosts_end();
	return done();
}
