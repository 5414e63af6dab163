/* SPDX-License-Identifier: MIT */
/* test: slow 10 */
/*
 * Every callback of a member may close or retire the member at once, and leave
 * and request claims.  (Faults show under ASan and memcheck.)
 *
 * Otherwise a shim that ends in a callback would use freed memory.
 */
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

static struct member a, b;
static enum want_event close_at;
static bool retire, denied;
static unsigned looks;

/* The transaction that confirms a claim. */
static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	(void)host;
	(void)call;
	(void)arg;
	return denied && asked_to(KV_PUT) && asked->n_compares == 2 ?
	    FAKE_DENIED : FAKE_NONE;
}

static void
end(struct member *m)
{
	if (m->r == NULL)
		return;
	if (retire)
		recipe_retire(m->r);
	else
		member_close(m);
}

static void
told(struct want *w)
{
	if (w->event == close_at)
		end(w->of);
}

static void
settled(struct member *m)
{
	end(m);
}

static void
on_look(int error, const char *why, const struct recipe_holder *h, size_t n,
    void *arg)
{
	(void)error;
	(void)why;
	(void)h;
	(void)n;
	looks++;
	end(arg);
}

static void
finish(void)
{
	if (retire)
		UNTIL(a.r == NULL || a.retired);
	ok(a.r == NULL || a.retired, "%s at event %d", retire ? "retired" :
	    "closed", (int)close_at);
	if (a.r != NULL)
		member_close(&a);
	UNTIL(count_keys("test/s/") == 1);
	a = (struct member){ 0 };
}

static void
each(enum want_event event)
{
	struct want w = { .told = told }, x = { 0 };

	close_at = event;
	a = (struct member){ 0 };
	member_up(&a, 0);
	asked_watch(a.e);
	if (event == WANT_BUSY) {
		want(&x, &b, "k", CLAIM_EXCLUSIVE, 0);
		UNTIL(x.granted);
		want(&w, &a, "k", CLAIM_EXCLUSIVE, CLAIM_TRY);
	} else {
		want(&w, &a, "k", CLAIM_EXCLUSIVE, 0);
		UNTIL(w.granted);
	}
	denied = event == WANT_NOT_ANCHORED;
	if (event == WANT_ANCHORED || event == WANT_NOT_ANCHORED)
		claim_anchor(w.c);
	else if (event == WANT_RECALLED)
		want(&x, &b, "k", CLAIM_EXCLUSIVE, 0);
	else if (event == WANT_LEFT)
		claim_leave(w.c);
	else if (event == WANT_FAILED)
		session_delete(&a);
	UNTIL(a.r == NULL || a.retired);
	denied = false;
	finish();
	if (x.c != NULL)
		UNTIL(x.granted);
	want_leave(&x);
}

static void
others(void)
{
	const struct kv_bytes k = { (const uint8_t *)"k", 1 };
	unsigned before = looks;

	a.on_settled = settled;
	member_open(&a, 0);
	UNTIL(a.settled && (a.r == NULL || a.retired));
	finish();
	member_up(&a, 0);
	(void)recipe_look(a.r, k, on_look, &a);
	UNTIL(looks > before);
	finish();
}

int
main(void)
{
	member_begin();
	fake_store_mishaps(member_store, deny, NULL, NULL);
	member_up(&b, 1);
	for (int i = 0; i < 2; i++) {
		retire = i == 1;
		for (int e = WANT_GRANTED; e <= WANT_LEFT; e++)
			each((enum want_event)e);
		others();
	}
	UNTIL(count_keys("test/q/") == 0);
	is((int)count_keys("test/q/"), 0, "nothing is left in the queues");
	member_close(&b);
	member_end();
	return done();
}
