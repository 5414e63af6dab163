/* SPDX-License-Identifier: MIT */
/*
 * Does the history checker see what it is there to see?
 *
 * Small histories, written by hand.  The checker must accept some although they
 * look odd (a killed holder, a late stamp, an overtaking that has an excuse).
 * Next to each is a wrong one, which it must reject by exactly the rule that
 * was broken and by no other.  Times are in milliseconds.
 */
#include <errno.h>

#include "written_history.h"
#include "tap.h"

static void exclusion(void)
{
	struct op *a, *b;

	story();
	a = acq(0, 10, 11, 5, 1000);
	rel(a, 20, 22, 0);
	b = acq(1, 12, 21, 6, 1000);
	rel(b, 30, 31, 0);
	accepts("granted between the release's call and its return");

	story();
	a = acq(0, 10, 11, 5, 1000);
	rel(a, 20, 0, 0);
	killed(0, 21, 23);
	b = acq(1, 12, 19, 6, 1000);
	rel(b, 30, 31, 0);
	rejects(RULE_OVERLAP, "granted before the release was called");

	story();
	a = acq(0, 10, 11, 5, 1000);
	rel(a, 20, 22, 0);
	b = acq(1, 12, 19, 6, 1000);
	b->key = 1;
	rel(b, 30, 31, 0);
	accepts("the same on two keys");

	story();
	a = acq(0, 10, 11, 5, 50);
	stopped(0, 20, 200);
	b = acq(1, 12, 62, 6, 1000);
	b->notes = LH_NOTE_PREVIOUS_EXPIRED;
	rel(a, 201, 202, -ESTALE);
	rel(b, 210, 211, 0);
	accepts("a stopped holder's lease runs out");
	is_u64(judged.lost, 1, "  and its late release counts as a loss");

	b->ret_ns = b->acquired_ns = 55 * MS;
	b->deadline_ns = 1055 * MS;
	rejects(RULE_OVERLAP, "the successor comes before the deadline");

	story();
	a = acq(0, 10, 11, 5, 1000);
	killed(0, 20, 25);
	b = acq(1, 12, 23, 6, 1000);
	b->notes = LH_NOTE_PREVIOUS_DIED;
	accepts("a killed holder is succeeded before it is reaped");
	b->ret_ns = b->acquired_ns = 19 * MS;
	b->deadline_ns = 1019 * MS;
	b->notes = 0;
	rejects_also(RULE_OVERLAP, "succeeded before it was killed");

	story();
	a = acq(0, 10, 11, 5, 30);
	ext(a, 20, 21, 0, 100);
	b = acq(1, 12, 60, 6, 10);
	b->notes = LH_NOTE_PREVIOUS_EXPIRED;
	rejects(RULE_OVERLAP, "an extended lease is taken at its old deadline");

	story();
	a = acq(0, 10, 11, 5, 1000);
	rel(a, 80, 81, 0);
	b = acq(1, 12, 40, 4, 5);
	b->acquired_ns = 30 * MS;
	b->deadline_ns = 35 * MS;
	b->ttl_ms = 5;
	rejects_also(RULE_OVERLAP, "a hold that ended before it was reported");

	story();
	a = acq(0, 10, 11, 5, 1000);
	about(a, OP_CLOSE, 20, 21, 0);
	lives[0].gone_ns = 30 * MS;
	acq(1, 12, 20, 6, 1000);
	accepts("a lease ends with its attachment");
}

static void tokens(void)
{
	struct op *a, *b;

	story();
	a = acq(0, 10, 11, 5, 1000);
	rel(a, 12, 13, 0);
	b = acq(1, 14, 15, 5, 1000);
	rejects(RULE_TOKEN, "one token twice");

	b->token = 4;
	rejects(RULE_TOKEN, "a smaller token, later");

	b->call_ns = 9 * MS;
	b->ret_ns = 13 * MS;
	b->acquired_ns = 9 * MS;
	b->deadline_ns = 10 * MS;
	b->ttl_ms = 1;
	a->acquired_ns = 10 * MS;
	a->notes = LH_NOTE_PREVIOUS_EXPIRED;
	accepts("a smaller token for one that may have been served earlier");

	story();
	acq(0, 10, 11, 0, 1000);
	rejects(RULE_TOKEN, "token 0");
	story();
	acq(0, 10, 11, UINT64_C(1) << 63, 1000);
	rejects(RULE_TOKEN, "token 2^63");
}

static void expiry(void)
{
	struct op *a, *b;

	story();
	a = acq(0, 10, 11, 5, 50);
	about(a, OP_VERIFY, 60, 70, 0);
	accepts("verified by a call that began in time");
	story();
	a = acq(0, 10, 11, 5, 50);
	about(a, OP_VERIFY, 62, 63, 0);
	rejects(RULE_EXPIRY, "verified after the deadline");

	story();
	a = acq(0, 10, 11, 5, 50);
	ext(a, 62, 63, 0, 50);
	rejects(RULE_EXPIRY, "extended after the deadline");

	story();
	a = acq(0, 10, 11, 5, 50);
	about(a, OP_VERIFY, 30, 31, -ESTALE);
	rejects(RULE_EXPIRY, "lost before the deadline");

	story();
	a = acq(0, 10, 11, 5, 50);
	ext(a, 30, 31, 0, 100);
	rel(a, 80, 81, -ESTALE);
	rejects(RULE_EXPIRY, "an extended lease lost at its old deadline");

	story();
	a = acq(0, 10, 11, 5, 50);
	rel(a, 90, 91, 0);
	accepts("released late, when nobody had noticed");
	a = acq(1, 62, 63, 6, 10);
	rel(a, 65, 66, 0);
	a->notes = 0;
	rejects(RULE_EXPIRY, "released after a successor was served");

	story();
	a = acq(0, 10, 11, 5, 50);
	a->deadline_ns += 20 * MS;
	rejects(RULE_EXPIRY, "a deadline later than asked");
	a->deadline_ns -= 40 * MS;
	rejects(RULE_EXPIRY, "a deadline 19 ms earlier than asked");
	story();
	a = acq(0, 10, 11, 5, 1000);
	a->deadline_ns -= 20 * MS;
	accepts("the same for a long lease: the coarse clock");
	is(judged.early_most_ns / MS, 19, "  which is reported");
	a->deadline_ns -= 80 * MS;
	rejects(RULE_EXPIRY, "a deadline 99 ms earlier than asked");

	story();
	failed(0, HOW_TIMED, 10, 21, 20, -ETIMEDOUT);
	accepts("a timed wait that was up");
	story();
	failed(0, HOW_TIMED, 10, 19, 20, -ETIMEDOUT);
	rejects(RULE_EXPIRY, "a timed wait that was not");
	story();
	failed(0, HOW_CANCEL, 10, 19, 20, -ECANCELED);
	rejects(RULE_EXPIRY, "cancelled before anybody did");
	story();
	failed(0, HOW_CANCEL, 10, 90, 20, -ECANCELED);
	gaps[0] = (struct gap){ 15 * MS, 80 * MS };
	h.n_gaps = 1;
	accepts("cancelled late");
	is(judged.cancel_longest_ns / MS, 10, "  by what the machine ran");

	story();
	failed(0, HOW_TRY, 10, 11, 10, -EAGAIN);
	b = failed(0, HOW_FOREVER, 12, 13, 0, -EAGAIN);
	rejects(RULE_RESULT, "busy, said to one who would wait");
	b->how = HOW_TIMED;
	b->result = -ENOSPC;
	rejects(RULE_RESULT, "no space");

	story();
	a = acq(0, 10, 11, 5, 50);
	rel(a, 12, 13, 0);
	about(a, OP_AGAIN, 14, 15, 0);
	accepts("released twice");
	about(a, OP_AGAIN, 14, 15, -ESTALE);
	rejects(RULE_RESULT, "a second release that is not success");

	story();
	a = acq(0, 10, 11, 5, 50);
	rel(a, 12, 13, 0);
	about(a, OP_VERIFY, 14, 15, -ESTALE);
	accepts("verified after its release: lost");
	is_u64(judged.posthumous, 1, "  which is counted");
	ext(a, 14, 15, 0, 50);
	rejects(RULE_EXPIRY, "extended after its release");

	story();
	a = failed(0, HOW_TRY, 10, 11, 10, -EAGAIN);
	rel(a, 12, 13, 0);
	rejects(RULE_RESULT, "a lease that was never granted");
}

static void notes(void)
{
	struct op *a, *b;

	story();
	a = acq(0, 10, 11, 5, 50);
	rel(a, 12, 13, 0);
	b = acq(1, 14, 15, 6, 50);
	accepts("no note after a release");
	b->notes = LH_NOTE_PREVIOUS_DIED;
	rejects(RULE_NOTE, "a death that did not happen");

	story();
	acq(0, 10, 11, 5, 1000);
	killed(0, 20, 22);
	acq(1, 14, 30, 6, 50);
	rejects(RULE_NOTE, "a death that is not reported");

	story();
	acq(0, 10, 11, 5, 50);
	acq(1, 14, 70, 6, 50);
	rejects(RULE_NOTE, "an expiry that is not reported");

	story();
	acq(0, 10, 11, 5, 50);
	acq(1, 14, 70, 7, 50);
	accepts("no note where a token is missing between the two");
	is_u64(judged.noted, 0, "  since nothing can be said there");
}

int main(void)
{
	exclusion();
	tokens();
	expiry();
	notes();
	readers();
	idle();
	readers_idle();
	order();
	readers_order();
	writes();
	garbage();
	return done();
}
