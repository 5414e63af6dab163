/* SPDX-License-Identifier: MIT */
/*
 * Does the work of leasehold-shimd for a key that nobody else in the cluster
 * wants: gives this host the right to it, renews the session, and starts a new
 * range of tokens when half of the old one is used.
 *
 *	lender TABLE KEY	says "ready", and goes on until it is killed
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include "base/clock.h"
#include "op/cluster_check.h"
#include "op/lease_check.h"
#include "shm/lock_word.h"

#define TTL_NS (10 * NS_PER_SEC)
#define LOOK_NS (NS_PER_MS / 2)

static struct lh *lh;
static struct lhi_ref ref;
static uint64_t revision = 1;

static void
need(int error, const char *what)
{
	if (error == 0)
		return;
	(void)fprintf(stderr, "lender: %s: %s\n", what, lh_error_detail());
	exit(2);
}

static void
lend(const char *key, bool first, uint64_t epoch)
{
	struct lh_lease l;

	need(lh_acquire(lh, key, NULL, &l), "acquire");
	ref = lhi_lease_ref(&lh->v, &l);
	need(lhi_right_raise(&lh->v, &ref, cluster_base(revision++)), "raise");
	if (first)
		need(lhi_right_set(&lh->v, &ref, RIGHT_EXCLUSIVE, epoch),
		    "set");
	need(lh_release(lh, &l), "release");
}

int
main(int argc, char **argv)
{
	static const uint64_t session[2] = { 1, 1 };
	const struct timespec look = { 0, LOOK_NS };
	uint64_t epoch;

	if (argc != 3)
		return 64;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	need(lh_open(&lh, argv[1], NULL), "open");
	lhi_cluster_check_serve(lh);
	epoch = lhi_cluster_begin(&lh->v, session, 1, 1);
	lend(argv[2], true, epoch);
	for (bool told = false;; told = true) {
		lhi_cluster_go_on(&lh->v,
		    (uint64_t)(lhi_clock_ns(CLOCK_BOOTTIME) + TTL_NS));
		if (!told && write(STDOUT_FILENO, "ready\n", 6) != 6)
			return 2;
		if (lhi_cluster_check_place(&lh->v, ref.slot,
			lhi_lock_token(ref.slot, sh64_load(&ref.slot->word))) ==
		    PLACE_HALF)
			lend(argv[2], false, epoch);
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &look, NULL);
	}
}
