/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, issue 21 B4: after a removal by force the old table grants
 * nothing, on any path.  A held lease goes on and can be released; the next
 * acquire is -ESTALE: of the same thread and the same opened key, of a reader,
 * of a kept key, and of a key whose last lease ended otherwise.  A process that
 * only acquires and releases is granted nothing while another holds the key in
 * the new table.
 *
 * Otherwise two processes would hold one key, one in each table.
 */
#include <errno.h>
#include <stdatomic.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 3
#define LOOPERS 3

static const char *table;

/* As often as the straight path needs to be taken. */
static struct lh_key *
warm_up(struct lh *lh, const char *name, const struct lh_acquire_opts *o)
{
	struct lh_lease l;
	struct lh_key *k;

	if (lh_key_open(lh, name, 0, &k) != 0)
		bail_out("no key: %s", lh_error_detail());
	for (int i = 0; i < 10; i++)
		if (lh_key_acquire(k, o, &l) != 0 || lh_release(lh, &l) != 0)
			bail_out("not granted: %s", lh_error_detail());
	return k;
}

static void
refused(struct lh *lh, struct lh_key *k, const char *name,
    const struct lh_acquire_opts *o, const char *what)
{
	struct lh_lease l;
	int good = 0;

	for (int i = 0; i < ROUNDS; i++) {
		good += lh_key_acquire(k, o, &l) == -ESTALE;
		good += lh_acquire(lh, name, o, &l) == -ESTALE;
	}
	is(good, 2 * ROUNDS, "%s: refused (the last: %s)", what,
	    lh_error_detail());
}

/* The key is held, or free, when its table is removed. */
static void
one_key(uint32_t mode, bool plain, bool held, bool kept, const char *what)
{
	struct lh_acquire_opts o = t_opts(30000, 0), *opts = plain ? NULL : &o;
	struct lh *lh = t_open(table), *fresh;
	struct lh_lease mine, theirs;
	char value[LH_VALUE_MAX];
	struct lh_key *k;
	size_t len;

	o.mode = mode;
	if (kept)
		is(lh_key_create(lh, "k"), 0, "a kept key");
	k = warm_up(lh, "k", opts);
	if (held)
		is(lh_key_acquire(k, opts, &mine), 0, "%s: held", what);
	is(lh_table_remove(table, LH_FORCE), 0, "the table is removed");
	fresh = t_open(table);
	theirs = t_hold(fresh, "k");
	if (held) {
		is(lh_verify(lh, &mine), 0, "the lease is what it was");
		is(lh_release(lh, &mine), 0, "and is released");
	}
	refused(lh, k, "k", opts, what);
	is(lh_value_get(lh, "k", value, &len, NULL), -ESTALE,
	    "%s: its value is not read", what);
	is(lh_release(fresh, &theirs), 0, "the new table's lease");
	t_close(fresh);
	(void)lh_close(lh);
	(void)lh_table_remove(table, LH_FORCE);
}

/* The last holder's note keeps the key from being evicted. */
static void
with_a_note(void)
{
	struct lh *lh = t_open(table), *fresh;
	struct lh_key *k = warm_up(lh, "k", NULL);
	struct lh_lease l;

	is(lh_key_acquire(k, NULL, &l), 0, "held");
	is(lh_break(lh, "k", NULL, 0), 1, "broken");
	is(lh_table_remove(table, LH_FORCE), 0, "removed");
	fresh = t_open(table);
	refused(lh, k, "k", NULL, "with a note");
	t_close(fresh);
	(void)lh_close(lh);
	(void)lh_table_remove(table, LH_FORCE);
}

struct race {
	_Atomic uint64_t grants;
	_Atomic bool new_holds;
	_Atomic uint64_t doubles;	/* granted while the new one holds */
	_Atomic uint32_t refused;
	_Atomic uint32_t ready;
};

static struct race *race;

static int
loop(void *arg)
{
	uint32_t mode = (uint32_t)(intptr_t)arg == 2 ? LH_SHARED : LH_EXCLUSIVE;
	struct lh_acquire_opts o = t_opts(30000, 60000);
	struct lh *lh = t_open(table);
	char name[] = { 'a', (char)('0' + (intptr_t)arg), '\0' };
	struct lh_key *k;
	struct lh_lease l;

	o.mode = mode;
	k = warm_up(lh, name, &o);
	(void)atomic_fetch_add(&race->ready, 1);
	for (;;) {
		bool before = atomic_load(&race->new_holds);

		if (lh_key_acquire(k, &o, &l) != 0)
			break;
		(void)atomic_fetch_add(&race->grants, 1);
		(void)atomic_fetch_add(&race->doubles, before);
		if (lh_release(lh, &l) != 0)
			return 1;
	}
	(void)atomic_fetch_add(&race->refused, 1);
	return 0;
}

static void
loopers(void)
{
	pid_t pid[LOOPERS];
	struct lh *fresh;
	struct lh_lease l[LOOPERS];
	int good = 0;

	*race = (struct race){ 0 };
	for (int i = 0; i < LOOPERS; i++)
		pid[i] = t_fork(loop, (void *)(intptr_t)i);
	ok(t_until(T_HANG_MS, atomic_load(&race->ready) == LOOPERS),
	    "they do nothing else");
	t_sleep_ms(20);
	is(lh_table_remove(table, LH_FORCE), 0, "removed");
	fresh = t_open(table);
	for (int i = 0; i < LOOPERS; i++) {
		char name[] = { 'a', (char)('0' + i), '\0' };

		l[i] = t_hold(fresh, name);
	}
	atomic_store(&race->new_holds, true);
	ok(t_until(T_HANG_MS, atomic_load(&race->refused) == LOOPERS),
	    "each of them is refused");
	is_u64(atomic_load(&race->doubles), 0, "nothing granted twice");
	for (int i = 0; i < LOOPERS; i++) {
		if (atomic_load(&race->refused) != LOOPERS)
			t_kill(pid[i]);
		else
			good += t_reap(pid[i], T_HANG_MS) == 0;
		good += lh_release(fresh, &l[i]) == 0;
	}
	is(good, 2 * LOOPERS, "and all is released");
	t_close(fresh);
	(void)lh_table_remove(table, LH_FORCE);
}

int
main(void)
{
	table = t_table();
	race = t_shared(sizeof(*race));
	one_key(LH_EXCLUSIVE, true, false, false, "free");
	one_key(LH_EXCLUSIVE, true, true, false, "held");
	one_key(LH_EXCLUSIVE, false, true, false, "held, with options");
	one_key(LH_EXCLUSIVE, true, false, true, "kept");
	one_key(LH_EXCLUSIVE, true, true, true, "kept and held");
	one_key(LH_SHARED, false, false, false, "idle reader");
	one_key(LH_SHARED, false, true, false, "reader");
	with_a_note();
	for (int i = 0; i < 5; i++)
		loopers();
	return done();
}
