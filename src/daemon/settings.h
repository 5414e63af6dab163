/* SPDX-License-Identifier: MIT */
/* Keys of a daemon's configuration, from file and environment: settings.c. */
#ifndef DAEMON_SETTINGS_H
#define DAEMON_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define SETTINGS_ERROR_MAX 1024
#define EX_BAD_CONFIG 78	/* the exit status then: sysexits.h */

struct setting {
	const char *name;
	/* 0; or not, after usage_error() about what it calls `key` */
	int (*set)(void *conf, const char *key, const char *value);
	/* NULL; or it may be given several times in the file, and this forgets
	 * what was said about it */
	void (*clear)(void *conf);
};

struct settings {
	const char *program;	/* "leasehold-reaperd" */
	const struct setting *all;	/* in the order to set them in */
	size_t n;			/* <= 32 */
};

/*
 * Each: 0; or -1, with a sentence in error that names what, where and the
 * remedy.  `begin` comes before them.  A file that is not there is as an empty
 * one, but if it must_exist.
 */
void settings_begin(void);
int settings_file(const struct settings *s, void *conf, const char *path,
    bool must_exist, char error[SETTINGS_ERROR_MAX]);
int settings_environment(const struct settings *s, void *conf,
    char error[SETTINGS_ERROR_MAX]);

/* The first complaint of usage_error() since the beginning. */
const char *settings_complaint(void);

/* Where the file is: `file`; if that is NULL as usually, the machine's or the
 * user's. */
void settings_path(char path[PATH_MAX], const char *file, const char *program,
    bool system);

/* Where the program's own files go, for a key of which nobody says it: 0; or
 * -1, and the remedy. */
int settings_runtime_path(char *to, size_t room, const char *key,
    const char *program, const char *file, char error[SETTINGS_ERROR_MAX]);

/* Values of the usual kinds: 0, or not after usage_error(). */
int settings_bool(const char *key, const char *value, bool *to);
int settings_file_path(const char *key, const char *value, char *to,
    size_t room);
/* Or "off": "". */
int settings_socket(const char *key, const char *value, char *to, size_t room);
int settings_mode(const char *key, const char *value, unsigned *to);
int settings_log_level(const char *key, const char *value, int *to);

#endif
