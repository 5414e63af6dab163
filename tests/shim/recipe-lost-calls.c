/* SPDX-License-Identifier: MIT */
/*
 * Two members use one key, again and again; in each run one call (the first,
 * the second, ...) is lost, late or refused, in each way.  The run must end as
 * without the fault: two never have the key at once, tokens rise, everybody is
 * granted and learns of the leaving, and nothing is left.
 *
 * Otherwise one lost packet would leave a key held, or grant it twice.
 */
#include <sys/wait.h>
#include "../tap.h"
#include "support/gate.h"

static struct member a, b;
static struct gate gate;
static uint64_t calls, at;
static enum fake_mishap what;
static unsigned how_many;

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	(void)host;
	(void)call;
	(void)arg;
	calls++;
	return calls >= at && calls < at + how_many ? what : FAKE_NONE;
}

static void
told(struct want *w)
{
	enum claim_mode mode = *(enum claim_mode *)w->arg;

	if (w->event == WANT_ANCHORED)
		gate_anchor(&gate, mode, w->revision);
	else if (w->event == WANT_GRANTED)
		gate_enter(&gate, mode, w->revision);
}

/* A denied host asks again. */
static void
get(struct want *w, struct member *m, enum claim_mode *mode, unsigned flags)
{
	for (int i = 0; i < 20; i++) {
		w->told = told;
		w->arg = mode;
		want(w, m, "k", *mode, flags);
		UNTIL(w->granted || w->c == NULL);
		if (w->granted)
			return;
	}
}

static void
let_go(struct want *w, enum claim_mode mode)
{
	gate_leave(&gate, mode);
	claim_leave(w->c);
}

static bool
run(void)
{
	enum claim_mode x_mode = CLAIM_EXCLUSIVE, s_mode = CLAIM_SHARED;
	struct want x = { 0 }, y = { 0 }, z = { 0 };
	bool fine;

	calls = 0;
	gate = (struct gate){ 0 };
	a = b = (struct member){ 0 };
	member_begin();
	fake_store_mishaps(member_store, mishap, NULL, NULL);
	member_up(&a, 0);
	member_up(&b, 1);
	get(&x, &a, &x_mode, CLAIM_TRY);
	y.told = told;
	y.arg = &s_mode;
	want(&y, &b, "k", CLAIM_SHARED, 0);
	UNTIL(x.recalled || y.failed);
	claim_anchor(x.c);
	UNTIL(x.anchored);
	let_go(&x, x_mode);
	if (y.failed)
		get(&y, &b, &s_mode, 0);
	UNTIL(y.granted && x.left);
	z.told = told;
	z.arg = &x_mode;
	want(&z, &a, "k", CLAIM_EXCLUSIVE, 0);
	UNTIL(y.recalled || z.failed);
	let_go(&y, s_mode);
	if (z.failed)
		get(&z, &a, &x_mode, 0);
	UNTIL(z.granted && y.left);
	let_go(&z, x_mode);
	UNTIL(z.left && count_keys("test/q/") == 0);
	fine = x.left && y.left && z.left && gate.grants == 3 &&
	    gate.doubles == 0 && gate.back == 0 && a.losts + b.losts == 0 &&
	    x.recalled + y.recalled + y.failed + z.failed > 0 &&
	    count_keys("test/q/") == 0;
	if (!fine)
		diag("left %u %u %u failed %u %u %u (%s), %ju grants, %u "
		    "twice, %u tokens, %u lost, %zu keys", x.left, y.left,
		    z.left,
		    x.failed, y.failed, z.failed, y.why,
		    (uintmax_t)gate.grants, gate.doubles, gate.back,
		    a.losts + b.losts, count_keys("test/q/"));
	recipe_retire(a.r);
	recipe_retire(b.r);
	UNTIL(a.retired && b.retired);
	/* what is late comes now, and is for nobody */
	loop_for(2 * member_timeout_ms + 5);
	fine = fine && a.retired && b.retired && count_keys("test/") == 0;
	member_close(&a);
	member_close(&b);
	member_end();
	return fine;
}

/* One kind at all places; its exit status: 0, or the place (at most 255). */
static int
all_places(void)
{
	for (at = 1; at == 1 || at <= calls; at++)
		if (!run())
			return (int)at;
	return calls < 10;
}

int
main(void)
{
	static const char *const name[FAKE_MISHAPS] = {
		[FAKE_SLOW] = "slow", [FAKE_SLOW_ANSWER] = "slow answer",
		[FAKE_LOST_REQUEST] = "lost request",
		[FAKE_LOST_ANSWER] = "lost answer", [FAKE_LATE] = "late",
		[FAKE_BROKEN] = "broken",
		[FAKE_BROKEN_APPLIED] = "broken and applied",
		[FAKE_BROKEN_LATE] = "broken and late",
		[FAKE_REFUSED] = "refused", [FAKE_DENIED] = "denied",
	};
	pid_t child[3][FAKE_MISHAPS];
	int status;

	member_timeout_ms = 8;
	member_ttl_ms = 4000;
	is(run(), true, "without mishaps");
	cmp(calls, >, 15, "calls are made");
	for (how_many = 1; how_many <= 2; how_many++)
		for (what = FAKE_SLOW; what < FAKE_MISHAPS; what++) {
			child[how_many][what] = fork();
			if (child[how_many][what] == 0)
				_exit(all_places());
		}
	for (how_many = 1; how_many <= 2; how_many++)
		for (what = FAKE_SLOW; what < FAKE_MISHAPS; what++) {
			(void)waitpid(child[how_many][what], &status, 0);
			is(status, 0, "%s: %u in a row, at each call",
			    name[what], how_many);
		}
	return done();
}
