/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2 and G6, timings T1 to T3: readers wait for a writer and
 * acquire together when it has gone: after a release, past its deadline, and
 * when it is killed.  Soon, with larger tokens, and with the note if it did not
 * release: at least the first reader has it.
 *
 * Otherwise readers would sleep beside a free key.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

#define READERS 3

enum end { RELEASED, EXPIRED, KILLED };

static struct lh *lh;
static struct t_actor *r[READERS];

/* Of the ones who hold it, the one with the smallest token came first. */
static int
first_note(void)
{
	int first = 0;

	for (int i = 1; i < READERS; i++)
		if (r[i]->lease.token < r[first]->lease.token)
			first = i;
	return (int)r[first]->lease.notes;
}

static bool
writer_ends(void *arg)
{
	static const int notes[] = { 0, LH_NOTE_PREVIOUS_EXPIRED,
		LH_NOTE_PREVIOUS_DIED };
	const int64_t bounds[] = { T3_MS, T1_MS, T2_MS };
	enum end how = *(enum end *)arg;
	struct t_actor *w = t_actor(lh_table_name(lh));
	int64_t ttl = how == EXPIRED ? t_long(200) : HOUR_MS;
	int64_t from_ns, worst = 0;
	int waited = 0;

	is(t_do_acquire(w, "k", ttl, 0), 0, "a writer holds it");
	for (int i = 0; i < READERS; i++)
		t_queue(lh, r[i], LH_SHARED, 0, i + 1);
	t_sleep_ms(t_long(10));
	for (int i = 0; i < READERS; i++)
		waited += !t_answered(r[i]);
	is(waited, READERS, "readers wait");
	from_ns = t_now_ns();
	if (how == RELEASED)
		is(t_do_release(w), 0, "it releases");
	else if (how == KILLED)
		t_actor_kill(w);
	else
		from_ns = w->lease.expires_ns;
	for (int i = 0; i < READERS; i++) {
		is(t_result(r[i]), 0, "reader %d enters", i);
		cmp(r[i]->ended_ns, >=, from_ns, "not before");
		cmp(r[i]->lease.token, >, w->lease.token, "larger token");
		if (t_after_ms(r[i], from_ns) > worst)
			worst = t_after_ms(r[i], from_ns);
	}
	is(t_holders(lh, "k"), READERS, "all of them hold it");
	is(first_note(), notes[how], "the first has the note how it ended");
	for (int i = 0; i < READERS; i++)
		is(t_do_release(r[i]), 0, "released");
	if (how == EXPIRED)
		is(t_do_release(w), -ESTALE, "the writer has lost it");
	if (how == KILLED)
		t_actor_free(w);
	else
		t_actor_end(w);
	diag("the last after %lld ms", (long long)worst);
	return worst <= bounds[how];
}

static void
play(void)
{
	static enum end ends[] = { RELEASED, EXPIRED, KILLED };
	const char *table = t_table();

	for (int i = 0; i < READERS; i++)
		r[i] = t_actor(table);
	lh = t_open(table);
	for (int i = 0; i < 3; i++)
		ok(t_tries(3, writer_ends, &ends[i]), "in time");
	for (int i = 0; i < READERS; i++)
		t_actor_end(r[i]);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 190, "reader waits for writer");
	return done();
}
