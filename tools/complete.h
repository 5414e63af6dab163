/* SPDX-License-Identifier: MIT */
/* Candidates for the word under the cursor: see complete.c. */
#ifndef TOOLS_COMPLETE_H
#define TOOLS_COMPLETE_H

#include <stddef.h>

/* The verbs, of which leasehold.c has the table. */
struct complete_verbs {
	/* Returns the name of verb i, and what it does, or NULL after the last
	 * one. */
	const char *(*name)(size_t i, const char **what);
	/* Returns what the verb's --help prints, allocated, or NULL: no such
	 * verb. */
	char *(*help)(const char *name);
};

/*
 * words: those behind "leasehold" up to the cursor; the last one is begun, or
 * "".  Prints candidates for it.  Returns the exit status.
 */
int complete_words(const struct complete_verbs *verbs, int n, char **words);

#endif
