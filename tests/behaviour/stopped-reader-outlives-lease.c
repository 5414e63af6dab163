/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3, G5 and G9: a stopped reader keeps its lease to its deadline
 * and not longer, and so keeps the writer out no longer; another reader is not
 * affected.  When it continues, its extend, verify, convert and release report
 * the loss.
 *
 * Otherwise one stopped reader would keep all writers out.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

static struct lh *lh;
static struct t_actor *s, *other, *w;

static void
all_lost(const char *when)
{
	is(t_do_extend(s, HOUR_MS), -ESTALE, "%s, it cannot extend", when);
	is(t_do_verify(s), -ESTALE, "nor verify");
	is(t_do_convert(s, LH_EXCLUSIVE), -ESTALE, "nor convert");
	is(t_do_convert(s, LH_SHARED), -ESTALE, "to anything");
	is(t_do_release(s), -ESTALE, "nor release");
}

static bool
alone(void *arg)
{
	int64_t took;

	(void)arg;
	is(t_do_read(s, "k", t_long(200), 0), 0, "a reader");
	t_stop(s->pid);
	is(t_try(lh, "k", LH_EXCLUSIVE, 0), -EAGAIN,
	    "stopped, it still has it");
	is(t_try(lh, "k", LH_SHARED, 0), 0, "and shares it");
	is(t_do_acquire(w, "k", HOUR_MS, T_HANG_MS), 0,
	    "after its deadline the writer gets it");
	cmp(w->ended_ns, >=, s->lease.expires_ns, "not before");
	took = t_after_ms(w, s->lease.expires_ns);
	is(w->lease.notes, LH_NOTE_PREVIOUS_EXPIRED, "with the note");
	cmp(w->lease.token, >, s->lease.token, "with a larger token");
	is(lh_verify_token(lh, "k", s->lease.token), -ESTALE,
	    "the stopped one's token is refused");
	t_cont(s->pid);
	all_lost("resumed");
	is(t_do_verify(w), 0, "the writer's lease is as it was");
	is(t_do_release(w), 0, "it releases");
	all_lost("with the key free");
	diag("%lld ms after the deadline", (long long)took);
	return took <= T1_MS;
}

/* Another reader holds on: first before, then behind it in the chain. */
static void
beside_another(bool stopped_is_elder)
{
	struct t_actor *elder = stopped_is_elder ? s : other;
	struct t_actor *younger = stopped_is_elder ? other : s;

	is(t_do_read(elder, "k", elder == s ? t_long(120) : HOUR_MS, 0), 0,
	    "a reader");
	is(t_do_read(younger, "k", younger == s ? t_long(120) : HOUR_MS, 0), 0,
	    "and a younger one");
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	t_stop(s->pid);
	t_sleep_until(s->lease.expires_ns + t_long(20) * T_NS_PER_MS);
	ok(!t_answered(w), "past its deadline the writer waits");
	is(t_holders(lh, "k"), 1, "for the other, alone");
	is(t_do_verify(other), 0, "who holds it");
	t_cont(s->pid);
	all_lost("resumed beside the other");
	is(t_do_verify(other), 0, "who still holds it");
	ok(!t_answered(w), "and keeps the writer out");
	is(t_do_release(other), 0, "and releases");
	is(t_result(w), 0, "then the writer gets it");
	all_lost("with a writer inside");
	is(t_do_verify(w), 0, "who holds it");
	is(t_do_release(w), 0, "and releases");
}

static void
play(void)
{
	const char *table = t_table();

	s = t_actor(table);
	other = t_actor(table);
	w = t_actor(table);
	lh = t_open(table);
	ok(t_tries(3, alone, NULL), "within %lld ms", (long long)T1_MS);
	beside_another(true);
	beside_another(false);
	is(t_do_read(s, "k", HOUR_MS, 0), 0, "it may read anew");
	is(t_do_release(s), 0, "and release");
	t_actor_end(s);
	t_actor_end(other);
	t_actor_end(w);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 120, "stopped reader outlives lease");
	return done();
}
