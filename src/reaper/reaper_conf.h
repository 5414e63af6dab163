/* SPDX-License-Identifier: MIT */
/* The daemon's configuration: see reaper_conf.c and
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
#define TABLES_MAX 256		/* tables served at a time */
#define TABLE_NAME_MAX 64
#define CONF_ERROR_MAX SETTINGS_ERROR_MAX

struct conf {
	bool all;		/* every table, not a list */
	bool system;		/* the machine's tables, not the user's */
	unsigned n_tables;
	char tables[TABLES_MAX][TABLE_NAME_MAX + 1];
	int64_t evict_idle_ms;	/* 0: never */
	unsigned evict_above;	/* percent */
	int64_t tick_min_ms;	/* least time between passes over a table */
	char metrics[SOCKET_PATH_MAX];	/* "": no socket */
	bool metrics_said;
	unsigned metrics_mode;
	int log_level;		/* LOG_ERR .. LOG_DEBUG */
	char pidfile[PATH_MAX];
};

/* Options of the command line, which override environment and file. */
struct conf_args {
	const char *file;	/* NULL: the default file, if it exists */
	bool system;
	bool verbose;
	unsigned n_tables;
	const char *tables[TABLES_MAX];
};

/* Loads the configuration.  Returns 0; or -1 with a sentence in `error`, and
 * leaves *conf unchanged. */
int reaper_conf_load(struct conf *conf, const struct conf_args *args,
    char error[CONF_ERROR_MAX]);

/* Writes the path of the configuration file. */
void reaper_conf_path(char path[PATH_MAX], const struct conf_args *args);

#endif
