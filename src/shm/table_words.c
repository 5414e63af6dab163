/* SPDX-License-Identifier: MIT */
/*
 * The options that name a table, for commands in sentences.
 *
 * A sentence that tells which command to use names the table in it.  Without
 * that, the command would be about the table "default", which the person who
 * copies it may have as well.
 *
 * A table's name has letters, digits, dots, hyphens and underscores only
 * (table_path.c), so a shell reads it as it is.
 */
#include <stdio.h>
#include <string.h>
#include "shm/table_dir.h"
#include "shm/table_object.h"
#include "shm/table_words.h"

/* True if that is the name that a command has without --table.  A value of
 * $LEASEHOLD_TABLE is this process's, and perhaps not that of the shell into
 * which the command is copied: then every table is named. */
static bool
is_usual_name(const char *name)
{
	return strcmp(name, "default") == 0 &&
	    strcmp(lhi_object_name(NULL), "default") == 0;
}

const char *
lhi_table_words_of(char buf[TABLE_WORDS_MAX], const char *name,
    bool system_wide)
{
	bool usual = is_usual_name(name) &&
	    (system_wide || !lhi_object_is_system(NULL, 0));

	(void)snprintf(buf, TABLE_WORDS_MAX, "%s%s%.*s", system_wide ?
	    " --system" : "", usual ? "" : " --table ", usual ? 0 :
	    TABLE_LEAF_MAX, name);
	return buf;
}

const char *
lhi_table_words(char buf[TABLE_WORDS_MAX], const char *path)
{
	char name[TABLE_LEAF_MAX];

	lhi_table_dir_beside(name, path, "");
	return lhi_table_words_of(buf, name, lhi_table_dir_is_system(path));
}
