/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G11: a conversion makes every other copy of the lease
 * worthless.
 *
 * Two threads of a session have copies of one lease.  One converts it: down,
 * up, or there and back.  The other presents its old copy, to release or extend
 * it: afterwards, or stopped before each of its accesses to shared memory while
 * the conversion runs.  If the conversion succeeds, the converted lease must be
 * held until the same deadline, and the old copy must be refused with -ESTALE,
 * unless it was quicker.
 *
 * Otherwise a stale copy could shorten or end a lease that was converted since,
 * and a writer would acquire the key beside it.
 */
#include "sweep.h"

#define SHORT_MS 2000		/* what the old copy is extended to */

static struct lh *lh, *other;

struct scene {
	struct sweep s;
	int n;
	int (*call)(struct scene *sc);
	struct lh_lease copy;
};

static int
release(struct scene *sc)
{
	return lh_release(lh, &sc->copy);
}

static int
extend(struct scene *sc)
{
	return lh_extend(lh, &sc->copy, SHORT_MS);
}

static int
present(void *arg)
{
	struct scene *sc = arg;

	sweep_warm_up(lh);
	sweep_now(&sc->s, NULL, sc->n);
	return sc->call(sc);
}

static int64_t
deadline(const char *key)
{
	struct t_view v;

	return t_look(lh, key, &v) == 0 && v.info.n_holders == 1 ?
	    v.holders[0].expires_ns : 0;
}

/* Checks that l is held, and that nobody can acquire the key beside it. */
static void
intact(const char *what, int n, const char *key, struct lh_lease *l)
{
	struct lh_lease x;

	if (lh_verify(lh, l) != 0)
		sweep_bad(what, n, "the converted lease is lost");
	if (lh_verify_token(other, key, l->token) != 0)
		sweep_bad(what, n, "its token is refused");
	if (replay_try(other, key, &x) != -EAGAIN)
		sweep_bad(what, n, "a writer acquires the key beside it");
	if (l->mode == LH_EXCLUSIVE &&
	    t_read(other, key, HOUR_MS, 0, &x) != -EAGAIN)
		sweep_bad(what, n, "a reader acquires the key beside it");
	if (lh_release(lh, l) != 0)
		sweep_bad(what, n, "it cannot be released");
}

static int
there_and_back(struct lh_lease *l, int times)
{
	int r = 0;

	for (int i = 0; i < times && r == 0; i++)
		r = lh_convert(lh, l, l->mode == LH_SHARED ? LH_EXCLUSIVE :
		    LH_SHARED);
	return r;
}

static void
play(const char *what, uint32_t mode, int times,
    int (*call)(struct scene *sc))
{
	struct scene sc;
	struct lh_lease l, x;
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	bool stands = true;
	int64_t until;
	int n, r, late;

	o.mode = mode;
	for (n = 1; stands; n++) {
		char key[32];

		(void)snprintf(key, sizeof(key), "%.16s%d", what, n);
		if (lh_acquire(lh, key, &o, &l) != 0)
			bail_out("%s cannot be acquired", key);
		sc = (struct scene){ .n = n, .call = call, .copy = l };
		sweep_go(&sc.s, present, &sc);
		stands = sweep_stands(&sc.s);
		r = there_and_back(&l, times);
		until = deadline(key);
		late = sweep_end(&sc.s);
		if (r == 0) {
			if (call == release ? late != -ESTALE :
			    late != -ESTALE && late != 0)
				sweep_bad(what, n, "the old copy: %d", late);
			if (deadline(key) != until)
				sweep_bad(what, n, "another deadline");
			intact(what, n, key, &l);
		} else if (r != -ESTALE || late != 0) {
			sweep_bad(what, n, "conversion %d, old copy %d", r,
			    late);
		}
		if (replay_try(other, key, &x) != 0)
			sweep_bad(what, n, "the key is not free at the end");
		(void)lh_release(other, &x);
	}
	cmp(n, >, 5, "%s: stopped %d times", what, n - 2);
	is(t_findings(other), 0, "the table is sound");
}

struct job {
	struct lh_lease *l;
	int times;
};

static int
convert(void *arg)
{
	struct job *j = arg;

	return there_and_back(j->l, j->times);
}

/* Without a race: the thread that acquired it has the old copy. */
static void
afterwards(const char *key, uint32_t mode, int times)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_lease l, old, x;
	struct job j = { &l, times };

	o.mode = mode;
	is(lh_acquire(lh, key, &o, &l), 0, "%s is acquired", key);
	old = l;
	replay_go("converter", convert, &j);
	is(replay_result("converter"), 0, "converted %d times elsewhere",
	    times);
	is(lh_extend(lh, &old, SHORT_MS), -ESTALE, "the old copy: extend");
	is(lh_convert(lh, &old, LH_EXCLUSIVE), -ESTALE, "up");
	is(lh_convert(lh, &old, LH_SHARED), -ESTALE, "down");
	is(lh_verify(lh, &old), -ESTALE, "verify");
	is(lh_release(lh, &old), -ESTALE, "release");
	cmp(deadline(key), >, t_now_ns() + HOUR_MS / 2 * T_NS_PER_MS,
	    "the deadline is unchanged");
	intact(key, 0, key, &l);
	is(replay_try(other, key, &x), 0, "then the key is free");
	is(lh_release(other, &x), 0, "released");
}

int
main(void)
{
	const char *table = sweep_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	afterwards("up", LH_SHARED, 1);
	afterwards("up, down", LH_SHARED, 2);
	afterwards("down", LH_EXCLUSIVE, 1);
	afterwards("down, up", LH_EXCLUSIVE, 2);
	play("rel up", LH_SHARED, 1, release);
	play("rel up, down", LH_SHARED, 2, release);
	play("rel down", LH_EXCLUSIVE, 1, release);
	play("rel down, up", LH_EXCLUSIVE, 2, release);
	play("ext up", LH_SHARED, 1, extend);
	play("ext up, down", LH_SHARED, 2, extend);
	play("ext down", LH_EXCLUSIVE, 1, extend);
	play("ext down, up", LH_EXCLUSIVE, 2, extend);
	t_close(other);
	t_close(lh);
	return done();
}
