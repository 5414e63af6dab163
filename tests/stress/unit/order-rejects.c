/* SPDX-License-Identifier: MIT */
/*
 * The other half of history-rejects.c: keys left idle, waiters overtaken, stale
 * writes let in, and histories that are no histories.
 */
#include <errno.h>

#include "written_history.h"
#include "tap.h"

void idle(void)
{
	struct op *a, *b;

	story();
	a = acq(0, 10, 11, 5, 5000);
	rel(a, 100, 101, 0);
	b = acq(1, 20, 280, 6, 50);
	accepts("a waiter is served 179 ms after the release");
	is(judged.idle_longest_ns / MS, 179, "  which is reported");
	b->ret_ns = b->acquired_ns = 310 * MS;
	b->deadline_ns = 360 * MS;
	rejects(RULE_IDLE, "and 209 ms after");
	stopped(1, 150, 250);
	accepts("209 ms, 100 of which it was stopped");
	h.n_stops = 0;
	gaps[0] = (struct gap){ 150 * MS, 160 * MS };
	h.n_gaps = 1;
	accepts("209 ms, in which the machine stood still for 10");

	story();
	acq(0, 10, 11, 5, 300);
	failed(1, HOW_TIMED, 20, 501, 500, -ETIMEDOUT);
	accepts("a wait that is over 189 ms after the deadline");
	ops[1].limit_ns = 530 * MS;
	ops[1].ret_ns = 531 * MS;
	rejects(RULE_IDLE, "and 219 ms after");

	story();
	a = add(OP_ACQUIRE, 0, 10, 0, 0);
	a->how = HOW_FOREVER;
	killed(0, 400, 500);
	b = acq(1, 20, 650, 6, 50);
	accepts("one who was killed inside may have had it until then");
	b->ret_ns = b->acquired_ns = 710 * MS;
	b->deadline_ns = 760 * MS;
	rejects(RULE_IDLE, "but no longer");

	story();
	a = failed(0, HOW_TIMED, 10, 600, 590, -ETIMEDOUT);
	a->ttl_ms = 200;
	stopped(0, 20, 580);
	b = acq(1, 15, 300, 6, 50);
	accepts("one who was stopped inside may have had it for its ttl");
	a->ttl_ms = 20;
	rejects(RULE_IDLE, "but no longer");
}

void order(void)
{
	struct op *first, *freed, *w, *b, *r, *late;

	/* life 0 holds to 100; life 1 waits, was seen; life 2 comes later. */
	story();
	h.fifo = true;
	first = acq(0, 10, 11, 5, 5000);
	freed = rel(first, 100, 101, 0);
	w = acq(1, 20, 102, 6, 5000);
	r = rel(w, 110, 111, 0);
	b = acq(2, 40, 112, 7, 5000);
	late = rel(b, 120, 121, 0);
	seen(1, 25, 30);
	accepts("first come, first served");

	w->token = 7;
	w->ret_ns = w->acquired_ns = 112 * MS;
	w->deadline_ns = 5112 * MS;
	r->call_ns = 113 * MS;
	r->ret_ns = 114 * MS;
	b->token = 6;
	b->ret_ns = b->acquired_ns = 101 * MS;
	b->deadline_ns = 5101 * MS;
	late->call_ns = 110 * MS;
	late->ret_ns = 111 * MS;
	rejects(RULE_ORDER, "overtaken by one who came later");
	h.fifo = false;
	accepts("which is nobody's business unless the table is FIFO");
	is_u64(judged.overtaken_most, 1, "  but is counted");
	h.fifo = true;
	b->priority = 1;
	accepts("overtaken by a higher priority");
	w->priority = 2;
	rejects(RULE_ORDER, "overtaken by a lower priority");
	b->call_ns = 15 * MS;
	rejects(RULE_ORDER, "even if that had come earlier");
	w->priority = 1;
	accepts("overtaken by one of the same who had come earlier");
	b->call_ns = 40 * MS;
	h.n_sightings = 0;
	accepts("overtaken, but nobody saw it wait");
	seen(1, 25, 30);
	stopped(1, 60, 90);
	accepts("overtaken while it was stopped");
	h.n_stops = 0;
	lives[3].session = lives[1].session;
	accepts("overtaken, but it shares its session with another");
	lives[3].session = 103;
	rejects(RULE_ORDER, "and again not");
	freed->call_ns = 90 * MS;
	accepts("overtaken, but the key may have been free for 11 ms");
	is_u64(judged.excused, 1, "  which counts as excused");
}

void readers_idle(void)
{
	struct op *a, *r, *w;

	/* life 0 reads for long; life 1 waits to read, life 2 to write */
	story();
	a = shared(acq(0, 10, 11, 5, 5000));
	r = shared(failed(1, HOW_TIMED, 20, 241, 240, -ETIMEDOUT));
	rejects(RULE_IDLE, "a reader waits beside a reader");
	w = failed(2, HOW_TIMED, 15, 251, 250, -ETIMEDOUT);
	accepts("a reader waits behind a writer who waits");
	r->priority = 1;
	rejects(RULE_IDLE, "a reader waits behind one of lower priority");
	r->priority = 0;
	w->how = HOW_TRY;
	w->limit_ns = 15 * MS;
	w->result = -EAGAIN;
	rejects(RULE_IDLE, "a reader waits while a writer only tries");
	w->how = HOW_FOREVER;
	w->ret_ns = 0;
	killed(2, 30, 35);
	rejects(RULE_IDLE, "a reader waits behind a writer who is dead");
	lives[2].gone_ns = 50 * MS;
	accepts("for 190 ms");
	is(judged.idle_longest_ns / MS, 190, "  which is reported");

	story();
	a = acq(0, 10, 11, 5, 5000);
	failed(1, HOW_TIMED, 20, 241, 240, -ETIMEDOUT);
	shared(&ops[1]);
	accepts("a reader waits for a writer");
	conv(a, LH_SHARED, 25, 26, 0, 6);
	rejects(RULE_IDLE, "a reader waits for one who has stepped down");
	ops[1].mode = LH_EXCLUSIVE;
	accepts("a writer waits for one who has");

	story();
	a = shared(acq(0, 10, 11, 5, 5000));
	conv(a, LH_EXCLUSIVE, 15, 0, 0, 0);
	killed(0, 16, 60);
	shared(failed(1, HOW_TIMED, 20, 241, 240, -ETIMEDOUT));
	accepts("one who was killed stepping up may have been a writer");
	lives[0].gone_ns = 30 * MS;
	shared(acq(3, 10, 11, 6, 5000));
	rejects(RULE_IDLE, "but no longer than it lived");
}

static struct op *served(struct op *op, int64_t at)
{
	op->ret_ns = op->acquired_ns = at * MS;
	op->deadline_ns = (at + op->ttl_ms) * MS;
	return op;
}

void readers_order(void)
{
	struct op *w, *b, *x;

	/* life 0 holds to 100; life 1 was seen waiting; life 2 comes later,
	 * and is served before */
	story();
	rel(acq(0, 10, 11, 5, 5000), 100, 101, 0);
	w = acq(1, 20, 112, 7, 5000);
	b = shared(acq(2, 40, 101, 6, 5000));
	rel(b, 110, 111, 0);
	seen(1, 25, 30);
	rejects(RULE_ORDER, "a new reader overtakes a writer");
	h.barge = true;
	accepts("which the table may allow");
	h.barge = false;
	b->priority = 1;
	accepts("as may its priority");
	b->priority = 0;
	b->call_ns = 29 * MS;
	accepts("a reader who may have come first");
	b->call_ns = 40 * MS;
	stopped(1, 60, 90);
	accepts("a reader overtakes a writer who was stopped");
	h.n_stops = 0;
	shared(w);
	h.fifo = true;
	accepts("a reader overtakes a reader");
	b->mode = LH_EXCLUSIVE;
	rejects(RULE_ORDER, "a new writer overtakes a reader");
	h.fifo = false;
	accepts("which only a FIFO table forbids");
	w->priority = 1;
	rejects(RULE_ORDER, "unless the reader's priority is higher");
	w->priority = 0;
	w->mode = LH_EXCLUSIVE;
	accepts("a newcomer overtakes");
	seen_behind(2, 1, 45, 50);
	rejects(RULE_ORDER, "one who is behind in the queue does");
	shared(b);
	h.barge = true;
	rejects(RULE_ORDER, "and be it a reader, whatever the order");
	shared(w);
	accepts("but a reader behind a reader");

	/* life 1 and 2 were seen waiting to read, in a row */
	story();
	h.fifo = true;
	rel(acq(0, 10, 11, 5, 5000), 100, 101, 0);
	b = shared(served(acq(1, 20, 100, 6, 5000), 100));
	rel(b, 101, 102, 0);
	x = acq(3, 46, 101, 7, 5000);
	rel(x, 110, 111, 0);
	w = shared(acq(2, 40, 112, 8, 5000));
	seen(1, 25, 30);
	seen_behind(2, 1, 45, 50);
	rejects(RULE_ORDER, "a writer between two readers in a row");
	h.n_sightings = 1;
	accepts("who were not seen to be");
	seen(2, 45, 50);
	accepts("or were not in a row");
	h.n_sightings = 1;
	seen_behind(2, 1, 45, 50);
	x->priority = 1;
	accepts("a writer of higher priority");
	x->priority = 0;
	x->call_ns = 5 * MS;
	accepts("or who may have been before both, and too slow");
	x->call_ns = 46 * MS;
	stopped(3, 60, 90);
	accepts("or stopped");
	h.n_stops = 0;
	rejects(RULE_ORDER, "but not if it was neither");
	served(w, 101);
	served(x, 113);
	x->token = 8;
	w->token = 7;
	rel(w, 112, 113, 0);
	ops[4].call_ns = 120 * MS;
	ops[4].ret_ns = 121 * MS;
	accepts("both readers, then the writer");
}

void writes(void)
{
	struct op *a, *b, *x;

	story();
	a = acq(0, 10, 11, 5, 50);
	stopped(0, 20, 100);
	b = acq(1, 14, 70, 6, 50);
	b->notes = LH_NOTE_PREVIOUS_EXPIRED;
	about(b, OP_WRITE, 75, 76, 0);
	x = about(a, OP_WRITE, 101, 102, -ESTALE);
	x->seen = 6;
	accepts("a stale writer is refused");
	is_u64(judged.writes_refused, 1, "  and counted");
	x->result = 0;
	rejects(RULE_WRITE, "a stale writer is let in");
	x->result = -ESTALE;
	x->seen = 5;
	rejects(RULE_WRITE, "refused without a reason");
}

void garbage(void)
{
	story();
	acq(LIVES, 10, 11, 5, 50);
	is(history_check(&h, &judged, NULL, NULL), -EINVAL,
	    "a life out of range");
	story();
	acq(0, 10, 11, 5, 50)->key = 2;
	is(history_check(&h, &judged, NULL, NULL), -EINVAL,
	    "a key out of range");
	story();
	acq(0, 10, 11, 5, 50)->of = CAP;
	is(history_check(&h, &judged, NULL, NULL), -EINVAL,
	    "a record out of range");
}
