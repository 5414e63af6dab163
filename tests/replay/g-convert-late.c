/* SPDX-License-Identifier: MIT */
/* test: slow 8 */
/*
 * Guarantee G11: a conversion that comes too late changes nothing for others.
 *
 * A thread converts a lease of another thread, and is stopped past the
 * deadline, before each of its accesses to shared memory in turn.  Somebody
 * else acquires the key.  The owner takes the claim back and uses it for
 * another key, as a reader or as a waiter in a queue.  Then the conversion goes
 * on: it must report the lease lost, and the new use must keep its token and
 * its place in the queue.  All keys are new, so that both uses have the same
 * versions; and the number of the use wraps round in some of the runs.
 *
 * Otherwise a late conversion would turn another lease from shared to
 * exclusive, or lose a waiter.
 */
#include "sweep.h"

#define TTL_MS 20
#define TRIES 20		/* on a busy machine: up to 8 times that */
#define OTHERS 7		/* with one more: all claims of a thread */

static struct lh *lh, *other, *third;

struct scene {
	struct sweep s;
	int n;
	uint32_t to;
	char key[32];
	struct lh_lease l;
};

static int names;
static bool wraps;		/* the number of the conversion's use */

static int
convert(void *arg)
{
	struct scene *sc = arg;

	sweep_warm_up(lh);
	sweep_now(&sc->s, NULL, sc->n);
	return lh_convert(lh, &sc->l, sc->to);
}

static uint32_t
claim_of(const struct lh_lease *l)
{
	return lid_claim(l->id[1]);
}

/* Returns the name of key number n of a kind. */
static const char *
name(char *buf, const char *kind, int n)
{
	(void)snprintf(buf, 32, "%s%d", kind, n);
	return buf;
}

/* Converts a lease of the free claim until the number of its next use is about
 * to wrap round. */
static void
to_the_end(void)
{
	struct lh_lease l;
	char key[32];

	l = t_read_hold(lh, name(key, "w", ++names));
	for (int i = 0; i < 4 && lid_seq(l.id[1]) < MASK(SEQ_BITS) / 4 * 3; i++)
		if (lh_convert(lh, &l, l.mode == LH_SHARED ? LH_EXCLUSIVE :
		    LH_SHARED) != 0)
			bail_out("a lease cannot be converted");
	if (lh_release(lh, &l) != 0)
		bail_out("a converted lease cannot be released");
}

/* Stops the conversion before access n.  1: stopped; 0: it has ended; -1: it is
 * too late. */
static int
try_begin(struct scene *sc, uint32_t to, int n, int64_t ttl_ms)
{
	char key[32];
	struct lh_lease l;
	bool stands;
	int r;

	if (wraps)
		to_the_end();
	/* the claim is a reader first: with the first version of a new key */
	l = t_read_hold(lh, name(key, "a", ++names));
	(void)lh_release(lh, &l);
	*sc = (struct scene){ .n = n, .to = to };
	name(sc->key, "k", names);
	r = to == LH_SHARED ? t_acquire(lh, sc->key, ttl_ms, 0, &sc->l) :
	    t_read(lh, sc->key, ttl_ms, 0, &sc->l);
	if (r == -EAGAIN)
		/* it expired before it could be returned (guarantee G3) */
		return -1;
	if (r != 0 || claim_of(&sc->l) != claim_of(&l))
		bail_out("the claim is not the one that there is: %d", r);
	sweep_go(&sc->s, convert, sc);
	stands = sweep_stands(&sc->s);
	if (t_now_ns() < sc->l.expires_ns)
		return stands;
	(void)sweep_end(&sc->s);
	(void)lh_release(lh, &sc->l);
	return -1;
}

/* The same, and another attachment acquires the key.  True if stopped. */
static bool
begin(struct scene *sc, uint32_t to, int n, struct lh_lease *k)
{
	int stands = -1;

	for (int i = 0; i < TRIES && stands < 0; i++)
		stands = try_begin(sc, to, n, TTL_MS << i * 4 / TRIES);
	if (stands < 0)
		bail_out("%d ms are too short for a stop", TTL_MS << 3);
	replay_sleep_past(&sc->l);
	if (replay_try(other, sc->key, k) != 0)
		bail_out("%s did not expire", sc->key);
	return stands;
}

static void
end(struct scene *sc, const char *what, struct lh_lease *k)
{
	int r = sweep_end(&sc->s);

	/* it may have ended before the deadline; an upgrade may have met the
	 * new holder */
	if (r != -ESTALE && r != 0 && r != -EAGAIN)
		sweep_bad(what, sc->n, "the conversion says %d", r);
	if (lh_verify(lh, &sc->l) == 0)
		sweep_bad(what, sc->n, "the old lease verifies");
	if (lh_verify(other, k) != 0)
		sweep_bad(what, sc->n, "the key's new holder has lost it");
	(void)lh_release(other, k);
}

/* The new use: a reader of another key. */
static void
reader(uint32_t to, const char *what)
{
	struct scene sc;
	struct lh_lease k, r, x;
	char key[32];
	bool stands = true;
	int n;

	for (n = 1; stands; n++) {
		stands = begin(&sc, to, n, &k);
		name(key, "r", ++names);
		if (t_read(lh, key, HOUR_MS, 0, &r) != 0)
			bail_out("the owner cannot read %s", key);
		if (claim_of(&r) != claim_of(&sc.l))
			sweep_bad(what, n, "the owner uses another claim");
		end(&sc, what, &k);
		if (lh_verify(lh, &r) != 0)
			sweep_bad(what, n, "the reader is lost (verify)");
		if (lh_verify_token(other, key, r.token) != 0)
			sweep_bad(what, n, "its token is refused");
		if (lh_verify_token(other, key, r.token + 1) == 0)
			sweep_bad(what, n, "another token is accepted");
		if (lh_extend(lh, &r, HOUR_MS) != 0)
			sweep_bad(what, n, "the reader is lost (extend)");
		if (replay_try(other, key, &x) != -EAGAIN)
			sweep_bad(what, n,
			    "a writer acquires the key beside it");
		if (lh_release(lh, &r) != 0)
			sweep_bad(what, n, "the reader is lost (release)");
	}
	cmp(n, >, 10, "%s; a reader then: stopped %d times", what, n - 1);
	is(t_findings(other), 0, "the table is sound");
}

static int
wait_long(void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 3000);

	return lh_acquire(third, "q", &o, arg);
}

/* The owner waits in a thread of its own. */
struct waiter {
	struct t_event go;
	struct scene sc;
	struct lh_lease other[OTHERS], k, q;
	uint32_t to;
	int n, result;
	bool stands;
};

static int
owner_waits(void *arg)
{
	struct waiter *w = arg;
	char key[32];

	for (int i = 0; i < OTHERS; i++)
		w->other[i] = t_hold(lh, name(key, "own", i));
	w->stands = begin(&w->sc, w->to, w->n, &w->k);
	t_post(&w->go);
	w->result = t_acquire(lh, "q", HOUR_MS, 3000, &w->q);
	if (w->result == 0)
		(void)lh_release(lh, &w->q);
	for (int i = 0; i < OTHERS; i++)
		(void)lh_release(lh, &w->other[i]);
	return 0;
}

/* The new use: a waiter, behind one of another session. */
static bool
waiter(uint32_t to, int n, const char *what)
{
	struct waiter w = { .to = to, .n = n };
	struct lh_lease q = t_hold(other, "q"), first;
	struct t_view v;

	replay_go("first", wait_long, &first);
	ok(t_await_waiters(other, "q", 1),
	    "a waiter of another session is queued");
	replay_go("owner", owner_waits, &w);
	ok(t_await(&w.go, 1, REPLAY_MS), "the owner goes on");
	ok(t_await_waiters(other, "q", 2), "and is queued behind it");
	end(&w.sc, what, &w.k);
	(void)t_look(other, "q", &v);
	if (v.info.n_waiters != 2 || v.waiters[0].priority != 0 ||
	    v.waiters[1].priority != 0)
		sweep_bad(what, n, "the queue has changed");
	if (t_findings(other) != 0)
		sweep_bad(what, n, "the table is not sound");
	is(lh_release(other, &q), 0, "the key is free");
	is(replay_result("first"), 0,
	    "the waiter of the other session acquires it first");
	is(lh_verify(third, &first), 0, "and holds it");
	is(lh_release(third, &first), 0, "released");
	(void)replay_result("owner");
	is(w.result, 0, "then the owner acquires it");
	return w.stands;
}

int
main(void)
{
	const char *table = sweep_begin();
	struct lh_lease hold[OTHERS];
	char key[32];

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	third = replay_open(table, 0);
	for (int i = 0; i < OTHERS; i++)
		hold[i] = t_hold(lh, name(key, "hold", i));
	reader(LH_SHARED, "down");
	reader(LH_EXCLUSIVE, "up");
	wraps = true;
	reader(LH_SHARED, "down, wraps");
	reader(LH_EXCLUSIVE, "up, wraps");
	wraps = false;
	for (int i = 0; i < OTHERS; i++)
		is(lh_release(lh, &hold[i]), 0, "released");
	for (int n = 1; waiter(LH_SHARED, n, "down; a waiter then"); n += 2)
		;
	t_close(third);
	t_close(other);
	t_close(lh);
	return done();
}
