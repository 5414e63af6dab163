/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1: shared leases of a key are held together, and with nothing
 * else: by two processes, by two attachments of one process, and twice by one
 * thread, because a lease belongs to its presenter and not to a thread.  While
 * one of them is held, nobody acquires the key exclusively, not even a reader.
 *
 * Otherwise a writer would change what a reader is reading.
 */
#include <errno.h>
#include "readers.h"

/* The key is taken by n readers: all can see it, and no writer gets in. */
static void
shared_by(struct lh *lh, struct t_actor *a, int n)
{
	struct t_view v;
	int shared = 0;

	is(t_look(lh, "k", &v), 0, "status");
	is(v.info.n_holders, n, "%d hold it", n);
	is(v.info.mode, LH_SHARED, "shared");
	for (int i = 0; i < n; i++)
		shared += v.holders[i].mode == LH_SHARED;
	is(shared, n, "each of them");
	is(t_try(lh, "k", LH_EXCLUSIVE, 0), -EAGAIN, "no writer gets in");
	ok(t_has_detail(), "and the error says why");
	is(t_do_acquire(a, "k", HOUR_MS, 0), -EAGAIN,
	    "not in another process either");
	is(t_try(lh, "k", LH_SHARED, 0), 0, "another reader does");
	is(t_holders(lh, "k"), n, "and goes again");
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table), *b = t_actor(table);
	struct t_actor *c = t_actor(table);
	struct lh *lh = t_open(table), *twin = t_open(table);
	struct lh_acquire_opts o = t_read_opts(HOUR_MS, 0);
	struct lh_lease mine, again, other;
	struct lh_key *key;

	is(t_do_read(a, "k", HOUR_MS, 0), 0, "a process reads");
	is(a->lease.mode, LH_SHARED, "its lease says so");
	is(a->lease.notes, 0, "without a note");
	cmp(a->lease.token, >, 0, "with a token");
	shared_by(lh, c, 1);
	is(t_do_read(b, "k", HOUR_MS, 0), 0, "another reads, too");
	shared_by(lh, c, 2);
	is(t_do_verify(a), 0, "the first holds it");
	is(t_do_verify(b), 0, "the second, too");
	is(t_do_extend(a, 2 * HOUR_MS), 0, "the first extends");
	cmp(a->lease.expires_ns, >, b->lease.expires_ns, "for itself");

	is(lh_key_open(lh, "k", 0, &key), 0, "an opened key");
	is(lh_key_acquire(key, &o, &mine), 0, "is read, too");
	is(mine.mode, LH_SHARED, "its lease says so");
	is(lh_key_acquire(key, &o, &again), 0, "twice by one thread");
	ok(mine.id[0] == again.id[0] && mine.id[1] != again.id[1],
	    "which are two leases");
	is(t_read(twin, "k", HOUR_MS, 0, &other), 0,
	    "and by another attachment");
	shared_by(lh, c, 5);
	is(lh_release(lh, &other), -EPERM, "each has its own only");
	ok(t_has_detail(), "and the error says why");
	is(lh_release(lh, &mine), 0, "one of the twice is released");
	is(lh_verify(lh, &again), 0, "the other stays");
	is(lh_verify(lh, &mine), -ESTALE, "the one is over");
	is(lh_release(lh, &mine), 0, "releasing it again is nothing");
	shared_by(lh, c, 4);
	is(lh_release(twin, &other), 0, "the other attachment releases");
	is(t_do_release(a), 0, "the first reader");
	shared_by(lh, c, 2);
	is(t_do_release(b), 0, "the second");
	shared_by(lh, c, 1);
	is(lh_release(lh, &again), 0, "the last");
	is(t_holders(lh, "k"), 0, "it is free");

	is(t_do_acquire(c, "k", HOUR_MS, 0), 0, "now a writer gets it");
	is(c->lease.notes, 0, "without a note");
	is(t_do_read(a, "k", HOUR_MS, 0), -EAGAIN, "and no reader");
	is(t_read(lh, "k", HOUR_MS, 0, &mine), -EAGAIN, "none at all");
	ok(t_has_detail(), "and the error says why");
	is(t_do_release(c), 0, "until it releases");
	is(t_read(lh, "k", HOUR_MS, 0, &mine), 0, "then they do");
	is(lh_release(lh, &mine), 0, "released");
	is(lh_key_close(key), 0, "closed");
	is(lh_close(twin), 0, "and the other attachment");
	t_actor_end(a);
	t_actor_end(b);
	t_actor_end(c);
	t_close(lh);
	return done();
}
