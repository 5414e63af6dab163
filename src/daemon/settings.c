/* SPDX-License-Identifier: MIT */
/*
 * Reads a daemon's configuration: the file, then the environment, which
 * overrides the file.  shim_conf.c and reaper_conf.c call it.
 *
 * inih parses the file completely before anything takes effect.  The first
 * error names file, line and remedy, and then the caller must not use the
 * result.  So a daemon that reads it again keeps its old settings.
 *
 * inih cuts long lines and parses the rest as another line, and appends an
 * indented line to the one before.  So it gets its lines from next_line(),
 * which counts them, refuses long ones, and removes indents.
 *
 * Each key is also an environment variable: evict_idle of leasehold-reaperd is
 * LEASEHOLD_REAPERD_EVICT_IDLE.
 *
 * Errors of values are reported through usage_error(), as in number.c, which
 * parses the numbers.  In a daemon the first sentence is kept for the caller,
 * which knows where the value came from.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bsd/string.h>
#include "secret.h"
#include "settings.h"
#include "usage_error.h"

static char complaint[SETTINGS_ERROR_MAX];

static void
keep_first(const char *sentence)
{
	if (complaint[0] == '\0')
		(void)strlcpy(complaint, sentence, sizeof(complaint));
}

void
settings_begin(void)
{
	complaint[0] = '\0';
	usage_error_to(keep_first);
}

const char *
settings_complaint(void)
{
	return complaint;
}

static int __attribute__((format(printf, 2, 3)))
set_error(char error[SETTINGS_ERROR_MAX], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(error, SETTINGS_ERROR_MAX, fmt, ap);
	va_end(ap);
	return -1;
}

/* A file that is being read. */
struct source {
	const struct settings *settings;
	FILE *file;
	void *conf;
	int line;
	int bad_line;		/* line of the first error; 0: none */
	uint32_t seen;		/* bit i: key i was given */
};

static void
note_line_error(struct source *s)
{
	if (s->bad_line == 0)
		s->bad_line = s->line;
}

/* Reads the next line for inih. */
static char *
next_line(char *line, int room, void *arg)
{
	struct source *s = arg;
	size_t n;
	int c;

	if (fgets(line, room, s->file) == NULL)
		return NULL;
	s->line++;
	n = strlen(line);
	if (n > 0 && (line[n - 1] == '\n' || feof(s->file))) {
		size_t indent = strspn(line, " \t");

		memmove(line, line + indent, n + 1 - indent);
		return line;
	}
	(void)usage_error("the line has more than %d bytes, or contains a NUL; "
	    "write a long list on several lines, each with its own 'KEY ='",
	    room - 2);
	note_line_error(s);
	while ((c = getc(s->file)) != EOF && c != '\n')
		;
	return line;
}

static int
refuse_key(const struct settings *of, const char *name)
{
	char list[512] = "";

	for (size_t i = 0; i < of->n; i++) {
		(void)strlcat(list, i > 0 ? ", " : "", sizeof(list));
		(void)strlcat(list, of->all[i].name, sizeof(list));
	}
	return usage_error("there is no key '%s'; the keys are %s", name, list);
}

/* Sets a key from the file.  Returns 1 on success, as inih requires. */
static int
set_key(void *arg, const char *section, const char *name, const char *value)
{
	struct source *s = arg;
	const struct settings *of = s->settings;
	const struct setting *key = NULL;
	uint32_t bit = 1;
	int e = 0;

	if (s->bad_line != 0)
		return 1;
	for (size_t i = 0; i < of->n && key == NULL; i++) {
		if (strcmp(of->all[i].name, name) == 0) {
			key = &of->all[i];
			bit <<= i;
		}
	}
	if (*section != '\0')
		e = usage_error("section [%s]: there are no sections here; "
		    "remove the line",
		    section);
	else if (key == NULL)
		e = refuse_key(of, name);
	else if ((s->seen & bit) && key->clear == NULL)
		e = usage_error("%s: already set on an earlier line; remove "
		    "one of the two", name);
	else
		e = key->set(s->conf, name, value);
	if (key != NULL)
		s->seen |= bit;
	if (e != 0)
		note_line_error(s);
	return e == 0;
}

int
settings_file(const struct settings *of, void *conf, const char *path,
    bool must_exist, char error[SETTINGS_ERROR_MAX])
{
	struct source s = { .settings = of, .conf = conf };
	char why[SETTINGS_ERROR_MAX];
	bool failed;
	int bad;

	s.file = fopen(path, "re");
	if (s.file == NULL) {
		if (errno == ENOENT && !must_exist)
			return 0;
		return set_error(error, "cannot read the configuration %s: %s",
		    path, strerror(errno));
	}
	if (!secret_is_own_file(fileno(s.file), path, why, sizeof(why))) {
		(void)fclose(s.file);
		return set_error(error, "the configuration: %s", why);
	}
	bad = ini_parse_stream(next_line, &s, set_key, &s);
	failed = ferror(s.file);
	(void)fclose(s.file);
	if (failed)	/* for example a directory */
		return set_error(error,
		    "cannot read the configuration %s: it is no regular file",
		    path);
	if (s.bad_line == 0 || (bad > 0 && bad < s.bad_line))
		return bad == 0 ? 0 : set_error(error, "%s:%d: invalid line; "
		    "write KEY = VALUE, or a comment that begins with #",
		    path, bad);
	return set_error(error, "%s:%d: %s", path, s.bad_line, complaint);
}

/* LEASEHOLD_REAPERD_EVICT_IDLE */
static void
environment_name(char *name, size_t room, const char *program, const char *key)
{
	(void)snprintf(name, room, "%s_%s", program, key);
	for (char *p = name; *p != '\0'; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
}

int
settings_environment(const struct settings *of, void *conf,
    char error[SETTINGS_ERROR_MAX])
{
	for (size_t i = 0; i < of->n; i++) {
		const struct setting *key = &of->all[i];
		const char *value;
		char name[64];

		environment_name(name, sizeof(name), of->program, key->name);
		value = secure_getenv(name);
		if (value == NULL)
			continue;
		if (key->clear != NULL)
			key->clear(conf);
		if (key->set(conf, name, value) != 0)
			return set_error(error, "environment: %s", complaint);
	}
	return 0;
}

void
settings_path(char path[PATH_MAX], const char *file, const char *program,
    bool system)
{
	const char *home = secure_getenv("XDG_CONFIG_HOME"), *below = "";

	if (home == NULL || *home != '/') {
		home = secure_getenv("HOME");
		below = "/.config";
	}
	if (file != NULL)
		(void)strlcpy(path, file, PATH_MAX);
	else if (geteuid() == 0 || system || home == NULL || *home != '/')
		(void)snprintf(path, PATH_MAX, "%s/%s.conf", SYSCONFDIR,
		    program);
	else
		(void)snprintf(path, PATH_MAX, "%s%s/%s.conf", home, below,
		    program);
}

int
settings_runtime_path(char *to, size_t room, const char *key,
    const char *program, const char *file, char error[SETTINGS_ERROR_MAX])
{
	const char *dir = secure_getenv("RUNTIME_DIRECTORY");
	const char *home = secure_getenv("XDG_RUNTIME_DIR");
	int n;

	if (dir != NULL && *dir == '/')
		n = snprintf(to, room, "%.*s/%s", (int)strcspn(dir, ":"),
		    dir, file);
	else if (geteuid() != 0 && home != NULL && *home == '/')
		n = snprintf(to, room, "%s/%s/%s", home, program, file);
	else if (geteuid() == 0)
		n = snprintf(to, room, "/run/%s/%s", program, file);
	else
		n = snprintf(to, room, "/tmp/%s.%u/%s", program,
		    (unsigned)geteuid(), file);
	if (n >= 0 && (size_t)n < room)
		return 0;
	return set_error(error,
	    "%s: the default path, %.200s..., has more than %zu bytes; set "
	    "another path",
	    key, to, room - 1);
}
