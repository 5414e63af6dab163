/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: reading many keys, one after another, beside others that keep
 * reading them, may leave idle places among the readers of all of them.  That
 * uses up no records, in one thread and in threads that come and go: it goes on
 * for ever with room for a few leases only.  A lease that an ended thread holds
 * stays held, and another thread can release it.
 *
 * Otherwise a process that reads many keys would run out of leases.
 */
#include <errno.h>
#include "readers.h"

#define KEYS	200
#define ROUNDS	10
#define THREADS	300

static struct lh *lh;
static _Atomic int failures;

static void
name_of(char *name, int i)
{
	snprintf(name, 16, "key-%d", i);
}

/* How many times reading did not go well. */
static int
read_all(int n)
{
	struct lh_lease l;
	char name[16];
	int wrong = 0;

	for (int i = 0; i < n; i++) {
		name_of(name, i);
		if (t_read(lh, name, HOUR_MS, 0, &l) != 0) {
			if (wrong++ == 0)
				diag("%s: %s", name, lh_error_detail());
			continue;
		}
		wrong += lh_release(lh, &l) != 0;
	}
	return wrong;
}

static void *
read_some(void *arg)
{
	(void)arg;
	if (read_all(12) != 0)
		failures++;
	return NULL;
}

static void *
read_and_keep(void *arg)
{
	if (t_read(lh, "kept", HOUR_MS, 0, arg) != 0)
		failures++;
	return NULL;
}

static int
hold_all(struct t_actor *a, void *arg)
{
	struct lh_lease l;
	char name[16];

	(void)arg;
	for (int i = 0; i < KEYS; i++) {
		name_of(name, i);
		if (t_read(a->lh, name, HOUR_MS, 0, &l) != 0)
			return 1;
	}
	return 0;
}

static uint32_t
reserved(void)
{
	struct lh_stats st = { .size = sizeof(st) };

	if (lh_stats(lh, &st) != 0)
		bail_out("%s", lh_error_detail());
	return st.leases_reserved;
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	struct lh_lease kept[5];
	struct t_actor *a;
	int wrong = 0, one = 0;
	uint32_t before;
	char name[16];

	o.max_leases = 640;
	is(lh_open(&lh, table, &o), 0, "a table with few records");
	a = t_actor(table);
	is(t_do(a, hold_all, NULL), 0, "another reads %d keys", KEYS);
	wrong += read_all(KEYS);
	before = reserved();
	for (int i = 0; i < ROUNDS; i++)
		wrong += read_all(KEYS);
	is(wrong, 0, "one thread reads each of them %d times", ROUNDS + 1);
	is(reserved(), before, "without more records");
	for (int i = 0; i < KEYS; i++) {
		name_of(name, i);
		one += t_holders(lh, name) == 1;
	}
	is(one, KEYS, "the other alone holds them");

	for (int i = 0; i < 20; i++)
		t_join(t_thread(read_some, NULL));
	before = reserved();
	for (int i = 0; i < t_count(THREADS, 40); i++)
		t_join(t_thread(read_some, NULL));
	is(failures, 0, "threads that come and go read, too");
	cmp(reserved(), <=, before + 64, "without more records");

	for (int i = 0; i < 5; i++)
		t_join(t_thread(read_and_keep, &kept[i]));
	is(failures, 0, "threads read and end");
	is(t_holders(lh, "kept"), 5, "what they hold is held on");
	is(t_try(lh, "kept", LH_EXCLUSIVE, 0), -EAGAIN, "writers wait");
	for (int i = 0; i < 5; i++)
		is(lh_release(lh, &kept[i]), 0, "released by another thread");
	is(t_try(lh, "kept", LH_EXCLUSIVE, 0), 0, "then it is free");
	t_actor_end(a);
	is(t_try(lh, "key-7", LH_EXCLUSIVE, 0), 0, "as are the others");
	t_close(lh);
	return done();
}
