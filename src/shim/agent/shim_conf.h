/* SPDX-License-Identifier: MIT */
/* The configuration of the shim: see shim_conf.c and
 * leasehold-shimd.conf(5). */
#ifndef SHIM_CONF_H
#define SHIM_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/paths.h"
#include "daemon/settings.h"

#define PROGRAM "leasehold-shimd"
#define CONF_ERROR_MAX SETTINGS_ERROR_MAX
#define CONF_TEXT_MAX 256

struct conf {
	/* the table and the shim's socket */
	char table[CONF_TEXT_MAX];
	bool system;
	char socket[SOCKET_PATH_MAX];
	unsigned socket_mode;		/* 0: not set */
	uint64_t max_clients, max_keys;
	/* the cluster */
	char endpoints[1024];
	char root[CONF_TEXT_MAX];
	char host[CONF_TEXT_MAX];
	int64_t ttl_ms, timeout_ms, hold_min_ms;
	int64_t idle_ms;		/* 0: never */
	char user[CONF_TEXT_MAX];
	char password_file[PATH_MAX];
	char password[CONF_TEXT_MAX];	/* read from password_file; wiped after
					 * use */
	bool in_clear;			/* some endpoint is remote and uses
					 * http */
	char ca_file[PATH_MAX], cert_file[PATH_MAX], key_file[PATH_MAX];
	char state_file[PATH_MAX];
	/* the daemon */
	char metrics[SOCKET_PATH_MAX];	/* "": no socket */
	bool metrics_said;
	unsigned metrics_mode;
	int log_level;
	char pidfile[PATH_MAX];
};

/* Options of the command line, which override environment and file. */
struct conf_args {
	const char *file;		/* NULL: the default file, if it
					 * exists */
	const char *table, *endpoints;
	bool system, verbose;
};

/* Returns 0; or -1 with a sentence in `error`, and leaves *conf unchanged. */
int shim_conf_load(struct conf *conf, const struct conf_args *args,
    char error[CONF_ERROR_MAX]);

/* Returns a warning about the configuration for the operator, or NULL. */
const char *shim_conf_warning(const struct conf *conf);

/* Writes the path of the configuration file. */
void shim_conf_path(char path[PATH_MAX], const struct conf_args *args);

#endif
