/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7: a writer has waited long for a reader, with readers and another
 * writer behind it.  When the reader leaves, by its release or by its deadline,
 * that writer is next.
 *
 * Otherwise it would count as a waiter that does not take its turn, because it
 * could not acquire the key all that time, and others would pass it.
 */
#include <errno.h>
#include "readers.h"

#define BEHIND	3
#define ROUNDS	6
#define LONG_MS	50

static struct lh *lh;
static struct t_actor *h, *w, *behind[BEHIND];

/* One wait; true if the writer was next. */
static bool
next_is_the_writer(bool by_deadline)
{
	struct t_actor *all[BEHIND + 1] = { w, behind[0], behind[1],
		behind[2] };
	bool had[BEHIND + 1] = { false };
	int who, first;

	if (t_do_read(h, "k", by_deadline ? t_ms(LONG_MS) : HOUR_MS,
	    T_HANG_MS) != 0)
		bail_out("the key is not free");
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	t_queue(lh, behind[0], LH_EXCLUSIVE, 0, 2);
	t_queue(lh, behind[1], LH_SHARED, 0, 3);
	t_queue(lh, behind[2], LH_SHARED, 0, 4);
	if (!by_deadline) {
		t_sleep_ms(t_ms(LONG_MS));
		if (t_do_release(h) != 0)
			fail("the reader releases");
	}
	first = -1;
	for (int i = 0; i <= BEHIND; i++) {
		who = t_who(all, BEHIND + 1, had);
		if (who < 0)
			bail_out("nobody is granted");
		had[who] = true;
		first = first < 0 ? who : first;
		if (t_do_release(all[who]) != 0)
			fail("number %d releases", who);
	}
	if (first != 0)
		diag("number %d was granted before it", first);
	return first == 0;
}

static bool
always(void *arg)
{
	int right = 0;

	for (int i = 0; i < ROUNDS; i++)
		right += next_is_the_writer(arg != NULL);
	return right == ROUNDS;
}

int
main(void)
{
	const char *table = t_table();

	h = t_actor(table);
	w = t_actor(table);
	for (int i = 0; i < BEHIND; i++)
		behind[i] = t_actor(table);
	lh = t_open(table);
	ok(t_tries(3, always, NULL), "next after a release");
	ok(t_tries(3, always, h), "next after a deadline");
	t_actor_end(h);
	t_actor_end(w);
	for (int i = 0; i < BEHIND; i++)
		t_actor_end(behind[i]);
	t_close(lh);
	return done();
}
