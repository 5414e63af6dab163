/* SPDX-License-Identifier: MIT */
/*
 * The shim, with its own end in it: at the Nth passage of a point of its way
 * (lhi_point()) it sends itself a signal.
 *
 *	SHIMD_STEP=POINT:N:SIGNAL	SIGNAL: KILL or STOP
 *	SHIMD_POINTS=FILE		writes each point's name there, once
 *
 * Built with hooks, linked with the daemon's main().
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "prim/shared.h"

#ifdef LHI_HOOKS

static char point[64];
static unsigned n_left;
static int sig;
static FILE *list;
static const char *seen[64];

static void
note(const char *what)
{
	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		if (seen[i] == what)
			return;
		if (seen[i] == NULL) {
			seen[i] = what;
			fprintf(list, "%s\n", what);
			(void)fflush(list);
			return;
		}
	}
}

static void
at(const char *what, const void *addr)
{
	if (strncmp(what, "shim.", 5) != 0 && strncmp(what, "right.", 6) != 0 &&
	    strncmp(what, "cluster.", 8) != 0)
		return;
	if (list != NULL)
		note(what);
	if (n_left > 0 && strcmp(what, point) == 0 && --n_left == 0)
		(void)raise(sig);
}

static void __attribute__((constructor))
begin(void)
{
	const char *step = getenv("SHIMD_STEP"), *file = getenv("SHIMD_POINTS");
	char name[8] = "";

	if (file != NULL)
		list = fopen(file, "we");
	if (step != NULL && sscanf(step, "%63[^:]:%u:%7s", point, &n_left,
	    name) == 3)
		sig = strcmp(name, "STOP") == 0 ? SIGSTOP : SIGKILL;
	lhi_hook = at;
}

#endif
