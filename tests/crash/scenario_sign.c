/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of the second sign of life (src/shm/session_sign.c): made,
 * ended and asked for.  See scenario.h.  Everybody on stage has one.
 */
#include "crash/subject.h"

static const struct scenario scenarios_sign[] = {
	{ .flags = SC_PASSED_ON, .name = "open-passed-on",
	  .what = "open with a second sign of life",
	  .roles = { FOUNDER }, .act = act_open, .finish = finish_plain },
	{ .flags = SC_PASSED_ON | SC_TIGHT, .name = "open-passed-on-over",
	  .what = "... when only records of the dead are left, who had one",
	  .roles = { HOLDER, DEAD_TANGLED, DEAD_WAITER }, .act = act_open,
	  .finish = finish_plain },
	{ .flags = SC_PASSED_ON, .name = "close-passed-on",
	  .what = "close with one, holding nothing", .prepare = prep_warm,
	  .act = act_close, .finish = finish_plain },
	{ .flags = SC_PASSED_ON, .name = "acquire-passed-on",
	  .what = "a dead holder had a second sign, and nobody else has it",
	  .roles = { DEAD_HOLDER }, .stop_ttl_ms = 120, .prepare = prep_warm,
	  .act = act_acquire, .finish = finish_acquire },
};

SCENARIOS(scenarios_sign)
