/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9, timing T1: a reader past its deadline is out: the
 * waiting writer acquires the key at the deadline, not before, with the note.
 * With several readers, at the last of their deadlines, also if one of them
 * extends or shortens its own.  The lost leases stay lost.
 *
 * Otherwise a stopped reader would keep writers out for ever, or a healthy one
 * would be overtaken.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

#define READERS 3

static struct lh *lh;
static struct t_actor *r[READERS], *w;

enum change { NONE, SHORTEN, EXTEND };

struct shape {
	const char *name;
	int64_t ttl_ms[READERS];
	enum change change;		/* made by the last of them */
};

static bool
at_the_last_deadline(void *arg)
{
	struct shape *s = arg;
	int64_t last_ns = 0, took;

	for (int i = 0; i < READERS; i++)
		is(t_do_read(r[i], "k", t_long(s->ttl_ms[i]), 0), 0,
		    "%s: reader %d", s->name, i);
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	if (s->change == SHORTEN)
		is(t_do_extend(r[READERS - 1], t_long(60)), 0, "shortened");
	if (s->change == EXTEND)
		is(t_do_extend(r[READERS - 1], t_long(300)), 0, "extended");
	for (int i = 0; i < READERS; i++)
		if (r[i]->lease.expires_ns > last_ns)
			last_ns = r[i]->lease.expires_ns;
	is(t_result(w), 0, "the writer gets it");
	cmp(w->ended_ns, >=, last_ns, "not before the last deadline");
	took = t_after_ms(w, last_ns);
	is(w->lease.notes, LH_NOTE_PREVIOUS_EXPIRED, "with the note");
	for (int i = 0; i < READERS; i++) {
		is(t_do_verify(r[i]), -ESTALE, "reader %d has lost it", i);
		is(t_do_extend(r[i], HOUR_MS), -ESTALE, "cannot extend");
		is(t_do_release(r[i]), -ESTALE, "nor release");
		is(lh_verify_token(lh, "k", r[i]->lease.token), -ESTALE,
		    "its token is refused");
	}
	is(t_do_verify(w), 0, "the writer holds");
	is(t_do_release(w), 0, "and releases");
	is(t_do_verify(r[0]), -ESTALE, "which revives nothing");
	diag("%s: %lld ms after the deadline", s->name, (long long)took);
	return took <= T1_MS;
}

/* Nobody waits: status and a try notice the expiry. */
static void
one_by_one(void)
{
	struct lh_lease l;

	is(t_do_read(r[0], "k", t_long(60), 0), 0, "a short lease");
	is(t_do_read(r[1], "k", t_long(160), 0), 0, "a longer one");
	is(t_holders(lh, "k"), 2, "two hold it");
	t_sleep_until(r[0]->lease.expires_ns + T_NS_PER_MS);
	is(lh_status(lh, "k", r[0]->lease.id, t_view_keep,
	    &(struct t_view){ .calls = 0 }), -ESTALE, "the first is out");
	if (t_now_ns() < r[1]->lease.expires_ns - 60 * T_NS_PER_MS) {
		is(t_holders(lh, "k"), 1, "the second holds it");
		is(t_do_verify(r[1]), 0, "which it knows");
		is(t_try(lh, "k", LH_EXCLUSIVE, 0), -EAGAIN, "busy");
	}
	is(t_do_verify(r[0]), -ESTALE, "the first knows, too");
	t_sleep_until(r[1]->lease.expires_ns + T_NS_PER_MS);
	is(t_acquire(lh, "k", HOUR_MS, 0, &l), 0, "then it can be acquired");
	is(l.notes, LH_NOTE_PREVIOUS_EXPIRED, "with the note");
	is(lh_release(lh, &l), 0, "released");
	is(t_do_extend(r[1], HOUR_MS), -ESTALE, "and the second has lost it");
}

static void
play(void)
{
	static struct shape shapes[] = {
		{ "rising", { 60, 90, 120 }, NONE },
		{ "falling", { 120, 90, 60 }, NONE },
		{ "shortened", { 60, 60, 3600000 }, SHORTEN },
		{ "extended", { 60, 60, 80 }, EXTEND },
	};
	const char *table = t_table();

	for (int i = 0; i < READERS; i++)
		r[i] = t_actor(table);
	w = t_actor(table);
	lh = t_open(table);
	for (int i = 0; i < 4; i++)
		ok(t_tries(3, at_the_last_deadline, &shapes[i]),
		    "within %lld ms", (long long)T1_MS);
	one_by_one();
	for (int i = 0; i < READERS; i++)
		t_actor_end(r[i]);
	t_actor_end(w);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 60, "reader expires writer gets it");
	return done();
}
