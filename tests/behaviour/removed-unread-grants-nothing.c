/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G2, issue 21 B4: a table is removed by force that the
 * remover cannot open as its own.  It is of another format or layout, or its
 * header is damaged.  The same where the remover is in another time namespace,
 * and where a member lowered the word that says how many keys there are.
 *
 * A process that does nothing but acquire and release on the straight path is
 * granted nothing any more before the new table can grant.  A waiter gets an
 * error as well.
 *
 * Otherwise two processes would hold one key, one in each table, and with the
 * same token.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#include "shm/table_object.h"
#include "support/child.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define NO_NAMESPACE 42
#define LOOPERS 3

struct race {
	_Atomic uint32_t ready, refused;
	_Atomic bool new_holds;
	_Atomic uint64_t doubles;	/* granted while the new one holds */
	_Atomic uint64_t token;		/* the largest of the old table */
	_Atomic int waiter;		/* what its wait returned */
};

static const char *table;
static struct race *race;

static int
loop(void *arg)
{
	uint32_t mode = (intptr_t)arg == 2 ? LH_SHARED : LH_EXCLUSIVE;
	struct lh_acquire_opts o = t_opts(30000, 60000);
	char name[] = { 'a', (char)('0' + (intptr_t)arg), '\0' };
	struct lh *lh = t_open(table);
	struct lh_key *k;
	struct lh_lease l;

	o.mode = mode;
	if (lh_key_open(lh, name, 0, &k) != 0)
		return 1;
	for (int i = 0;; i++) {
		bool before = atomic_load(&race->new_holds);

		if (i == 10)
			(void)atomic_fetch_add(&race->ready, 1);
		if (lh_key_acquire(k, &o, &l) != 0)
			break;
		(void)atomic_fetch_add(&race->doubles, before);
		if (l.token > atomic_load(&race->token))
			atomic_store(&race->token, l.token);
		if (lh_release(lh, &l) != 0)
			break;
	}
	(void)atomic_fetch_add(&race->refused, 1);
	return 0;
}

static int
wait_for_key(void *arg)
{
	struct lh_acquire_opts o = t_opts(30000, 60000);
	struct lh *lh = t_open(table);
	struct lh_lease l;

	(void)arg;
	atomic_store(&race->waiter, lh_acquire(lh, "held", &o, &l));
	return 0;
}

static int
remove_it(void *arg)
{
	(void)arg;
	return lh_table_remove(table, LH_FORCE) == 0 ? 0 : 1;
}

static int
remove_a_day_ahead(void *arg)
{
	static const char offset[] = "monotonic 86400 0\n";
	int fd;

	if (unshare(CLONE_NEWTIME) != 0)
		return NO_NAMESPACE;
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	if (fd < 0 || write(fd, offset, sizeof(offset) - 1) < 0)
		return NO_NAMESPACE;
	close(fd);
	return t_reap(t_fork(remove_it, arg), T_HANG_MS);
}

static void
other_format(struct t_object *o)
{
	sh32_store(&o->h->format, SHM_FORMAT + 1);
}

static void
other_layout(struct t_object *o)
{
	sh64_store(&o->h->fingerprint, sh64_load(&o->h->fingerprint) + 1);
	sh64_store(&o->h->header_sum, lhi_object_sum(o->h));
}

static void
damaged_base(struct t_object *o)
{
	sh64_store(&o->h->token_base, 4096);
}

static void
fewer_slots(struct t_object *o)
{
	sh32_store(&o->h->ready_slots, 2);
}

static void
nothing(struct t_object *o)
{
	(void)o;
}

static void
hold_in_new(struct lh *fresh, struct lh_lease *l)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < LOOPERS; i++) {
		char name[] = { 'a', (char)('0' + i), '\0' };

		l[i] = t_hold(fresh, name);
		if (l[i].token < least)
			least = l[i].token;
	}
	atomic_store(&race->new_holds, true);
	cmp(least, >, atomic_load(&race->token), "its tokens are larger");
}

static void
removed(void (*spoil)(struct t_object *o), int (*how)(void *arg), int kept,
    const char *what)
{
	struct lh_lease held, l[LOOPERS];
	struct lh *lh = t_open(table), *fresh;
	struct t_object o = t_map_object(table);
	pid_t pid[LOOPERS], waiter;
	int r;

	*race = (struct race){ 0 };
	held = t_hold(lh, "held");
	waiter = t_fork(wait_for_key, NULL);
	t_await_waiters(lh, "held", 1);
	for (int i = 0; i < LOOPERS; i++)
		pid[i] = t_fork(loop, (void *)(intptr_t)i);
	ok(t_until(T_HANG_MS, atomic_load(&race->ready) == LOOPERS),
	    "%s: they do nothing else", what);
	spoil(&o);
	r = t_reap(t_fork(how, NULL), T_HANG_MS);
	if (r == NO_NAMESPACE) {
		skip(1, "no time namespaces here");
		r = t_reap(t_fork(remove_it, NULL), T_HANG_MS);
	}
	is(r, 0, "it is removed");
	fresh = t_open(table);
	hold_in_new(fresh, l);
	ok(t_until(T_HANG_MS, atomic_load(&race->refused) == LOOPERS),
	    "each of them is refused");
	is_u64(atomic_load(&race->doubles), 0, "nothing granted twice");
	is(lh_verify(lh, &held), kept, "the lease that was held: %d", kept);
	is(t_reap(waiter, t_ms(2000)), 0, "the waiter returns");
	ok(atomic_load(&race->waiter) == -ESTALE ||
	    atomic_load(&race->waiter) == -EUCLEAN, "and says why: %d",
	    atomic_load(&race->waiter));
	for (int i = 0; i < LOOPERS; i++)
		if (atomic_load(&race->refused) != LOOPERS)
			t_kill(pid[i]);
		else
			is(t_reap(pid[i], T_HANG_MS), 0, "it ends");
	t_unmap_object(&o);
	(void)lh_close(lh);
	for (int i = 0; i < LOOPERS; i++)
		(void)lh_release(fresh, &l[i]);
	t_close(fresh);
	(void)lh_table_remove(table, LH_FORCE);
}

int
main(void)
{
	table = t_table();
	race = t_shared(sizeof(*race));
	removed(other_format, remove_it, -EUCLEAN, "another format");
	removed(other_layout, remove_it, -EUCLEAN, "another layout");
	removed(damaged_base, remove_it, -EUCLEAN, "a damaged header");
	removed(fewer_slots, remove_it, 0, "a lowered count");
	if (geteuid() == 0)
		removed(nothing, remove_a_day_ahead, 0, "another clock");
	return done();
}
