/* SPDX-License-Identifier: MIT */
/*
 * Commands that a person may copy into a shell: what `explain` and errors
 * advise.
 *
 * They reach the same table from another shell, and name the same bytes.  Names
 * of keys and sessions are other people's choice, and root may copy such a
 * line.  So each of them goes through text_word(), and this is the only place
 * that puts one into a command.
 */
#include <stdio.h>
#include <string.h>
#include "advice.h"
#include "daemon/paths.h"

const char *
advice_command(char buf[ADVICE_MAX], const struct table_opts *table, bool reads,
    const char *verb, const char *argument)
{
	char word[WORD_MAX], words[PATHS_TABLE_WORDS_MAX], user[48] = "";
	bool as_user = table->of_user && !reads;

	if (table->of_user)
		(void)snprintf(user, sizeof(user), as_user ?
		    "setpriv --reuid %u " : " --uid %u", (unsigned)table->uid);
	(void)paths_table_words(words, open_table_name(table), table->system);
	(void)snprintf(buf, ADVICE_MAX, "%sleasehold %s%s%s%s%s",
	    as_user ? user : "", verb, as_user ? "" : user, words,
	    argument == NULL ? "" : argument[0] == '-' ? " -- " : " ",
	    argument == NULL ? "" : text_word(word, argument));
	return buf;
}
