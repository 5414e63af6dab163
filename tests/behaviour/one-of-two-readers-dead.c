/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G4, timings T2 and T3: one of two readers dies, the older
 * or the younger.  The writer still waits for the other, and acquires the key
 * when that one releases, or dies, too, and then with the note.  A newcomer
 * that only tries sees the same.
 *
 * Otherwise a writer would come in beside the living reader.
 */
#include <errno.h>
#include "readers.h"

static struct lh *lh;

struct shape {
	bool elder_dies, both_die;
};

static bool
one_dies(void *arg)
{
	const char *table = lh_table_name(lh);
	struct t_actor *a = t_actor(table), *b = t_actor(table), *dead, *alive;
	struct t_actor *w = t_actor(table);
	struct shape *s = arg;
	int64_t from_ns, took;

	is(t_do_read(a, "k", HOUR_MS, 0), 0, "a reader");
	is(t_do_read(b, "k", HOUR_MS, 0), 0, "and another");
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	dead = s->elder_dies ? a : b;
	alive = s->elder_dies ? b : a;
	t_actor_kill(dead);
	t_sleep_ms(t_ms(80));
	ok(!t_answered(w), "one killed: the writer waits");
	is(t_try(lh, "k", LH_EXCLUSIVE, 1), -EAGAIN,
	    "a more important newcomer is refused, too");
	is(t_do_verify(alive), 0, "the other holds it");
	is(t_holders(lh, "k"), 1, "alone");
	from_ns = t_now_ns();
	if (s->both_die)
		t_actor_kill(alive);
	else
		is(t_do_release(alive), 0, "the other releases");
	is(t_result(w), 0, "the writer gets it");
	took = t_after_ms(w, from_ns);
	if (s->both_die)
		is(w->lease.notes, LH_NOTE_PREVIOUS_DIED, "with the note");
	cmp(w->lease.token, >, a->lease.token, "with a larger token");
	cmp(w->lease.token, >, b->lease.token, "than either");
	is(t_do_release(w), 0, "and releases");
	t_actor_free(dead);
	if (s->both_die)
		t_actor_free(alive);
	else
		t_actor_end(alive);
	t_actor_end(w);
	diag("after %lld ms", (long long)took);
	return took <= (s->both_die ? T2_MS : T3_MS);
}

/* Nobody waits: the first to try finds out. */
static void
by_trying(void)
{
	const char *table = lh_table_name(lh);
	struct t_actor *a = t_actor(table), *b = t_actor(table);
	struct lh_lease l;

	is(t_do_read(a, "k", HOUR_MS, 0), 0, "a reader");
	is(t_do_read(b, "k", HOUR_MS, 0), 0, "and another");
	t_actor_kill(a);
	t_sleep_ms(t_ms(50));
	for (int i = 0; i < 5; i++)
		is(t_try(lh, "k", LH_EXCLUSIVE, 0), -EAGAIN,
		    "who tries is refused");
	t_actor_kill(b);
	ok(t_until(T2_MS, t_acquire(lh, "k", HOUR_MS, 0, &l) == 0),
	    "until both are dead");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "and has the note");
	is(lh_release(lh, &l), 0, "released");
	t_actor_free(a);
	t_actor_free(b);
}

int
main(void)
{
	static struct shape shapes[] = { { true, false }, { false, false },
		{ true, true }, { false, true } };

	lh = t_open(t_table());
	for (int i = 0; i < 4; i++)
		ok(t_tries(3, one_dies, &shapes[i]), "in time");
	by_trying();
	t_close(lh);
	return done();
}
