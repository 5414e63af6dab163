/* SPDX-License-Identifier: MIT */
/*
 * Ownership by lease, not by thread: a thread may end and leave its leases to
 * the others, and the memory that the library kept for it is used again.
 * Thousands of threads come and go, each leaving a lease that others release.
 *
 * Otherwise each thread would take its store of records with it, and the table
 * would be full soon.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define AT_ONCE	16
#define ROUNDS	60	/* x 16 threads x 8 records: more than there are */

static struct lh *lh;
static struct lh_lease leases[AT_ONCE];

static void *
take_and_end(void *arg)
{
	intptr_t i = (intptr_t)arg;
	char name[16];

	snprintf(name, sizeof(name), "key-%d", (int)i);
	return (void *)(intptr_t)t_acquire(lh, name, 3600000, 0, &leases[i]);
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	unsigned long threads[AT_ONCE];
	int taken = 0, held = 0, released = 0;
	struct t_actor *b;
	struct lh_stats st = { .size = sizeof(st) };

	o.max_leases = 1024;
	is(lh_open(&lh, table, &o), 0, "a table with few leases");
	b = t_actor(table);
	for (int round = 0; round < ROUNDS; round++) {
		for (intptr_t i = 0; i < AT_ONCE; i++)
			threads[i] = t_thread(take_and_end, (void *)i);
		for (int i = 0; i < AT_ONCE; i++)
			taken += (intptr_t)t_join(threads[i]) == 0;
		if (round == 0)
			is(t_do_acquire(b, "key-7", 1000, t_ms(50)),
			    -ETIMEDOUT, "the thread is gone, its lease not");
		for (int i = 0; i < AT_ONCE; i++) {
			held += lh_verify(lh, &leases[i]) == 0;
			released += lh_release(lh, &leases[i]) == 0;
		}
	}
	is(taken, ROUNDS * AT_ONCE, "each of %d threads got its key",
	    ROUNDS * AT_ONCE);
	is(held, taken, "which was held after its end");
	is(released, taken, "and released by another");
	is(lh_stats(lh, &st), 0, "statistics");
	cmp(st.leases_reserved, <, 1024, "records were used again");
	is(t_do_acquire(b, "key-7", 1000, 0), 0, "another process gets one");
	is(t_do_release(b), 0, "and releases it");
	t_actor_end(b);
	t_close(lh);
	return done();
}
