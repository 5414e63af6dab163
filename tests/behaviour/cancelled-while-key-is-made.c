/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: pthread_cancel() of a thread that makes a key for which the
 * table must grow.  Memory allocation is a cancellation point, and must not be
 * one here.
 *
 * Otherwise the claim that makes the key would stay half done for as long as
 * the process lives, and nobody could make that key.
 */
#include <pthread.h>
#include <stdio.h>
#include "proc/attachment.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define BEGINS	4096	/* room that a table begins with */

static struct lh *lh;

static void *
make_cancelled(void *arg)
{
	struct lh_lease l;

	(void)pthread_cancel(pthread_self());
	if (t_acquire(lh, arg, 60000, 0, &l) == 0)
		(void)lh_release(lh, &l);
	pthread_testcancel();
	return NULL;
}

/* Claims that are making a key. */
static unsigned
makers(void)
{
	struct lhi_view *v = &lh->v;
	unsigned n = 0;

	for (uint32_t ci = SHM_CHUNK; ci < lhi_chunks_ready(v) * SHM_CHUNK;
	    ci++)
		n += state_st(sh64_load(&v->claims[ci].state)) == ST_INSERT;
	return n;
}

static void
make_until_full(uint32_t slots)
{
	char name[32];

	for (uint32_t i = 1; i < slots; i++) {
		(void)snprintf(name, sizeof(name), "key-%u", i);
		if (lh_key_create(lh, name) != 0)
			bail_out("a key: %s", lh_error_detail());
	}
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	uint32_t room;

	o.max_keys = 4 * BEGINS;
	if (lh_open(&lh, t_table(), &o) != 0)
		bail_out("no table: %s", lh_error_detail());
	room = lhi_slots_ready(&lh->v);
	is(room, BEGINS, "room for so many");
	make_until_full(room);
	is(lhi_slots_ready(&lh->v), room, "no room is left");
	ok(t_join(t_thread(make_cancelled, (void *)(uintptr_t)"one more")) ==
	    PTHREAD_CANCELED, "a thread is cancelled that makes one more");
	cmp(lhi_slots_ready(&lh->v), >, room, "the table has grown");
	is(makers(), 0, "no claim is left in the middle of making a key");
	is(t_holders(lh, "one more"), 0, "the key is there");
	t_close(lh);
	return done();
}
