/* SPDX-License-Identifier: MIT */
/* The scenarios of keys that come and go: see scenario.h. */
#include <errno.h>
#include "crash/subject.h"

const struct scenario scenarios_keys[] = {
	{ .name = "key-open-2", .what = "x", .prepare = prep_attach,
	  .act = act_list, .finish = finish_plain },
};

const int n_scenarios_keys = sizeof(scenarios_keys) /
    sizeof(scenarios_keys[0]);
