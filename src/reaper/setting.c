/* SPDX-License-Identifier: MIT */
/*
 * The keys of the configuration, and what their values mean.
 *
 * What is wrong with a value is said with say_usage(), as the command's
 * number.c does, which reads the numbers here too; the one of this program
 * keeps the first sentence for whoever knows where the value came from.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <bsd/string.h>
#include <leasehold/error.h>
#include "setting.h"
#include "shm/object.h"
#include "tool.h"

#define TICK_MAX_MS 60000

static char complaint[CONF_ERROR_MAX];

/* Kept is the first one. */
int
say_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (complaint[0] == '\0')
		(void)vsnprintf(complaint, sizeof(complaint), fmt, ap);
	va_end(ap);
	return EX_BAD_USAGE;
}

void
setting_begin(void)
{
	complaint[0] = '\0';
}

const char *
setting_complaint(void)
{
	return complaint;
}

static int
set_bool(const char *key, const char *value, bool *to)
{
	static const char *const words[][2] = {
		{ "no", "yes" }, { "off", "on" }, { "false", "true" },
		{ "0", "1" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		for (int b = 0; b < 2; b++) {
			if (strcasecmp(value, words[i][b]) == 0) {
				*to = b;
				return 0;
			}
		}
	}
	return say_usage("%s: '%s' is neither yes nor no", key, value);
}

int
setting_add_table(struct conf *c, const char *key, const char *name)
{
	char path[PATH_MAX];

	if (strcmp(name, "*") == 0) {
		c->all = true;
		return 0;
	}
	if (lhi_object_path(path, sizeof(path), name, c->system) != 0)
		return say_usage("%s: %s", key, lh_error_detail());
	for (unsigned i = 0; i < c->n_tables; i++)
		if (strcmp(c->tables[i], name) == 0)
			return 0;
	if (c->n_tables == TABLES_MAX)
		return say_usage("%s: more than %d tables: let another daemon "
		    "look after the rest", key, TABLES_MAX);
	(void)strlcpy(c->tables[c->n_tables++], name, TABLE_NAME_MAX + 1);
	return 0;
}

static int
set_tables(struct conf *c, const char *key, const char *value)
{
	char *list = strdup(value), *rest = list, *name;
	unsigned n = 0;
	int e = list == NULL ? say_usage("out of memory") : 0;

	while (e == 0 && (name = strsep(&rest, ", \t")) != NULL) {
		if (*name == '\0')
			continue;
		n++;
		e = setting_add_table(c, key, name);
	}
	free(list);
	if (e == 0 && n == 0)
		e = say_usage("%s: no name of a table; * means all there are",
		    key);
	return e;
}

static int
set_system(struct conf *c, const char *key, const char *value)
{
	return set_bool(key, value, &c->system);
}

static int
set_evict_idle(struct conf *c, const char *key, const char *value)
{
	if (strcasecmp(value, "never") == 0) {
		c->evict_idle_ms = 0;
		return 0;
	}
	if (parse_span(key, value, &c->evict_idle_ms) != 0)
		return -1;
	return c->evict_idle_ms > 0 ? 0 : say_usage("%s: 0 would forget keys "
	    "in use; write never to forget none, or a time", key);
}

static int
set_evict_above(struct conf *c, const char *key, const char *value)
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
	c->evict_above = (unsigned)percent;
	return 0;
}

static int
set_tick_min(struct conf *c, const char *key, const char *value)
{
	if (parse_span(key, value, &c->tick_min_ms) != 0)
		return -1;
	return c->tick_min_ms >= 1 && c->tick_min_ms <= TICK_MAX_MS ? 0 :
	    say_usage("%s: '%s' is not between 1ms and 60s", key, value);
}

static int
set_path(const char *key, const char *value, char *to, size_t room)
{
	if (*value != '/')
		return say_usage("%s: '%s' is not a path from / on", key,
		    value);
	if (strlcpy(to, value, room) >= room)
		return say_usage("%s: a path of more than %zu bytes", key,
		    room - 1);
	return 0;
}

static int
set_metrics(struct conf *c, const char *key, const char *value)
{
	c->metrics[0] = '\0';
	return strcasecmp(value, "off") == 0 ? 0 :
	    set_path(key, value, c->metrics, sizeof(c->metrics));
}

static int
set_metrics_mode(struct conf *c, const char *key, const char *value)
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	if (!isdigit((unsigned char)*value) || *end != '\0' || mode > 0777)
		return say_usage("%s: '%s' is not a mode; write 660, or 666 "
		    "to let everybody read", key, value);
	c->metrics_mode = (unsigned)mode;
	return 0;
}

static int
set_log_level(struct conf *c, const char *key, const char *value)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = {
		{ "error", LOG_ERR }, { "warning", LOG_WARNING },
		{ "info", LOG_INFO }, { "debug", LOG_DEBUG },
	};

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (strcasecmp(value, levels[i].name) == 0) {
			c->log_level = levels[i].level;
			return 0;
		}
	}
	return say_usage("%s: '%s' is none of error, warning, info, debug",
	    key, value);
}

static int
set_pidfile(struct conf *c, const char *key, const char *value)
{
	return set_path(key, value, c->pidfile, sizeof(c->pidfile));
}

/* In an order in which they may be taken from the environment. */
static const struct key {
	const char *name;
	int (*set)(struct conf *c, const char *key, const char *value);
} keys[] = {
	{ "system", set_system },
	{ "tables", set_tables },
	{ "evict_idle", set_evict_idle },
	{ "evict_above", set_evict_above },
	{ "tick_min", set_tick_min },
	{ "metrics", set_metrics },
	{ "metrics_mode", set_metrics_mode },
	{ "log_level", set_log_level },
	{ "pidfile", set_pidfile },
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

const char *
setting_name(unsigned i)
{
	return i < N_KEYS ? keys[i].name : NULL;
}

bool
setting_adds(unsigned i)
{
	return keys[i].set == set_tables;
}

int
setting_set(struct conf *c, unsigned i, const char *key, const char *value)
{
	return keys[i].set(c, key, value);
}

int
setting_unknown(const char *name)
{
	char list[256] = "";

	for (size_t i = 0; i < N_KEYS; i++) {
		(void)strlcat(list, i > 0 ? ", " : "", sizeof(list));
		(void)strlcat(list, keys[i].name, sizeof(list));
	}
	return say_usage("there is no key '%s'; there are %s", name, list);
}
