/* SPDX-License-Identifier: MIT */
/*
 * Invariant of shm/evict.c: lh_evict() by prefix removes keys of that prefix
 * and no others.  It is stopped at each access between reading a key and
 * evicting it; meanwhile others evict the key and make a key of another name in
 * its slot.  That key must stay.
 *
 * Otherwise an eviction would remove a key that its caller did not name, with
 * its value.
 */
#include "sweep.h"

#define KEYS 1		/* the next key is made in the same slot */

static struct lh *lh, *other;

struct evictor {
	struct sweep sweep;
	int n;
};

static int
evict(void *arg)
{
	struct evictor *e = arg;
	struct lh_lease l;
	int64_t gone;

	(void)replay_try(lh, "a", &l);
	(void)lh_release(lh, &l);
	sweep_now(&e->sweep, NULL, e->n);
	gone = lh_evict(lh, "a", 0);
	sweep_now(&e->sweep, NULL, 0);
	return (int)gone;
}

static bool
exists(const char *key)
{
	return t_holders(other, key) == 0;
}

/* Whether it was stopped. */
static bool
play(int n, int *replaced)
{
	struct evictor e = { .n = n };
	struct lh_lease l;
	bool stands, new = false;
	int gone;

	sweep_go(&e.sweep, evict, &e);
	stands = sweep_stands(&e.sweep);
	if (stands && lh_evict(other, "a", 0) >= 0) {
		new = replay_try(other, "b", &l) == 0;
		if (new && lh_release(other, &l) != 0)
			sweep_bad("evict", n, "b cannot be released");
	}
	gone = sweep_end(&e.sweep);
	*replaced += new;
	if (gone < 0 || gone > 1)
		sweep_bad("evict", n, "it returns %d", gone);
	if (new && !exists("b"))
		sweep_bad("evict", n, "b was evicted, too");
	if (exists("a") && (new || !stands))
		sweep_bad("evict", n, "a is still there");
	(void)lh_evict(other, NULL, 0);
	return stands;
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = sweep_begin();
	int n = 1, replaced = 0;

	o.max_keys = KEYS;
	if (lh_open(&lh, table, &o) != 0 || lh_open(&other, table, &o) != 0)
		bail_out("no table: %s", lh_error_detail());
	while (play(n, &replaced))
		n++;
	cmp(n, >, 5, "an eviction was stopped before each of %d accesses",
	    n - 1);
	cmp(replaced, >, 3, "%d times another key was made in the slot",
	    replaced);
	t_close(other);
	t_close(lh);
	return done();
}
