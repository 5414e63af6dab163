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

static const struct {
	const struct scenario *sc;
	const int *n;
} lists[] = {
#define LIST(file) { scenarios_##file, &n_scenarios_##file },
	SCENARIO_FILES(LIST)
};

#define N_LISTS (sizeof(lists) / sizeof(lists[0]))

int
scenario_count(void)
{
	int n = 0;

	for (unsigned k = 0; k < N_LISTS; k++)
		n += *lists[k].n;
	return n;
}

const struct scenario *
scenario_at(int i)
{
	unsigned k = 0;

	while (k < N_LISTS - 1 && i >= *lists[k].n)
		i -= *lists[k++].n;
	return &lists[k].sc[i];
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
