/* SPDX-License-Identifier: MIT */
/* What the files of `leasehold log` share. */
#ifndef TOOLS_VERB_LOG_H
#define TOOLS_VERB_LOG_H

#include "show.h"

struct log_opts {
	struct table_opts table;
	const char *file;	/* NULL: a table */
	const char *key;	/* NULL: of all */
	int64_t since_ms;	/* before now; -1: all */
	const char *at;		/* who held it then; NULL: not asked */
	int grants;		/* 1 on, 0 off, -1 not asked */
	bool follow;
};

/* Of the library: how to ask for what these options mean. */
struct lh_log_opts log_query(const struct log_opts *o);

/* "worker[4711]", "[4711]", "reaper", or "?". */
const char *show_event_who(char buf[PARTY_MAX], const struct lh_log_entry *e);

/* A moment with milliseconds, in local time; as lh_log_entry.epoch_ms. */
#define MOMENT_MAX 48
const char *show_event_moment(char buf[MOMENT_MAX], int64_t epoch_ms);

/* One line of text; an object, or NULL. */
void show_event_print(const struct lh_log_entry *e);
json_t *show_event_json(const struct lh_log_entry *e);

/* log_at.c: who held it at that time?  The exit status. */
int log_at(const struct log_opts *o);

/* The library said `error`; the exit status. */
int log_query_error(const struct log_opts *o, int error);

#endif
