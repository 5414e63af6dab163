/* SPDX-License-Identifier: MIT */
/* The scenarios, by number and by name: see scenario.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "crash/jobs.h"
#include "crash/subject.h"

const int says_stale[] = { -ESTALE, 0 };
const int says_busy[] = { -EAGAIN, 0 };
const int says_late[] = { -ETIMEDOUT, 0 };
const int says_cancelled[] = { -ECANCELED, 0 };
const int says_busy_or_stale[] = { -EAGAIN, -ESTALE, 0 };

static const struct scenario *all[JOBS_SCENARIOS];
static int n_all;

/* Before main(). */
void
scenario_add(const struct scenario *some, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (n_all == JOBS_SCENARIOS)
			abort();
		all[n_all++] = &some[i];
	}
}

int
scenario_count(void)
{
	return n_all;
}

const struct scenario *
scenario_at(int i)
{
	return all[i];
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
