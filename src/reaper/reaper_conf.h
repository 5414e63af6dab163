/* SPDX-License-Identifier: MIT */
/* What the daemon is told to do: see reaper_conf.c and
 * leasehold-reaperd.conf(5). */
#ifndef REAPER_CONF_H
#define REAPER_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/paths.h"
#include "daemon/settings.h"

#define PROGRAM "leasehold-reaperd"
#define TABLES_MAX 256		/* at a time */
#define TABLE_NAME_MAX 64
#define CONF_ERROR_MAX SETTINGS_ERROR_MAX

struct conf {
	bool all;		/* every table there is, and not a list */
	bool system;		/* the machine's tables, not the user's */
	unsigned n_tables;
	char tables[TABLES_MAX][TABLE_NAME_MAX + 1];
	int64_t evict_idle_ms;	/* 0: never */
	unsigned evict_above;	/* percent */
	int64_t tick_min_ms;	/* between two passes over a table */
	char metrics[SOCKET_PATH_MAX];	/* "": no socket */
	bool metrics_said;
	unsigned metrics_mode;
	int log_level;		/* LOG_ERR .. LOG_DEBUG */
	char pidfile[PATH_MAX];
};

/* From the command line: wins over environment and file. */
struct conf_args {
	const char *file;	/* NULL: the usual one, if it is there */
	bool system;
	bool verbose;
	unsigned n_tables;
	const char *tables[TABLES_MAX];
};

/* 0; or -1, with a sentence in error that names what, where and the remedy;
 * *conf is as it was then. */
int reaper_conf_load(struct conf *conf, const struct conf_args *args,
    char error[CONF_ERROR_MAX]);

/* The same sentence's beginning or end: which file would be read. */
void reaper_conf_path(char path[PATH_MAX], const struct conf_args *args);

#endif
