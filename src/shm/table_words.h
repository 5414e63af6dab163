/* SPDX-License-Identifier: MIT */
/* The options that name a table, for commands in sentences: see
 * table_words.c. */
#ifndef LHI_TABLE_WORDS_H
#define LHI_TABLE_WORDS_H

#include <stdbool.h>

/*
 * Returns the options with which a command reaches that table, each after a
 * blank, or "" for the table that it reaches without any.  They end the options
 * of each command that a sentence names.
 */
#define TABLE_WORDS_MAX 128
const char *lhi_table_words_of(char buf[TABLE_WORDS_MAX], const char *name,
    bool system_wide);

/* The same for the table whose object is at `path`. */
const char *lhi_table_words(char buf[TABLE_WORDS_MAX], const char *path);
#define TABLE_WORDS(path) lhi_table_words((char [TABLE_WORDS_MAX]){ "" }, path)

#endif
