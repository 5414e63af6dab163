/* SPDX-License-Identifier: MIT */
/*
 * The configuration: defaults, then the file, then the environment, then the
 * command line; each says what it says about a key, and the last one counts.
 *
 * The file is read with inih, whole, before anything is done: the first thing
 * in it that is not understood is an error that names file, line and remedy,
 * and then nothing is taken over.  So a daemon that is told to read it again
 * goes on as it was.  inih cuts lines that are too long for it, takes what
 * follows for a line, and an indented line for more of the one before; so it
 * gets them from a function of ours, which counts them, refuses long ones, and
 * takes indents away.
 *
 * A key is also an environment variable: evict_idle is
 * LEASEHOLD_REAPERD_EVICT_IDLE.  `tables` may be given in the file several
 * times and adds up there; any other key only once.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include <bsd/string.h>
#include "conf.h"
#include "setting.h"
#include "tool.h"

#define ENV_PREFIX "LEASEHOLD_REAPERD_"

static int __attribute__((format(printf, 2, 3)))
fail(char error[CONF_ERROR_MAX], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(error, CONF_ERROR_MAX, fmt, ap);
	va_end(ap);
	return -1;
}

/* A file while it is read. */
struct source {
	FILE *file;
	struct conf *conf;
	int line;
	int bad_line;		/* what the complaint is about; 0: none */
	uint32_t seen;		/* bits of keys */
};

static void
refuse(struct source *s)
{
	if (s->bad_line == 0)
		s->bad_line = s->line;
}

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
	(void)say_usage("the line has more than %d bytes, or a NUL in it: "
	    "give tables on several lines, each with its own 'tables ='",
	    room - 2);
	refuse(s);
	while ((c = getc(s->file)) != EOF && c != '\n')
		;
	return line;
}

/* inih wants 1 for good. */
static int
take(void *arg, const char *section, const char *name, const char *value)
{
	struct source *s = arg;
	int e = 0;
	const char *key;
	unsigned i;

	if (s->bad_line != 0)
		return 1;
	for (i = 0; (key = setting_name(i)) != NULL; i++)
		if (strcmp(key, name) == 0)
			break;
	if (*section != '\0')
		e = say_usage("there are no sections: take the line [%s] out",
		    section);
	else if (key == NULL)
		e = setting_unknown(name);
	else if (s->seen >> i & 1 && !setting_adds(i))
		e = say_usage("%s: given before: keep one of them", name);
	else
		e = setting_set(s->conf, i, name, value);
	if (key != NULL)
		s->seen |= 1u << i;
	if (e != 0)
		refuse(s);
	return e == 0;
}

/* 0; or -1 and a sentence. */
static int
read_file(struct conf *c, const char *path, bool must_exist, char *error)
{
	struct source s = { .conf = c };
	bool failed;
	int bad;

	s.file = fopen(path, "re");
	if (s.file == NULL) {
		if (errno == ENOENT && !must_exist)
			return 0;
		return fail(error, "cannot read the configuration %s: %s",
		    path, strerror(errno));
	}
	bad = ini_parse_stream(next_line, &s, take, &s);
	failed = ferror(s.file);
	(void)fclose(s.file);
	if (failed)	/* a directory, say */
		return fail(error, "cannot read the configuration %s: is it a "
		    "file?", path);
	if (s.bad_line == 0 || (bad > 0 && bad < s.bad_line))
		return bad == 0 ? 0 : fail(error, "%s:%d: not understood: "
		    "write KEY = VALUE, or # before a remark", path, bad);
	return fail(error, "%s:%d: %s", path, s.bad_line, setting_complaint());
}

static int
read_environment(struct conf *c, char *error)
{
	const char *key, *value;

	for (unsigned i = 0; (key = setting_name(i)) != NULL; i++) {
		char name[64] = ENV_PREFIX;
		size_t n = strlen(name);

		for (const char *p = key; *p != '\0'; p++)
			name[n++] = (char)toupper((unsigned char)*p);
		name[n] = '\0';
		value = getenv(name);
		if (value == NULL)
			continue;
		if (setting_adds(i)) {
			c->n_tables = 0;
			c->all = false;
		}
		if (setting_set(c, i, name, value) != 0)
			return fail(error, "environment: %s",
			    setting_complaint());
	}
	return 0;
}

static int
read_args(struct conf *c, const struct conf_args *args, char *error)
{
	if (args->system)
		c->system = true;
	if (args->verbose)
		c->log_level = LOG_DEBUG;
	if (args->n_tables > 0) {
		c->n_tables = 0;
		c->all = false;
	}
	for (unsigned i = 0; i < args->n_tables; i++)
		if (setting_add_table(c, "-t", args->tables[i]) != 0)
			return fail(error, "%s", setting_complaint());
	return 0;
}

void
conf_path(char path[PATH_MAX], const struct conf_args *args)
{
	const char *home = getenv("XDG_CONFIG_HOME"), *below = "";

	if (args->file != NULL) {
		(void)strlcpy(path, args->file, PATH_MAX);
		return;
	}
	if (home == NULL || *home != '/') {
		home = getenv("HOME");
		below = "/.config";
	}
	if (geteuid() == 0 || args->system || home == NULL || *home != '/')
		(void)snprintf(path, PATH_MAX, "%s/leasehold-reaperd.conf",
		    SYSCONFDIR);
	else
		(void)snprintf(path, PATH_MAX, "%s%s/leasehold-reaperd.conf",
		    home, below);
}

/* Where our own files go unless somebody says. */
static void
runtime_path(char *to, size_t room, const char *file)
{
	const char *dir = getenv("RUNTIME_DIRECTORY");
	const char *home = getenv("XDG_RUNTIME_DIR");

	if (dir != NULL && *dir == '/')
		(void)snprintf(to, room, "%.*s/%s", (int)strcspn(dir, ":"),
		    dir, file);
	else if (geteuid() != 0 && home != NULL && *home == '/')
		(void)snprintf(to, room, "%s/leasehold-reaperd/%s", home, file);
	else if (geteuid() == 0)
		(void)snprintf(to, room, "/run/leasehold-reaperd/%s", file);
	else
		(void)snprintf(to, room, "/tmp/leasehold-reaperd.%u/%s",
		    (unsigned)geteuid(), file);
}

int
conf_load(struct conf *conf, const struct conf_args *args,
    char error[CONF_ERROR_MAX])
{
	char path[PATH_MAX];
	struct conf c = { .evict_above = 0, .tick_min_ms = 1,
	    .metrics_mode = 0660, .log_level = LOG_INFO };

	setting_begin();
	runtime_path(c.metrics, sizeof(c.metrics), "metrics.sock");
	runtime_path(c.pidfile, sizeof(c.pidfile), "pid");
	conf_path(path, args);
	if (read_file(&c, path, args->file != NULL, error) != 0 ||
	    read_environment(&c, error) != 0 ||
	    read_args(&c, args, error) != 0)
		return -1;
	if (c.n_tables == 0)
		c.all = true;
	*conf = c;
	return 0;
}
