/* SPDX-License-Identifier: MIT */
/* The scenarios, by number and by name: see scenario.h. */
#include <errno.h>
#include <string.h>
#include "crash/subject.h"

const int says_stale[] = { -ESTALE, 0 };
const int says_busy[] = { -EAGAIN, 0 };
const int says_late[] = { -ETIMEDOUT, 0 };
const int says_cancelled[] = { -ECANCELED, 0 };
const int says_busy_or_stale[] = { -EAGAIN, -ESTALE, 0 };

int
scenario_count(void)
{
	return n_scenarios_exclusive + n_scenarios_readers + n_scenarios_keys +
	    n_scenarios_reaper;
}

const struct scenario *
scenario_at(int i)
{
	if (i < n_scenarios_exclusive)
		return &scenarios_exclusive[i];
	i -= n_scenarios_exclusive;
	if (i < n_scenarios_readers)
		return &scenarios_readers[i];
	i -= n_scenarios_readers;
	if (i < n_scenarios_keys)
		return &scenarios_keys[i];
	return &scenarios_reaper[i - n_scenarios_keys];
}

const struct scenario scenario_making = {
	.name = "making", .what = "makes a key", .prepare = prep_attach,
	.act = act_key_open
};

const struct scenario *
scenario_find(const char *name)
{
	for (int i = 0; i < scenario_count(); i++)
		if (strcmp(scenario_at(i)->name, name) == 0)
			return scenario_at(i);
	return NULL;
}
