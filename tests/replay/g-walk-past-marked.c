/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G9 and G12, invariant I4 of shm/readers.c: a walk over a chain of
 * readers is at a reader that has left it and is still linked.  That reader is
 * unlinked, by a process that is stopped before it writes so, and the next one
 * is unlinked as well, and used again.  The walk must not follow that one's
 * link.
 *
 * Otherwise the walk would leave the table or enter another key's chain, and
 * would report the lease of the reader behind as lost, or the table as damaged.
 */
#include <errno.h>
#include <stdio.h>
#include "proc/attachment.h"
#include "replay.h"

static struct lh *h, *a, *b, *t, *s;
static struct lh_lease lh_, la, lb, lt;
static char key[16];

static int
release_last(void *arg)
{
	(void)arg;
	return lh_release(t, &lt);
}

static int
ask(void *arg)
{
	int asked = lh_ask_release(t, key, lt.id, lt.token);

	(void)arg;
	return asked == 1 ? 0 : asked;
}

static int
nothing(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

static int
read_status(void *at)
{
	return lh_status(at, key, NULL, nothing, NULL);
}

static int
leave_a(void *arg)
{
	(void)arg;
	return lh_release(a, &la);
}

static int
leave_b(void *arg)
{
	(void)arg;
	return lh_release(b, &lb);
}

static int
in_thread(int (*fn)(void *), void *arg)
{
	replay_go("other", fn, arg);
	return replay_result("other");
}

/* Uses all claims of the group again for other keys. */
static int
use_again(struct lh_lease x[], int n)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	char other[16];
	int error = 0;

	o.mode = LH_SHARED;
	for (int i = 0; i < n; i++) {
		(void)snprintf(other, sizeof(other), "x%d", i);
		error |= lh_acquire(b, other, &o, &x[i]);
	}
	return error;
}

/* Stops the walker at its nth load.  False if it has fewer. */
static bool
round_of(int (*fn)(void *arg), const char *what, bool again, int n)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease x[SHM_GROUP];
	int error;
	bool held, swept;

	(void)snprintf(key, sizeof(key), "%s%d", what, n);
	o.mode = LH_SHARED;
	error = lh_acquire(t, key, &o, &lt);
	error |= lh_acquire(b, key, &o, &lb);
	error |= lh_acquire(a, key, &o, &la);
	error |= lh_acquire(h, key, &o, &lh_);
	error |= in_thread(leave_a, NULL);
	if (error != 0)
		is(error, 0, "the chain is set up");
	replay_hold_nth("W", "load", n);
	replay_go("W", fn, NULL);
	held = replay_comes("W");
	replay_hold("S", "chain.inner_out");
	replay_go("S", read_status, s);
	swept = replay_comes("S");
	error = in_thread(leave_b, NULL);
	error |= in_thread(read_status, s);
	error |= again ? use_again(x, SHM_GROUP) : 0;
	if (held)
		replay_release("W");
	is(replay_result("W"), 0, "%s, held at load %d", what, n);
	if (swept)
		replay_release("S");
	error |= replay_result("S");
	for (unsigned i = 0; again && i < SHM_GROUP; i++)
		error |= lh_release(b, &x[i]);
	error |= lh_release(t, &lt);
	error |= lh_release(h, &lh_);
	if (error != 0)
		is(error, 0, "all calls succeed");
	return held;
}

int
main(void)
{
	const char *table = replay_begin();
	int n = 0;

	h = replay_open(table, 0);
	a = replay_open(table, 0);
	b = replay_open(table, 0);
	t = replay_open(table, 0);
	s = replay_open(table, 0);
	while (round_of(release_last, "release", true, ++n) && n < 200)
		;
	n = 0;
	while (round_of(ask, "ask", false, ++n) && n < 200)
		;
	is(sh32_load(&h->v.hdr->flags) & SHM_DAMAGED, 0u, "not damaged");
	t_close(s);
	t_close(t);
	t_close(b);
	t_close(a);
	t_close(h);
	return done();
}
