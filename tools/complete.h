/* SPDX-License-Identifier: MIT */
/* Candidates for the word under the cursor. See complete.c. */
#ifndef TOOLS_COMPLETE_H
#define TOOLS_COMPLETE_H

#include <stddef.h>

/* Access to the table of verbs in leasehold.c. */
struct complete_verbs {
	/* Returns the name of verb i and describes it, or NULL after the last
	 * verb. */
	const char *(*name)(size_t i, const char **what);
	/* Returns the output of the verb's --help, allocated, or NULL if there
	 * is no such verb. */
	char *(*help)(const char *name);
};

/*
 * Prints candidates for the last of `words`, which may be incomplete or "".
 * `words` are those behind "leasehold" up to the cursor.  Returns the exit
 * status.
 */
int complete_words(const struct complete_verbs *verbs, int n, char **words);

#endif
