/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, crash row B2: a process is killed while it lets the table grow,
 * when there are more buckets and not yet more slots; later the header is
 * damaged and repaired.  The repair must forget what those buckets held as
 * well: when they are used again, each key must be found, and none may be in
 * the table twice.
 *
 * Otherwise a lookup would begin in a stale bucket, miss a key that is held,
 * and make it a second time.
 */
#include "proc/attachment.h"
#include "replay.h"
#include "support/object.h"
#include <leasehold/repair.h>

#define FULL 4095		/* slots of a new table: GROW_SLOTS */

static const char *table;

static struct lh *
attach(void)
{
	struct lh_open_opts o = replay_opts(0);
	struct lh *lh = NULL;

	o.max_keys = 20000;
	is(lh_open(&lh, table, &o), 0, "attached");
	return lh;
}

static int
make(struct lh *lh, const char *kind, int i)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%d", kind, i);
	return lh_key_create(lh, name);
}

static int
is_there(struct lh *lh, const char *kind, int i)
{
	char name[32];
	struct lh_key *k;
	int error;

	snprintf(name, sizeof(name), "%s%d", kind, i);
	error = lh_key_open(lh, name, LH_NO_CREATE, &k);
	if (error == 0)
		(void)lh_key_close(k);
	return error == 0;
}

static int
grow(void *arg)
{
	struct lh *lh = attach();

	(void)arg;
	return make(lh, "one-more-", 0);
}

int
main(void)
{
	struct lh *lh;
	struct t_object o;
	char name[32];
	int n = 0, more = 0;

	table = replay_begin();
	lh = attach();
	for (int i = 0; i < FULL; i++)
		n += make(lh, "a", i) == 0;
	is(n, FULL, "the first slots are full");
	replay_hold_nth("grower", "grow.backed", 3);
	(void)replay_fork("grower", grow, NULL);
	replay_wait_held("grower");
	replay_kill("grower");
	cmp(sh32_load(&lh->v.hdr->bucket_level), ==, 13, "more buckets");
	cmp(sh32_load(&lh->v.hdr->ready_slots), ==, 4096, "no more slots");
	n = 0;
	for (int i = 0; i < FULL; i++)
		n += is_there(lh, "a", i);
	is(n, FULL, "the new buckets are used");
	is(lh_close(lh), 0, "all leave");
	o = t_map_object(table);
	sh32_store(&o.h->ready_slots, 0);
	t_unmap_object(&o);
	cmp(lh_table_repair(table, 0, NULL, NULL), >, 0,
	    "the damaged header is repaired");
	lh = attach();
	for (int i = 0; i < 1500; i++) {
		snprintf(name, sizeof(name), "a%d", i);
		(void)lh_destroy(lh, name);
	}
	for (int i = 0; i < 1500; i++)
		more += make(lh, "b", i) == 0;
	is(more, 1500, "others are made in their place");
	more = 0;
	for (int i = 0; i < 200; i++)
		more += make(lh, "c", i) == 0;
	is(more, 200, "more than there was room for");
	cmp(sh32_load(&lh->v.hdr->bucket_level), ==, 13, "more buckets again");
	cmp(sh32_load(&lh->v.hdr->ready_slots), >, 4096, "and more slots");
	n = 0;
	for (int i = 1500; i < FULL; i++)
		n += is_there(lh, "a", i);
	is(n, FULL - 1500, "all old ones are found");
	n = 0;
	for (int i = 0; i < 1500; i++)
		n += is_there(lh, "b", i);
	is(n, 1500, "and all that were made after the repair");
	is(sh32_load(&lh->v.hdr->flags) & SHM_DAMAGED, 0,
	    "the table is not damaged");
	t_close(lh);
	return done();
}
