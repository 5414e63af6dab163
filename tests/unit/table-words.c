/* SPDX-License-Identifier: MIT */
/*
 * The options in a command that a sentence advises reach its table: only the
 * table that is reached without any is not named.
 *
 * Otherwise the command, copied, would repair, remove or break something in
 * another table.
 */
#include <stdlib.h>
#include "shm/table_words.h"
#include "support/support.h"
#include "tap.h"

static void
is_words(const char *name, bool system_wide, const char *words,
    const char *what)
{
	char buf[TABLE_WORDS_MAX];

	is_str(lhi_table_words_of(buf, name, system_wide), words, "%s", what);
}

int
main(void)
{
	char buf[TABLE_WORDS_MAX];

	(void)unsetenv("LEASEHOLD_TABLE");
	(void)unsetenv("LEASEHOLD_SYSTEM");
	is_words("default", false, "", "the table without options");
	is_words("other", false, " --table other", "another one");
	is_words("default", true, " --system", "the machine's");
	is_words("other", true, " --system --table other", "another of these");
	(void)setenv("LEASEHOLD_SYSTEM", "1", 1);
	is_words("default", false, " --table default",
	    "the own one where the machine's is usual");
	is_words("default", true, " --system", "the machine's there");
	(void)setenv("LEASEHOLD_TABLE", "other", 1);
	is_words("default", true, " --system --table default",
	    "where another table is usual");
	(void)unsetenv("LEASEHOLD_SYSTEM");
	is_words("default", false, " --table default", "  the own one");
	is_words("other", false, " --table other", "  that one");
	(void)unsetenv("LEASEHOLD_TABLE");
	is_str(lhi_table_words(buf, "/dev/shm/leasehold.7/a.b.table"),
	    " --table a.b", "by its path");
	is_str(lhi_table_words(buf, "/dev/shm/leasehold.system/a.table"),
	    " --system --table a", "  the machine's");
	return done();
}
