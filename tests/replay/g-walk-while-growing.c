/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12, its other side: a list that has become longer is no damage.  A
 * walk is stopped at its first node, while others make more keys in that part
 * of the list than the whole table had room for when the walk began.  The walk
 * must reach its key, and the table must not count as damaged.
 *
 * Otherwise a growing table would be marked as damaged, and refuse all service.
 * The names are searched for: all their hashes begin with the same 12 bits, so
 * that they are in one bucket of the 2^12 that a table begins with.
 */
#include "base/hash.h"
#include "sweep.h"

#define BEGINS		4096u	/* slots, and as many buckets */
#define NAMES		(2 * BEGINS + 200)
#define PART_BITS	12

struct name {
	uint64_t hash;
	char text[16];
};

static struct name names[NAMES];

/* Makes the next name of all, in letters. */
static void
advance(char name[16])
{
	int i = 0;

	while (name[i] == 'z')
		name[i++] = 'a';
	name[i] = (char)(name[i] == '\0' ? 'a' : name[i] + 1);
}

static int
falling(const void *a, const void *b)
{
	uint64_t x = ((const struct name *)a)->hash;
	uint64_t y = ((const struct name *)b)->hash;

	return (x < y) - (x > y);
}

/* Finds names of one part of the list, the last of them first. */
static void
search(void)
{
	uint32_t found = 0;
	struct name it = { 0, "" };

	while (found < NAMES) {
		advance(it.text);
		it.hash = lhi_hash(it.text, strlen(it.text));
		if (it.hash >> (64 - PART_BITS) == 5)
			names[found++] = it;
	}
	qsort(names, NAMES, sizeof(names[0]), falling);
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh_stats st = { .size = sizeof(st) };
	const char *table = replay_begin();
	struct replay_call walk;
	struct lh *lh, *other;
	uint32_t made = 0;

	(void)alarm(SWEEP_ALARM_S);
	search();
	o.max_keys = 4 * BEGINS;
	if (lh_open(&lh, table, &o) != 0 || lh_open(&other, table, &o) != 0)
		bail_out("no table: %s", lh_error_detail());
	walk = (struct replay_call)REPLAY_CALL(lh, names[0].text,
	    REPLAY_LONG_MS, 0);
	is(replay_acquire(&walk), 0, "the last key of its part");
	is(lh_release(lh, &walk.lease), 0, "exists");
	is(lh_key_create(other, names[1].text), 0, "and another one before it");

	replay_stop("walker", "index.node_read", replay_acquire, &walk);
	while (made + 2 < NAMES &&
	    lh_key_create(other, names[made + 2].text) == 0)
		made++;
	is(made, NAMES - 2, "%u more keys are made before it", made);
	is(replay_finish("walker"), 0, "the walk reaches its key");
	is(lh_stats(other, &st), 0, "stats");
	is(st.damaged, 0, "no damage was seen");
	is(lh_release(lh, &walk.lease), 0, "release");
	t_close(other);
	t_close(lh);
	return done();
}
