/* SPDX-License-Identifier: MIT */
/* Reads a daemon's configuration from file and environment: see settings.c. */
#ifndef DAEMON_SETTINGS_H
#define DAEMON_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define SETTINGS_ERROR_MAX 1024
#define EX_BAD_CONFIG 78	/* exit status for a bad configuration
				 * (sysexits.h) */

struct setting {
	const char *name;
	/* Sets the key.  Returns 0, or not 0 after usage_error() with the name
	 * `key`. */
	int (*set)(void *conf, const char *key, const char *value);
	/* If not NULL, the key may be given several times in the file, and this
	 * function clears it. */
	void (*clear)(void *conf);
};

struct settings {
	const char *program;	/* "leasehold-reaperd" */
	const struct setting *all;	/* in the order in which they are set */
	size_t n;			/* <= 32 */
};

/* Read the file and the environment.  settings_begin() must be called before.
 * Each returns 0; or -1 with a sentence in `error` that names place, error and
 * remedy.  A missing file counts as empty, unless must_exist. */
void settings_begin(void);
int settings_file(const struct settings *s, void *conf, const char *path,
    bool must_exist, char error[SETTINGS_ERROR_MAX]);
int settings_environment(const struct settings *s, void *conf,
    char error[SETTINGS_ERROR_MAX]);

/* Returns the first sentence of usage_error() since settings_begin(). */
const char *settings_complaint(void);

/* Writes the path of the configuration file: `file`, or, if that is NULL, the
 * default of the machine or the user. */
void settings_path(char path[PATH_MAX], const char *file, const char *program,
    bool system);

/* Writes the default path of one of the program's own files.  Returns 0; or -1
 * with a sentence in `error`. */
int settings_runtime_path(char *to, size_t room, const char *key,
    const char *program, const char *file, char error[SETTINGS_ERROR_MAX]);

/* Parse values of common kinds.  Each returns 0, or not 0 after
 * usage_error(). */
int settings_bool(const char *key, const char *value, bool *to);
int settings_file_path(const char *key, const char *value, char *to,
    size_t room);
/* A path, or "off", which becomes "". */
int settings_socket(const char *key, const char *value, char *to, size_t room);
int settings_mode(const char *key, const char *value, unsigned *to);
int settings_log_level(const char *key, const char *value, int *to);

#endif
