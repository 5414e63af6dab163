/* SPDX-License-Identifier: MIT */
/*
 * history-rejects.c for readers: exclusion, tokens, late releases and notes
 * where leases are shared, change their mode, and keys are evicted.
 */
#include <errno.h>
#include <string.h>

#include "written_history.h"
#include "tap.h"

static void exclusion(void)
{
	struct op *a, *b, *c;

	story();
	a = shared(acq(0, 10, 11, 5, 1000));
	b = shared(acq(1, 12, 13, 6, 1000));
	rel(a, 100, 101, 0);
	rel(b, 90, 91, 0);
	accepts("two readers at a time");
	is_u64(judged.shared, 2, "  who are counted");

	c = acq(2, 14, 95, 7, 1000);
	rejects_also(RULE_OVERLAP, "a writer, when the second has gone");
	c->ret_ns = c->acquired_ns = 100 * MS;
	c->deadline_ns = 1100 * MS;
	accepts("a writer, when both have");
	shared(c)->ret_ns = 20 * MS;
	c->acquired_ns = 20 * MS;
	c->deadline_ns = 1020 * MS;
	accepts("a third reader");

	story();
	a = acq(0, 10, 11, 5, 1000);
	rel(a, 100, 101, 0);
	b = shared(acq(1, 12, 99, 6, 1000));
	rejects_also(RULE_OVERLAP, "a reader while a writer holds");
	b->ret_ns = b->acquired_ns = 100 * MS;
	b->deadline_ns = 1100 * MS;
	accepts("a reader after the writer's release was called");

	story();
	a = acq(0, 10, 11, 5, 1000);
	rel(a, 80, 81, 0);
	b = shared(acq(1, 12, 40, 6, 5));
	b->acquired_ns = 30 * MS;
	b->deadline_ns = 35 * MS;
	rejects_also(RULE_OVERLAP, "a reader who ended before it was reported");
	shared(a);
	accepts("the same beside a reader");
}

static void conversions(void)
{
	struct op *a, *b, *x;

	story();
	a = acq(0, 10, 11, 5, 1000);
	conv(a, LH_SHARED, 20, 22, 0, 6);
	b = shared(acq(1, 12, 21, 7, 1000));
	rel(a, 50, 51, 0);
	accepts("a reader joins while a writer steps down");
	is_u64(judged.downgrades, 1, "  which is counted");
	b->ret_ns = b->acquired_ns = 19 * MS;
	b->deadline_ns = 1019 * MS;
	rejects(RULE_OVERLAP, "a reader joins before");
	b->mode = LH_EXCLUSIVE;
	b->ret_ns = b->acquired_ns = 21 * MS;
	b->deadline_ns = 1021 * MS;
	rejects_also(RULE_OVERLAP, "a writer while a writer steps down");

	story();
	a = shared(acq(0, 10, 11, 5, 1000));
	b = shared(acq(1, 12, 13, 6, 1000));
	x = conv(a, LH_EXCLUSIVE, 20, 22, 0, 7);
	rel(a, 50, 51, 0);
	rel(b, 21, 23, 0);
	accepts("a reader steps up while the other leaves");
	is_u64(judged.upgrades, 1, "  which is counted");
	x->ret_ns = 20 * MS;
	rejects_also(RULE_OVERLAP, "a reader steps up before the other "
	    "leaves");
	x->ret_ns = 22 * MS;
	shared(acq(2, 24, 30, 8, 1000));
	rejects_also(RULE_OVERLAP, "a reader joins one who stepped up");

	story();
	a = shared(acq(0, 10, 11, 5, 1000));
	b = shared(acq(1, 12, 13, 6, 1000));
	conv(a, LH_EXCLUSIVE, 40, 42, -EAGAIN, 0);
	accepts("no step up beside another reader");
	is_u64(judged.upgrades_busy, 1, "  which is counted");
	killed(1, 14, 15);
	rejects(RULE_RESULT, "no step up beside a dead one");
	story();
	a = shared(acq(0, 10, 11, 5, 1000));
	conv(a, LH_EXCLUSIVE, 40, 42, -EAGAIN, 0);
	rejects(RULE_RESULT, "no step up although alone");
	failed(1, HOW_TIMED, 20, 41, 41, -ETIMEDOUT);
	shared(&ops[2]);
	accepts("no step up beside a reader who may have been let in");

	story();
	a = acq(0, 10, 11, 5, 1000);
	conv(a, LH_SHARED, 20, 21, -EAGAIN, 0);
	rejects(RULE_RESULT, "a step down is never busy");

	story();
	a = acq(0, 10, 11, 5, 50);
	x = conv(a, LH_SHARED, 62, 63, 0, 6);
	rejects(RULE_EXPIRY, "converted after the deadline");
	x->call_ns = 60 * MS;
	accepts("converted by a call that began in time");
	x->call_ns = 20 * MS;
	x->ret_ns = 21 * MS;
	x->deadline_ns += MS;
	rejects(RULE_EXPIRY, "a conversion moves the deadline");
	x->deadline_ns -= MS;
	x->token = 5;
	rejects(RULE_TOKEN, "a conversion without a new token");
	x->result = -ESTALE;
	rejects(RULE_EXPIRY, "lost by a conversion before the deadline");

	story();
	a = acq(0, 10, 11, 5, 1000);
	rel(a, 20, 21, 0);
	x = conv(a, LH_SHARED, 30, 31, -ESTALE, 0);
	accepts("a released lease cannot be converted");
	x->result = 0;
	rejects(RULE_EXPIRY, "a released lease is converted");

	story();
	a = acq(0, 10, 11, 5, 1000);
	conv(a, LH_SHARED, 20, 0, 0, 0);
	killed(0, 22, 25);
	b = shared(acq(1, 12, 21, 7, 1000));
	accepts("killed while stepping down: others may read");
	b->mode = LH_EXCLUSIVE;
	b->ret_ns = b->acquired_ns = 19 * MS;
	b->deadline_ns = 1019 * MS;
	rejects(RULE_OVERLAP, "but not write before it began to");

	story();
	a = shared(acq(0, 10, 11, 5, 1000));
	shared(acq(1, 12, 13, 6, 1000));
	conv(a, LH_EXCLUSIVE, 20, 0, 0, 0);
	killed(0, 22, 25);
	accepts("killed while stepping up: others may go on reading");
	acq(2, 14, 21, 7, 1000);
	rejects_also(RULE_OVERLAP, "but none may write");
}

static void copies(void)
{
	struct op *a, *x;

	story();
	a = acq(0, 10, 11, 5, 1000);
	conv(a, LH_SHARED, 20, 21, 0, 6);
	x = about(a, OP_OLD, 30, 31, -ESTALE);
	x->how = OP_RELEASE;
	about(a, OP_VERIFY, 40, 41, 0);
	accepts("a copy from before the conversion is worth nothing");
	is_u64(judged.old, 1, "  which is counted");
	x->result = 0;
	rejects(RULE_RESULT, "it releases");
	x->result = -ESTALE;
	about(a, OP_VERIFY, 42, 43, -ESTALE);
	rejects(RULE_EXPIRY, "it says no, but releases");

	story();
	a = shared(acq(0, 10, 11, 5, 1000));
	rel(a, 20, 21, 0);
	x = about(a, OP_OLD, 30, 31, 0);
	x->how = OP_RELEASE;
	accepts("a copy of what was released is released again");
	x->how = OP_EXTEND;
	rejects(RULE_RESULT, "it is extended");

	story();
	a = shared(acq(0, 10, 11, 5, 1000));
	rel(a, 20, 21, 0);
	x = shared(about(a, OP_VERIFY, 30, 31, 0));
	rejects(RULE_EXPIRY, "a reader's lease holds after its release");
	x->how = HOW_TOKEN;
	accepts("its token may: the reader came back with it");
	x->mode = LH_EXCLUSIVE;
	rejects(RULE_EXPIRY, "a writer's may not");
}

static void tokens(void)
{
	struct op *a, *b, *e;

	story();
	a = shared(acq(0, 10, 11, 7, 1000));
	shared(acq(1, 12, 13, 6, 1000));
	b = shared(acq(2, 14, 15, 7, 1000));
	accepts("readers' tokens in any order, and one of them twice");
	rel(a, 15, 16, 0);
	rel(&ops[1], 15, 16, 0);
	rel(b, 15, 16, 0);
	b = acq(3, 17, 18, 8, 1000);
	accepts("then a writer with a larger one");
	b->token = 5;
	rejects(RULE_TOKEN, "then a writer with a smaller one");

	story();
	a = shared(acq(0, 10, 11, 7, 1000));
	rel(a, 12, 13, 0);
	acq(1, 14, 15, 7, 1000);
	rejects(RULE_TOKEN, "a writer with the token of the reader before");

	story();
	a = acq(0, 10, 11, 6, 1000);
	rel(a, 12, 13, 0);
	b = shared(acq(1, 14, 15, 6, 1000));
	accepts("a reader's token is not smaller than the writer's before");
	b->token = 5;
	rejects(RULE_TOKEN, "a reader's token is smaller");

	story();
	a = acq(0, 10, 11, 6, 1000);
	rel(a, 12, 13, 0);
	e = add(OP_EVICT, 2, 14, 15, 1);
	b = acq(1, 16, 17, 9, 1000);
	accepts("a key is evicted and comes back");
	is_u64(judged.evictions, 1, "  which is counted");
	b->token = 4;
	rejects(RULE_TOKEN, "it comes back with a smaller token");
	b->token = 9;
	e->result = -EUCLEAN;
	rejects(RULE_RESULT, "an eviction fails");
}

static void ends(void)
{
	struct op *a, *b;

	story();
	a = shared(acq(0, 10, 11, 5, 50));
	b = shared(acq(1, 64, 65, 6, 10));
	rel(b, 66, 67, 0);
	rel(a, 90, 91, 0);
	accepts("a reader releases late, after another one was served");
	b->mode = LH_EXCLUSIVE;
	rejects(RULE_EXPIRY, "a reader releases late, after a writer");

	story();
	a = acq(0, 10, 11, 5, 50);
	b = shared(acq(1, 14, 70, 6, 50));
	rejects(RULE_NOTE, "an expiry that is not reported to a reader");
	b->notes = LH_NOTE_PREVIOUS_EXPIRED;
	accepts("an expiry that is reported to a reader");
	shared(acq(2, 14, 71, 6, 50));
	b->notes = 0;
	accepts("no note is due to one of two with one token");
	is_u64(judged.noted, 0, "  since it may have come second");
	story();
	a = acq(0, 10, 11, 5, 50);
	conv(a, LH_SHARED, 14, 15, 0, 6);
	rel(a, 16, 17, 0);
	accepts("nor to one who was there before");
	is_u64(judged.noted, 0, "  as nobody came");
}

static void hear(enum rule rule, const char *text, void *arg)
{
	(void)rule;
	snprintf(arg, 1000, "%s", text);
}

static void telling(void)
{
	char text[1000] = "";
	struct op *a;

	story();
	a = acq(0, 10, 11, 5, 1000);
	rel(a, 20, 0, 0);
	killed(0, 21, 23);
	acq(1, 12, 19, 6, 1000);
	h.around = 8;
	is(history_check(&h, &judged, hear, text), 1, "a violation");
	ok(strstr(text, "release") && strstr(text, "life 0 killed"),
	    "  is reported with the events around it");
}

void readers(void)
{
	exclusion();
	conversions();
	copies();
	tokens();
	ends();
	telling();
}
