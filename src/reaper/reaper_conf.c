/* SPDX-License-Identifier: MIT */
/*
 * Loads the configuration: defaults, then the file, then the environment, then
 * the command line.  A later source overrides an earlier one.
 * daemon/settings.c reads file and environment.  The key `tables` may appear in
 * the file several times and adds up; any other key only once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>
#include <bsd/string.h>
#include <leasehold/error.h>
#include "reaper_conf.h"
#include "daemon/settings.h"
#include "shm/table_object.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"

#define TICK_MAX_MS 60000

static int
add_table(struct conf *c, const char *key, const char *name)
{
	char path[PATH_MAX];

	if (strcmp(name, "*") == 0) {
		c->all = true;
		return 0;
	}
	if (lhi_object_path(path, sizeof(path), name, c->system) != 0)
		return usage_error("%s: %s", key, lh_error_detail());
	for (unsigned i = 0; i < c->n_tables; i++)
		if (strcmp(c->tables[i], name) == 0)
			return 0;
	if (c->n_tables == TABLES_MAX)
		return usage_error("%s: more than %d tables; serve the others "
		    "with another daemon", key, TABLES_MAX);
	(void)strlcpy(c->tables[c->n_tables++], name, TABLE_NAME_MAX + 1);
	return 0;
}

static void
clear_tables(void *conf)
{
	struct conf *c = conf;

	c->n_tables = 0;
	c->all = false;
}

static int
set_tables(void *conf, const char *key, const char *value)
{
	char *list = strdup(value), *rest = list, *name;
	unsigned n = 0;
	int e = list == NULL ? usage_error("out of memory") : 0;

	while (e == 0 && (name = strsep(&rest, ", \t")) != NULL) {
		if (*name == '\0')
			continue;
		n++;
		e = add_table(conf, key, name);
	}
	free(list);
	if (e == 0 && n == 0)
		e = usage_error("%s: no table is named; write names, or * "
		    "for all tables",
		    key);
	return e;
}

static int
set_system(void *conf, const char *key, const char *value)
{
	return settings_bool(key, value, &((struct conf *)conf)->system);
}

static int
set_evict_idle(void *conf, const char *key, const char *value)
{
	struct conf *c = conf;

	if (strcasecmp(value, "never") == 0) {
		c->evict_idle_ms = 0;
		return 0;
	}
	if (parse_span(key, value, &c->evict_idle_ms) != 0)
		return -1;
	return c->evict_idle_ms > 0 ? 0 : usage_error("%s: 0 would evict keys "
	    "in use; write a time, or never", key);
}

static int
set_evict_above(void *conf, const char *key, const char *value)
{
	char digits[8];
	size_t n = strlen(value);
	uint64_t percent;

	if (n > 0 && n < sizeof(digits) && value[n - 1] == '%')
		n--;
	if (n >= sizeof(digits))
		n = sizeof(digits) - 1;
	memcpy(digits, value, n);
	digits[n] = '\0';
	if (parse_number(key, digits, 100, &percent) != 0)
		return -1;
	((struct conf *)conf)->evict_above = (unsigned)percent;
	return 0;
}

static int
set_tick_min(void *conf, const char *key, const char *value)
{
	struct conf *c = conf;

	if (parse_span(key, value, &c->tick_min_ms) != 0)
		return -1;
	return c->tick_min_ms >= 1 && c->tick_min_ms <= TICK_MAX_MS ? 0 :
	    usage_error("%s: '%s' is not between 1ms and 60s", key, value);
}

static int
set_metrics(void *conf, const char *key, const char *value)
{
	struct conf *c = conf;

	c->metrics_said = true;
	return settings_socket(key, value, c->metrics, sizeof(c->metrics));
}

static int
set_metrics_mode(void *conf, const char *key, const char *value)
{
	return settings_mode(key, value,
	    &((struct conf *)conf)->metrics_mode);
}

static int
set_log_level(void *conf, const char *key, const char *value)
{
	return settings_log_level(key, value,
	    &((struct conf *)conf)->log_level);
}

static int
set_pidfile(void *conf, const char *key, const char *value)
{
	struct conf *c = conf;

	return settings_file_path(key, value, c->pidfile, sizeof(c->pidfile));
}

static const struct setting keys[] = {
	{ "system", set_system, NULL },
	{ "tables", set_tables, clear_tables },
	{ "evict_idle", set_evict_idle, NULL },
	{ "evict_above", set_evict_above, NULL },
	{ "tick_min", set_tick_min, NULL },
	{ "metrics", set_metrics, NULL },
	{ "metrics_mode", set_metrics_mode, NULL },
	{ "log_level", set_log_level, NULL },
	{ "pidfile", set_pidfile, NULL },
};

static const struct settings settings = { PROGRAM, keys,
    sizeof(keys) / sizeof(keys[0]) };

static int
read_args(struct conf *c, const struct conf_args *args, char *error)
{
	if (args->system)
		c->system = true;
	if (args->verbose)
		c->log_level = LOG_DEBUG;
	if (args->n_tables > 0)
		clear_tables(c);
	for (unsigned i = 0; i < args->n_tables; i++) {
		if (add_table(c, "-t", args->tables[i]) != 0) {
			(void)strlcpy(error, settings_complaint(),
			    CONF_ERROR_MAX);
			return -1;
		}
	}
	return 0;
}

void
reaper_conf_path(char path[PATH_MAX], const struct conf_args *args)
{
	settings_path(path, args->file, PROGRAM, args->system);
}

int
reaper_conf_load(struct conf *conf, const struct conf_args *args,
    char error[CONF_ERROR_MAX])
{
	char path[PATH_MAX];
	struct conf c = { .evict_above = 0, .tick_min_ms = 1,
	    .metrics_mode = 0660, .log_level = LOG_INFO };

	settings_begin();
	reaper_conf_path(path, args);
	if (settings_file(&settings, &c, path, args->file != NULL,
	    error) != 0 || settings_environment(&settings, &c, error) != 0 ||
	    read_args(&c, args, error) != 0)
		return -1;
	if (!c.metrics_said && settings_runtime_path(c.metrics,
	    sizeof(c.metrics), "metrics", PROGRAM, "metrics.sock", error) != 0)
		return -1;
	if (c.pidfile[0] == '\0' && settings_runtime_path(c.pidfile,
	    sizeof(c.pidfile), "pidfile", PROGRAM, "pid", error) != 0)
		return -1;
	if (c.n_tables == 0)
		c.all = true;
	*conf = c;
	return 0;
}
