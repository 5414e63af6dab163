/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2, G9 and G11: a long random sequence of acquire, release,
 * convert, extend and verify, in both modes, through several attachments and
 * keys.  Each answer is compared with a plain model: a key is free, has one
 * writer, or has some readers.  Tokens keep their order, status counts like the
 * model, and old leases are refused.  One process, no waits: each answer is
 * determined.
 *
 * Otherwise a rare sequence of calls would give a wrong answer that no other
 * test makes.
 */
#include <errno.h>
#include "readers.h"

#define ATTACHMENTS	4
#define KEYS		2
#define LIVE		40	/* leases at a time */
#define PAST		64	/* that are remembered */
#define STEPS		40000

static struct lh *lh[ATTACHMENTS];
static const char *const names[KEYS] = { "one", "two" };

struct held {
	struct lh_lease lease;
	int who, key;
};

static struct held live[LIVE], past[PAST];
static int n_live, n_past;

static struct model {
	int readers, writers;
	uint64_t highest, highest_x;	/* tokens */
} model[KEYS];

static unsigned seed = 20240607;
static int wrong;

static int
dice(int n)
{
	return (rand_r(&seed) >> 4) % n;
}

static void
expect(int got, int want, const char *what, int step)
{
	if (got == want)
		return;
	if (wrong++ < 10)
		diag("step %d: %s gave %d, want %d: %s", step, what, got, want,
		    lh_error_detail());
}

static void
holds(bool good, const char *what, int step)
{
	if (!good && wrong++ < 10)
		diag("step %d: %s", step, what);
}

/* A grant: is its token in order? */
static void
token(struct model *m, const struct lh_lease *l, int step)
{
	if (l->mode == LH_SHARED) {
		holds(l->token >= m->highest_x, "shared token too small",
		    step);
	} else {
		holds(l->token > m->highest, "exclusive token too small",
		    step);
		m->highest_x = l->token;
	}
	if (l->token > m->highest)
		m->highest = l->token;
}

static void
count(struct model *m, uint32_t mode, int by)
{
	if (mode == LH_SHARED)
		m->readers += by;
	else
		m->writers += by;
}

static void
remember(const struct held *h)
{
	past[n_past++ % PAST] = *h;
}

static void
acquire(int step)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct held h = { .who = dice(ATTACHMENTS), .key = dice(KEYS) };
	struct model *m = &model[h.key];
	int want, r;

	if (n_live == LIVE)
		return;
	o.mode = dice(4) == 0 ? LH_EXCLUSIVE : LH_SHARED;
	want = m->writers > 0 || (o.mode == LH_EXCLUSIVE && m->readers > 0) ?
	    -EAGAIN : 0;
	r = lh_acquire(lh[h.who], names[h.key], &o, &h.lease);
	expect(r, want, o.mode == LH_SHARED ? "read" : "write", step);
	if (r != 0)
		return;
	holds(h.lease.mode == o.mode && h.lease.notes == 0,
	    "the lease is not as asked", step);
	token(m, &h.lease, step);
	count(m, o.mode, 1);
	live[n_live++] = h;
}

static void
release(int i, int step)
{
	struct held old = live[i];

	expect(lh_release(lh[live[i].who], &live[i].lease), 0, "release",
	    step);
	count(&model[old.key], old.lease.mode, -1);
	remember(&old);
	live[i] = live[--n_live];
}

static void
convert(int i, int step)
{
	struct held *h = &live[i], old = *h;
	struct model *m = &model[h->key];
	uint32_t to = (uint32_t)dice(2);
	int want, r;

	want = to == LH_EXCLUSIVE && h->lease.mode == LH_SHARED &&
	    m->readers > 1 ? -EAGAIN : 0;
	r = lh_convert(lh[h->who], &h->lease, to);
	expect(r, want, to == LH_SHARED ? "down" : "up", step);
	if (r != 0 || to == old.lease.mode) {
		holds(memcmp(h, &old, sizeof(old)) == 0,
		    "a lease was changed", step);
		return;
	}
	holds(h->lease.mode == to && h->lease.token > old.lease.token,
	    "the lease is not as converted", step);
	token(m, &h->lease, step);
	count(m, old.lease.mode, -1);
	count(m, to, 1);
	remember(&old);
}

static void
question(int i, int step)
{
	struct held *h = &live[i];

	expect(lh_verify(lh[h->who], &h->lease), 0, "verify", step);
	expect(lh_extend(lh[h->who], &h->lease, HOUR_MS + dice(1000)), 0,
	    "extend", step);
	expect(lh_verify_token(lh[0], names[h->key], h->lease.token), 0,
	    "verify_token", step);
	expect(lh_verify(lh[(h->who + 1) % ATTACHMENTS], &h->lease), -EPERM,
	    "a stranger's verify", step);
}

/* Something of the past: refused, and of no effect. */
static void
old_one(int step)
{
	struct held h;
	int r;

	if (n_past == 0)
		return;
	h = past[dice(n_past < PAST ? n_past : PAST)];
	switch (dice(4)) {
	case 0:
		expect(lh_extend(lh[h.who], &h.lease, 1), -ESTALE,
		    "an old extend", step);
		break;
	case 1:
		expect(lh_verify(lh[h.who], &h.lease), -ESTALE,
		    "an old verify", step);
		break;
	case 2:
		expect(lh_convert(lh[h.who], &h.lease, (uint32_t)dice(2)),
		    -ESTALE, "an old convert", step);
		break;
	default:
		r = lh_release(lh[h.who], &h.lease);
		holds(r == 0 || r == -ESTALE, "an old release", step);
	}
}

static void
look(int step)
{
	struct t_view v;
	int key = dice(KEYS), n = model[key].readers + model[key].writers;

	if (t_look(lh[dice(ATTACHMENTS)], names[key], &v) == -ENOENT) {
		expect(n, 0, "holders of an unknown key", step);
		return;
	}
	expect((int)v.info.n_holders, n, "status", step);
	if (n > 0)
		expect((int)v.info.mode, model[key].readers > 0 ? LH_SHARED :
		    LH_EXCLUSIVE, "the mode told", step);
	expect((int)v.info.n_waiters, 0, "waiters", step);
}

int
main(void)
{
	int n = t_count(STEPS, 2000), most = 0, step;
	const char *table = t_table();

	for (int i = 0; i < ATTACHMENTS; i++)
		lh[i] = t_open(table);
	for (step = 0; step < n && wrong < 10; step++) {
		int what = dice(20);

		/* now full, now empty, by turns */
		if (what < (step / 500 % 2 ? 9 : 6) || n_live == 0)
			acquire(step);
		else if (what < 14)
			release(dice(n_live), step);
		else if (what < 16)
			convert(dice(n_live), step);
		else if (what < 17)
			question(dice(n_live), step);
		else if (what < 19)
			old_one(step);
		else
			look(step);
		most = n_live > most ? n_live : most;
		if (step % 4000 == 3999)
			is(t_findings(lh[0]), 0, "sound after %d steps",
			    step + 1);
	}
	diag("%d steps, at most %d leases at a time", step, most);
	is(wrong, 0, "every answer was the model's");
	while (n_live > 0)
		release(n_live - 1, step);
	is(t_holders(lh[0], names[0]) + t_holders(lh[0], names[1]), 0,
	    "all released: nobody holds");
	for (int i = 0; i < KEYS; i++)
		is(t_try(lh[1], names[i], LH_EXCLUSIVE, 0), 0, "%s is free",
		    names[i]);
	for (int i = 1; i < ATTACHMENTS; i++)
		is(lh_close(lh[i]), 0, "closed");
	t_close(lh[0]);
	return done();
}
