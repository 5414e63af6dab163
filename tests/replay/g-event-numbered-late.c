/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder (findings of review): a writer that has a number for its
 * event, and is stopped before it writes the event, leaves the event of the
 * round before in that place.  The log must report that one with its own
 * number, and must not report a half-written event; also when the writer goes
 * on after the others have come round.
 *
 * Otherwise `leasehold log` would show events in a wrong order, or with the
 * contents of others.
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

/* Returns how many events have another number at the second look; *both: how
 * many are in both. */
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
	is(look(table), 0, "the log reports them");
	looks = 1;
	replay_stop("A", "event.numbered", make_late, &late);
	is(look(table), 0, "a writer has a number, and is stopped");
	is(compare(&both), 0, "the log's events keep their numbers");
	cmp(both, >=, 126, "all that the log has room for");
	is((int)number[1][LATE], 0, "the unwritten event is not reported");
	looks = 0;
	for (; made < 300 && make(made) == 0; made++)
		;
	is(look(table), 0, "others write events");
	looks = 1;
	for (; made < 330 && make(made) == 0; made++)
		;
	is(replay_finish("A"), 0, "it goes on when the others have come round");
	is(look(table), 0, "the log is read");
	is(compare(&both), 0, "the events keep their numbers");
	cmp(both, >=, 90, "those that are left");
	ok(number[1][LATE] < number[1][300],
	    "the late event's number is lower than theirs");
	is(lh_close(lh), 0, "closed");
	return done();
}
