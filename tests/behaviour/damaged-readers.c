/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12, issue 21 A7: a damaged chain of readers is recognised.  The
 * key's word names a reader whose own link says that it has left the chain.  A
 * process that reclaims that reader, which has died, reports damage soon.
 *
 * Otherwise the reclaim would walk for ever, and lh_open() with it, which holds
 * a lock of its process meanwhile.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#define SOON_MS t_ms(5000)
#define SESSIONS 8

static int
open_often(struct t_actor *a, void *arg)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh[SESSIONS + 1];
	int n, error = 0;

	(void)a;
	for (n = 0; n <= SESSIONS && error == 0; n++) {
		error = lh_open(&lh[n], arg, &o);
		if (error != 0)
			break;
	}
	for (int i = 0; i < n; i++)
		(void)lh_close(lh[i]);
	return error;
}

static int
make_small(const char *table)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh;
	int error;

	o.max_sessions = SESSIONS;
	error = lh_open(&lh, table, &o);
	return error != 0 ? error : lh_close(lh);
}

/* The reader's link says: out of the chain; the word goes on naming it. */
static void
scribble(const char *table)
{
	struct t_object o = t_map_object(table);
	uint64_t w = sh64_load(&o.slots[t_slot_of(&o, "k")].word);
	shm_u64 *link = &o.claims[word_idx(w)].rnext;

	is(word_mode(w), WORD_S, "a reader is in the word");
	sh64_store(link, link_make(true, LINK_OUT, link_tag(sh64_load(link))));
	t_unmap_object(&o);
}

int
main(void)
{
	const char *table = t_table();
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct t_actor *reader, *a, *b;
	int r;

	is(make_small(table), 0, "a small table");
	reader = t_actor(table);
	a = t_actor(table);
	b = t_actor(table);
	o.mode = LH_SHARED;
	t_begin_acquire_opts(reader, "k", &o);
	is(t_result(reader), 0, "a reader holds the key");
	scribble(table);
	t_actor_kill(reader);

	t_begin(b, open_often, (void *)table);
	r = t_result_within(b, SOON_MS);
	ok(r != T_HUNG, "who opens, and reclaims its record, is answered");
	if (r != T_HUNG)
		t_actor_end(b);

	t_begin_acquire(a, "k", 1000, t_ms(200));
	r = t_result_within(a, SOON_MS);
	ok(r == -EUCLEAN || r == 0 || r == -ETIMEDOUT,
	    "who wants the key is answered soon (%d)", r);
	t_actor_kill(a);
	t_actor_free(a);
	t_actor_free(reader);
	return done();
}
