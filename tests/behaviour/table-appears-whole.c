/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G5, crash rows O1 and O2: a table appears whole or not at
 * all.  Processes that open a new name at the same moment end up in one table;
 * creators that are killed or stopped at any time leave nothing behind and
 * hinder nobody.
 *
 * Otherwise two processes would use two tables of one name.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define RACERS	5
#define ROUNDS	15

static struct t_event *start;
static uint32_t round_no;

struct open_arg {
	char name[64];
	uint32_t round;
};

static int
open_at_start(struct t_actor *a, void *arg)
{
	struct lh_open_opts o = t_open_opts();
	struct open_arg *oa = arg;

	t_await(start, oa->round, T_HANG_MS);
	return lh_open(&a->lh, oa->name, &o);
}

/* Entries of the directory that are tables of this test or look temporary. */
static int
n_entries(const char *containing)
{
	char place[64];
	DIR *d;
	struct dirent *e;
	int n = 0;

	snprintf(place, sizeof(place), "/dev/shm/leasehold.%u",
	    (unsigned)geteuid());
	d = opendir(place);
	while (d != NULL && (e = readdir(d)) != NULL)
		n += strstr(e->d_name, containing) != NULL;
	if (d != NULL)
		closedir(d);
	return n;
}

static int
create_for_ever(void *arg)
{
	const char *name = arg;
	struct lh *lh;

	for (;;) {
		lh = t_open(name);
		lh_close(lh);
		unlink(t_object(name));
	}
	return 0;
}

static void
race(struct open_arg *oa)
{
	struct t_actor *racers[RACERS];
	int opened = 0, busy = 0, one = 0;

	for (int i = 0; i < RACERS; i++)
		racers[i] = t_actor_unattached();
	for (int round = 0; round < ROUNDS; round++) {
		snprintf(oa->name, sizeof(oa->name), "%s", t_table());
		oa->round = ++round_no;
		for (int i = 0; i < RACERS; i++)
			t_begin(racers[i], open_at_start, oa);
		t_post(start);
		for (int i = 0; i < RACERS; i++)
			opened += t_result(racers[i]) == 0;
		/* all in one table: one holder only */
		for (int i = 0; i < RACERS; i++) {
			int r = t_do_acquire(racers[i], "k", 3600000, 0);

			one += r == 0;
			busy += r == -EAGAIN;
		}
		for (int i = 0; i < RACERS; i++)
			t_do_close(racers[i]);
		(void)lh_table_remove(oa->name, LH_FORGET_TOKENS);
	}
	is(opened, ROUNDS * RACERS, "everyone's lh_open succeeds");
	is(one, ROUNDS, "one of them gets the key");
	is(busy, ROUNDS * (RACERS - 1), "the others find it held");
	for (int i = 0; i < RACERS; i++)
		t_actor_end(racers[i]);
}

static void
disturb(void)
{
	const char *name = t_table();
	int good = 0, entries = 0;
	struct lh_lease l;
	struct lh *lh;

	for (int i = 0; i < 25; i++) {
		pid_t pid = t_fork(create_for_ever, (void *)(uintptr_t)name);
		int64_t ns = t_now_ns() + 300000 + i * 217000;

		t_sleep_until(ns);
		/* stopped: nobody waits for it */
		t_stop(pid);
		lh = t_open(name);
		good += t_acquire(lh, "k", 3600000, 0, &l) == 0 &&
		    lh_release(lh, &l) == 0 && lh_close(lh) == 0;
		t_kill(pid);
		lh = t_open(name);
		good += t_findings(lh) == 0 && lh_close(lh) == 0;
		(void)lh_table_remove(name, LH_FORGET_TOKENS);
		entries += n_entries(name);
	}
	is(good, 50, "stopped and killed creators are in nobody's way");
	is(entries, 0, "and leave nothing behind");
}

int
main(void)
{
	struct open_arg *oa;
	char mine[32];

	start = t_shared(sizeof(*start));
	oa = t_shared(sizeof(*oa));
	race(oa);
	disturb();
	snprintf(mine, sizeof(mine), "test.%d.", (int)getpid());
	is(n_entries(mine), 0, "nothing is left of all these tables");
	return done();
}
