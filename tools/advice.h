/* SPDX-License-Identifier: MIT */
/* Commands that a person may copy into a shell.  See advice.c. */
#ifndef TOOLS_ADVICE_H
#define TOOLS_ADVICE_H

#include <stdbool.h>
#include "daemon/text.h"
#include "open_table.h"

#define ADVICE_MAX (WORD_MAX + 256)

/* Returns the command `leasehold VERB ... ARGUMENT` for that table.  `verb` may
 * have options after it.  `argument` is a key or the like of any bytes, or
 * NULL.  `reads`: the verb has --uid. */
const char *advice_command(char buf[ADVICE_MAX], const struct table_opts *table,
    bool reads, const char *verb, const char *argument);

/* The same for a verb that changes the table, and has no argument. */
#define ADVICE(table, verb) \
	advice_command((char [ADVICE_MAX]){ "" }, table, false, verb, NULL)

#endif
