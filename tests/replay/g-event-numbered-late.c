/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: who is stopped when he has a number for his event, and
 * has not written it, leaves the event of a round before in its place.  That is
 * told with its own number, and not with his; and so is his, when he goes on
 * though the others have come round meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include "replay.h"

#define KEYS 400
#define LATE KEYS

static struct lh *lh;
static uint64_t number[2][KEYS + 1];	/* of the key's event, plus 1 */
static int looks;

static int
make(int i)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease l;
	char key[16];
	int e;

	(void)snprintf(key, sizeof(key), "%d", i);
	e = lh_acquire(lh, key, &o, &l);
	return e != 0 ? e : lh_release(lh, &l);
}

static int
make_late(void *arg)
{
	return make(*(int *)arg);
}

static int
note(const struct lh_log_entry *e, void *arg)
{
	(void)arg;
	if (e->kind == LH_LOG_KEY_MADE && e->key != NULL)
		number[looks][atoi(e->key)] = e->number + 1;
	return 0;
}

static int
look(const char *table)
{
	struct lh_log_opts o = LH_LOG_OPTS_INIT;

	for (int i = 0; i <= KEYS; i++)
		number[looks][i] = 0;
	return lh_log(table, &o, note, NULL);
}

/* How many of both looks are told otherwise; how many there are. */
static int
compare(int *both)
{
	int other = 0;

	*both = 0;
	for (int i = 0; i <= KEYS; i++) {
		if (number[0][i] == 0 || number[1][i] == 0)
			continue;
		++*both;
		other += number[0][i] != number[1][i];
	}
	return other;
}

int
main(void)
{
	const char *table = replay_begin();
	int late = LATE, both, made = 0;

	lh = replay_open(table, 0);
	while (made < 200 && make(made) == 0)
		made++;
	is(made, 200, "200 keys are made: each is an event");
	is(look(table), 0, "they are told");
	looks = 1;
	replay_stop("A", "event.numbered", make_late, &late);
	is(look(table), 0, "one has a number for his, and stops");
	is(compare(&both), 0, "what is told has the number of before");
	cmp(both, >=, 126, "of as many as there are");
	is((int)number[1][LATE], 0, "his is not told");
	looks = 0;
	for (; made < 300 && make(made) == 0; made++)
		;
	is(look(table), 0, "others go on");
	looks = 1;
	for (; made < 330 && make(made) == 0; made++)
		;
	is(replay_finish("A"), 0, "he goes on, when the others are round");
	is(look(table), 0, "it is told");
	is(compare(&both), 0, "all have their numbers");
	cmp(both, >=, 90, "of those that are there still");
	ok(number[1][LATE] < number[1][300], "his is from before theirs");
	is(lh_close(lh), 0, "closed");
	return done();
}
