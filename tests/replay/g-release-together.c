/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G11: two threads present one lease, and its owner uses the
 * claim again.
 *
 * A thread other than the owner releases or converts a copy of the lease, and
 * is stopped before each of its accesses to shared memory in turn.  Meanwhile
 * the owner releases the lease too, and the claim is revived in the same chain,
 * pushed onto it, or pushed before a reader of another key; or somebody else
 * acquires the key exclusively.  The new lease must stay held, with nobody
 * beside it, whatever the stopped thread still does.  At the end all keys must
 * be free.
 *
 * Otherwise a late release would free a key that its owner holds again, or cut
 * off a reader of another key.
 */
#include "sweep.h"

#define OTHERS 7		/* with one more: all claims of a thread */

static const char *table;
static struct lh *lh, *other, *third;

enum what { RELEASE, CONVERT };

struct scene {
	struct sweep s;
	int n;
	enum what what;
	struct lh_lease copy;
};

static int
present(void *arg)
{
	struct scene *sc = arg;

	sweep_warm_up(lh);
	sweep_now(&sc->s, NULL, sc->n);
	return sc->what == RELEASE ? lh_release(lh, &sc->copy) :
	    lh_convert(lh, &sc->copy, sc->copy.mode == LH_SHARED ?
	    LH_EXCLUSIVE : LH_SHARED);
}

static const char *
name(char *buf, const char *kind, int n)
{
	(void)snprintf(buf, 32, "%s%d", kind, n);
	return buf;
}

static int
acquire(struct lh *h, const char *key, uint32_t mode, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);

	o.mode = mode;
	return lh_acquire(h, key, &o, l);
}

static bool
begin(struct scene *sc, enum what what, int n, const struct lh_lease *l)
{
	*sc = (struct scene){ .what = what, .n = n, .copy = *l };
	sweep_go(&sc->s, present, sc);
	return sweep_stands(&sc->s);
}

static void
all_free(const char *told, int n, const char *key)
{
	struct lh_lease x;

	if (replay_try(third, key, &x) != 0)
		sweep_bad(told, n, "%s is not free at the end", key);
	(void)lh_release(third, &x);
}

/* The same key: a writer of another session tries it, and the owner reads it
 * again.  At most one of them may hold it, and none beside a converted
 * lease. */
static void
same_key(const char *told, const char *kind, uint32_t mode, enum what what,
    bool writer_first)
{
	struct lh_lease l, x, again;
	struct scene sc;
	char key[32];
	bool stands = true, more, shared;
	int n, r, rx, ry, rp, holders;

	for (n = 1; stands; n++) {
		if (acquire(lh, name(key, kind, n), mode, &l) != 0)
			bail_out("%s is not free", key);
		stands = begin(&sc, what, n, &l);
		r = lh_release(lh, &l);
		rx = ry = -EAGAIN;
		for (int i = 0; i < 2; i++) {
			if ((i == 0) == writer_first)
				rx = replay_try(other, key, &x);
			else
				ry = t_read(lh, key, HOUR_MS, 0, &again);
		}
		rp = sweep_end(&sc.s);
		/* -EAGAIN: it was not alone, and may still be a reader */
		more = what == CONVERT && (rp == 0 || (rp == -EAGAIN &&
		    lh_verify(lh, &sc.copy) == 0));
		if ((r != 0 && r != -ESTALE) || (rp != 0 && rp != -ESTALE &&
		    (what == RELEASE || rp != -EAGAIN)) ||
		    (r != 0 && rp != 0 && !more))
			sweep_bad(told, n, "owner %d, the other %d", r, rp);
		shared = more && sc.copy.mode == LH_SHARED && ry == 0;
		if ((rx == 0) + (ry == 0) + more - shared > 1)
			sweep_bad(told, n, "writer %d, reader %d, %d", rx, ry,
			    rp);
		holders = rx == 0 || ry == 0 || more;
		if (rx == 0 && lh_verify(other, &x) != 0)
			sweep_bad(told, n, "the writer's lease is lost");
		if (ry == 0 && lh_verify(lh, &again) != 0)
			sweep_bad(told, n, "the new reader's lease is lost");
		if (more && lh_verify(lh, &sc.copy) != 0)
			sweep_bad(told, n, "the converted lease is lost");
		if (t_try(third, key, LH_EXCLUSIVE, 0) !=
		    (holders ? -EAGAIN : 0))
			sweep_bad(told, n,
			    "holders: %d, but a third caller disagrees",
			    holders);
		if (rx == 0)
			(void)lh_release(other, &x);
		if (ry == 0)
			(void)lh_release(lh, &again);
		if (more)
			(void)lh_release(lh, &sc.copy);
		all_free(told, n, key);
	}
	cmp(n, >, 5, "%s: stopped %d times", told, n - 2);
	is(t_findings(other), 0, "the table is sound");
}

/* The claim is pushed before a reader of another key, which must not be cut
 * off. */
static void
before_a_reader(const char *told, const char *kind, uint32_t mode,
    enum what what, bool companion)
{
	struct lh_lease l, d, b, c;
	struct scene sc;
	char key[32], rkey[32];
	bool stands = true;
	int n, rp, same = 0;

	for (n = 1; stands; n++) {
		lh = replay_open(table, 0);
		for (int i = 0; i < OTHERS; i++)
			(void)t_hold(lh, name(key, "own", i));
		name(key, kind, n);
		name(rkey, kind, 1000 + n);
		if (companion)
			d = t_read_hold(other, key);
		b = t_read_hold(other, rkey);
		if (acquire(lh, key, mode, &l) != 0)
			bail_out("%s is not free", key);
		stands = begin(&sc, what, n, &l);
		(void)lh_release(lh, &l);
		c = t_read_hold(lh, rkey);
		same += lid_claim(c.id[1]) == lid_claim(l.id[1]);
		rp = sweep_end(&sc.s);
		if (lh_verify(lh, &c) != 0 || lh_verify_token(third, rkey,
		    c.token) != 0)
			sweep_bad(told, n, "the claim's new lease is lost");
		if (lh_verify_token(third, rkey, b.token) != 0)
			sweep_bad(told, n, "the reader behind it is cut off");
		if (t_holders(third, rkey) != 2)
			sweep_bad(told, n, "there are not two readers");
		(void)lh_release(lh, &c);
		if (t_try(third, rkey, LH_EXCLUSIVE, 0) != -EAGAIN)
			sweep_bad(told, n,
			    "a writer acquires the key beside it");
		if (lh_verify(other, &b) != 0)
			sweep_bad(told, n, "its lease is lost");
		(void)lh_release(other, &b);
		all_free(told, n, rkey);
		if (what == CONVERT && rp == 0)
			(void)lh_release(lh, &sc.copy);
		if (companion)
			(void)lh_release(other, &d);
		all_free(told, n, key);
		if (lh_close(lh) != 0)
			sweep_bad(told, n, "it cannot be closed");
	}
	cmp(n, >, 5, "%s: stopped %d times", told, n - 2);
	cmp(same, >, 0, "the same claim was used %d times", same);
	is(t_findings(other), 0, "the table is sound");
}

/* The owner runs in a thread, and is stopped in its release itself. */
struct owner {
	struct sweep s;
	int n, released, again;
	const char *key;
	struct t_event have, on;
	struct lh_lease l, next;
};

static int
release_and_read(void *arg)
{
	struct owner *o = arg;

	if (t_read(lh, o->key, HOUR_MS, 0, &o->l) != 0)
		bail_out("%s is not free", o->key);
	t_post(&o->have);
	(void)t_await(&o->on, 1, REPLAY_MS);
	sweep_now(&o->s, NULL, o->n);
	o->released = lh_release(lh, &o->l);
	sweep_now(&o->s, NULL, 0);
	return o->again = t_read(lh, o->key, HOUR_MS, 0, &o->next);
}

/* The owner is stopped at n, the reader before it leaves, the presenter is
 * stopped at m. */
static bool
both_stopped(const char *told, int n, int m, bool *owner_stands)
{
	char key[32];
	struct owner o = { .n = n };
	struct replay_call d = REPLAY_CALL(other, key, 0, 0);
	struct lh_lease copy;
	struct scene sc;
	bool stands;
	int rp;

	(void)snprintf(key, sizeof(key), "b%d.%d", n, m);
	o.key = key;
	sweep_go(&o.s, release_and_read, &o);
	ok(t_await(&o.have, 1, REPLAY_MS), "%s is read", key);
	copy = o.l;
	d.lease = t_read_hold(other, key);
	t_post(&o.on);
	*owner_stands = sweep_stands(&o.s);
	/* in another thread, so that it leaves the chain */
	replay_go("d", replay_release_lease, &d);
	is(replay_result("d"), 0, "the reader before it leaves");
	stands = begin(&sc, RELEASE, m, &copy);
	(void)sweep_end(&o.s);
	if (o.again != 0)
		sweep_bad(told, m, "the owner cannot read again: %d", o.again);
	rp = sweep_end(&sc.s);
	if (rp != 0 && rp != -ESTALE)
		sweep_bad(told, m, "the other's release says %d", rp);
	if (lh_verify(lh, &o.next) != 0)
		sweep_bad(told, m, "its new lease is lost (owner at %d)", n);
	if (t_try(third, key, LH_EXCLUSIVE, 0) != -EAGAIN)
		sweep_bad(told, m, "a writer beside it (owner at %d)", n);
	(void)lh_release(lh, &o.next);
	all_free(told, m, key);
	return stands;
}

int
main(void)
{
	bool stands = true;

	table = sweep_begin();
	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	third = replay_open(table, 0);
	same_key("release, writer", "a", LH_SHARED, RELEASE, true);
	same_key("release, reader", "b", LH_SHARED, RELEASE, false);
	same_key("release X, writer", "c", LH_EXCLUSIVE, RELEASE, true);
	same_key("up, writer", "d", LH_SHARED, CONVERT, true);
	same_key("up, reader", "e", LH_SHARED, CONVERT, false);
	same_key("down, writer", "f", LH_EXCLUSIVE, CONVERT, true);
	same_key("down, reader", "g", LH_EXCLUSIVE, CONVERT, false);
	for (int n = 1; stands; n++)
		for (int m = 1; both_stopped("both", n, m, &stands); m++)
			;
	is(t_findings(other), 0, "the table is sound");
	t_close(lh);
	before_a_reader("release", "h", LH_SHARED, RELEASE, false);
	before_a_reader("release of two", "i", LH_SHARED, RELEASE, true);
	before_a_reader("down", "j", LH_EXCLUSIVE, CONVERT, false);
	before_a_reader("up", "l", LH_SHARED, CONVERT, false);
	t_close(third);
	t_close(other);
	return done();
}
