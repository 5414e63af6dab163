/* SPDX-License-Identifier: MIT */
/*
 * Loads the configuration: defaults, then the file, then the environment, then
 * the command line.  A later source overrides an earlier one.
 * daemon/settings.c reads file and environment.  shim_main.c and shim_loop.c
 * call it.
 *
 * The default paths of the shim's own files contain the table's name, so that
 * each table can have a shim.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold/error.h>
#include "shim_conf.h"
#include "shim/store/endpoint.h"
#include "shm/table_object.h"
#include "daemon/number.h"
#include "daemon/secret.h"
#include "daemon/usage_error.h"

#define TTL_MIN_MS 1000
#define TTL_MAX_MS 600000
#define TIMEOUT_MS 300	/* at most, if nothing is said */

static int
set_text(const char *key, const char *value, char *to, size_t room)
{
	if (*value == '\0')
		return usage_error("%s: the value is empty", key);
	if (strlcpy(to, value, room) >= room)
		return usage_error("%s: more than %zu bytes", key, room - 1);
	return 0;
}

static int
set_span(const char *key, const char *value, int64_t min_ms, int64_t max_ms,
    int64_t *to)
{
	if (parse_span(key, value, to) != 0)
		return -1;
	return *to >= min_ms && *to <= max_ms ? 0 : usage_error("%s: '%s' is "
	    "not between %lldms and %llds", key, value,
	    (long long)min_ms, (long long)max_ms / 1000);
}

static int
set_count(const char *key, const char *value, uint64_t max, uint64_t *to)
{
	if (parse_number(key, value, max, to) != 0)
		return -1;
	return *to >= 16 ? 0 : usage_error("%s: '%s' is less than 16", key,
	    value);
}

/* A setter for each key, in the order of keys[]. */
#define SETTER(name, how) \
static int \
set_##name(void *conf, const char *key, const char *value) \
{ \
	struct conf *c = conf; \
	return how; \
}

SETTER(system, settings_bool(key, value, &c->system))
SETTER(table, set_text(key, value, c->table, sizeof(c->table)))
SETTER(root, set_text(key, value, c->root, sizeof(c->root)))
SETTER(host, set_text(key, value, c->host, sizeof(c->host)))
SETTER(ttl, set_span(key, value, TTL_MIN_MS, TTL_MAX_MS, &c->ttl_ms))
SETTER(timeout, set_span(key, value, 20, 10000, &c->timeout_ms))
SETTER(hold_min, set_span(key, value, 0, 10000, &c->hold_min_ms))
SETTER(user, set_text(key, value, c->user, sizeof(c->user)))
SETTER(password_file, settings_file_path(key, value, c->password_file,
    sizeof(c->password_file)))
SETTER(ca_file, settings_file_path(key, value, c->ca_file,
    sizeof(c->ca_file)))
SETTER(cert_file, settings_file_path(key, value, c->cert_file,
    sizeof(c->cert_file)))
SETTER(key_file, settings_file_path(key, value, c->key_file,
    sizeof(c->key_file)))
SETTER(socket, settings_file_path(key, value, c->socket, sizeof(c->socket)))
SETTER(socket_mode, settings_mode(key, value, &c->socket_mode))
SETTER(max_clients, set_count(key, value, 1000000, &c->max_clients))
SETTER(max_keys, set_count(key, value, 4000000, &c->max_keys))
SETTER(state_file, settings_file_path(key, value, c->state_file,
    sizeof(c->state_file)))
SETTER(metrics_mode, settings_mode(key, value, &c->metrics_mode))
SETTER(log_level, settings_log_level(key, value, &c->log_level))
SETTER(pidfile, settings_file_path(key, value, c->pidfile,
    sizeof(c->pidfile)))

static int
set_idle(void *conf, const char *key, const char *value)
{
	struct conf *c = conf;

	c->idle_ms = 0;
	return strcmp(value, "off") == 0 ? 0 : set_span(key, value, 1000,
	    INT64_C(30) * 24 * 3600 * 1000, &c->idle_ms);
}

static void
clear_endpoints(void *conf)
{
	((struct conf *)conf)->endpoints[0] = '\0';
}

/* Appends endpoints: several lines add up. */
static int
set_endpoints(void *conf, const char *key, const char *value)
{
	struct conf *c = conf;
	size_t n = strlen(c->endpoints);

	if (n > 0)
		(void)strlcat(c->endpoints, ",", sizeof(c->endpoints));
	n = strlen(c->endpoints);
	return set_text(key, value, c->endpoints + n,
	    sizeof(c->endpoints) - n);
}

static int
set_metrics(void *conf, const char *key, const char *value)
{
	struct conf *c = conf;

	c->metrics_said = true;
	return settings_socket(key, value, c->metrics, sizeof(c->metrics));
}

static const struct setting keys[] = {
	{ "system", set_system, NULL },
	{ "table", set_table, NULL },
	{ "endpoints", set_endpoints, clear_endpoints },
	{ "root", set_root, NULL },
	{ "host", set_host, NULL },
	{ "ttl", set_ttl, NULL },
	{ "timeout", set_timeout, NULL },
	{ "hold_min", set_hold_min, NULL },
	{ "idle", set_idle, NULL },
	{ "user", set_user, NULL },
	{ "password_file", set_password_file, NULL },
	{ "ca_file", set_ca_file, NULL },
	{ "cert_file", set_cert_file, NULL },
	{ "key_file", set_key_file, NULL },
	{ "socket", set_socket, NULL },
	{ "socket_mode", set_socket_mode, NULL },
	{ "max_clients", set_max_clients, NULL },
	{ "max_keys", set_max_keys, NULL },
	{ "state_file", set_state_file, NULL },
	{ "metrics", set_metrics, NULL },
	{ "metrics_mode", set_metrics_mode, NULL },
	{ "log_level", set_log_level, NULL },
	{ "pidfile", set_pidfile, NULL },
};

static const struct settings settings = { PROGRAM, keys,
    sizeof(keys) / sizeof(keys[0]) };

static int __attribute__((format(printf, 2, 3)))
set_error(char error[CONF_ERROR_MAX], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(error, CONF_ERROR_MAX, fmt, ap);
	va_end(ap);
	return -1;
}

/* Reads the password: the first line of password_file. */
static int
read_password(struct conf *c, char error[CONF_ERROR_MAX])
{
	char text[sizeof(c->password) + 1];
	int fd = secret_open(c->password_file, "password_file", error,
	    CONF_ERROR_MAX);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	size_t len;

	if (fd < 0)
		return -1;
	(void)close(fd);
	text[n < 0 ? 0 : n] = '\0';
	len = strcspn(text, "\r\n");
	text[len] = '\0';
	if (len < sizeof(c->password))
		memcpy(c->password, text, len + 1);
	explicit_bzero(text, sizeof(text));
	if (len > sizeof(c->password) - 2)
		return set_error(error, "password_file: the first line of %s "
		    "has more than %zu bytes", c->password_file,
		    sizeof(c->password) - 2);
	return len > 0 ? 0 : set_error(error, "password_file: the first line "
	    "of %s is empty", c->password_file);
}

/* Refuses what the daemon would refuse later, so that -n reports it, too. */
static int
check_cluster(struct conf *c, char error[CONF_ERROR_MAX])
{
	struct endpoints e;
	char why[CONF_ERROR_MAX];
	int fd;

	if (endpoints_parse(&e, c->endpoints, why, sizeof(why)) != 0)
		return set_error(error, "endpoints: %s", why);
	c->in_clear = !e.tls && !endpoints_is_local(&e);
	if (c->key_file[0] == '\0')
		return 0;
	fd = secret_open(c->key_file, "key_file", error, CONF_ERROR_MAX);
	if (fd < 0)
		return -1;
	(void)close(fd);
	return 0;
}

const char *
shim_conf_warning(const struct conf *c)
{
	return c->in_clear && c->user[0] != '\0' ? "the password is sent to "
	    "the cluster unencrypted; use https endpoints" : NULL;
}

/* Writes the default path of the state file. */
static void
state_path(char *to, size_t room, const char *file, bool system)
{
	const char *dir = secure_getenv("STATE_DIRECTORY");
	const char *home = secure_getenv("XDG_STATE_HOME"), *below = "";

	if (home == NULL || *home != '/') {
		home = secure_getenv("HOME");
		below = "/.local/state";
	}
	if (dir != NULL && *dir == '/')
		(void)snprintf(to, room, "%.*s/%s", (int)strcspn(dir, ":"),
		    dir, file);
	else if (geteuid() == 0 || system || home == NULL || *home != '/')
		(void)snprintf(to, room, STATEDIR "/" PROGRAM "/%s", file);
	else
		(void)snprintf(to, room, "%s%s/" PROGRAM "/%s", home, below,
		    file);
}

/* Writes a default path in the runtime directory, with the table's name. */
static int
set_path_beside(char *to, size_t room, const struct conf *c, const char *key,
    const char *end, char error[CONF_ERROR_MAX])
{
	char file[CONF_TEXT_MAX + 16];

	(void)snprintf(file, sizeof(file), "%s.%s", c->table, end);
	return settings_runtime_path(to, room, key, PROGRAM, file, error);
}

/* Fills in the keys that were not set. */
static int
fill_in(struct conf *c, char error[CONF_ERROR_MAX])
{
	char file[CONF_TEXT_MAX + 16];

	if (c->socket[0] == '\0' &&
	    set_path_beside(c->socket, sizeof(c->socket), c, "socket", "sock",
		error) != 0)
		return -1;
	if (!c->metrics_said && set_path_beside(c->metrics, sizeof(c->metrics),
				    c, "metrics", "metrics", error) != 0)
		return -1;
	if (c->pidfile[0] == '\0' &&
	    set_path_beside(c->pidfile, sizeof(c->pidfile), c, "pidfile", "pid",
		error) != 0)
		return -1;
	(void)snprintf(file, sizeof(file), "%s.state", c->table);
	if (c->state_file[0] == '\0')
		state_path(c->state_file, sizeof(c->state_file), file,
		    c->system);
	if (c->socket_mode == 0)
		c->socket_mode = c->system ? 0660 : 0600;
	if (c->host[0] == '\0' &&
	    gethostname(c->host, sizeof(c->host) - 1) != 0)
		(void)strlcpy(c->host, "?", sizeof(c->host));
	return 0;
}

static int
check_conf(struct conf *c, char error[CONF_ERROR_MAX])
{
	char path[PATH_MAX];

	if (c->table[0] == '\0')
		(void)strlcpy(c->table, lhi_object_name(NULL),
		    sizeof(c->table));
	if (lhi_object_path(path, sizeof(path), c->table, c->system) != 0)
		return set_error(error, "table: %s", lh_error_detail());
	if (c->endpoints[0] == '\0')
		return set_error(error, "endpoints is missing: name at least "
		    "one etcd endpoint, for example http://127.0.0.1:2379");
	if ((c->user[0] != '\0') != (c->password_file[0] != '\0'))
		return set_error(error, "user and password_file must be set "
		    "together");
	if ((c->cert_file[0] != '\0') != (c->key_file[0] != '\0'))
		return set_error(error, "cert_file and key_file must be set "
		    "together");
	if (c->timeout_ms == 0)
		c->timeout_ms = c->ttl_ms / 4 < TIMEOUT_MS ? c->ttl_ms / 4 :
		    TIMEOUT_MS;
	if (c->timeout_ms * 4 > c->ttl_ms)
		return set_error(error,
		    "timeout: %lldms is more than a quarter of ttl; reduce "
		    "timeout or raise ttl",
		    (long long)c->timeout_ms);
	if (fill_in(c, error) != 0 || check_cluster(c, error) != 0)
		return -1;
	return c->password_file[0] == '\0' ? 0 : read_password(c, error);
}

void
shim_conf_path(char path[PATH_MAX], const struct conf_args *args)
{
	settings_path(path, args->file, PROGRAM, args->system);
}

int
shim_conf_load(struct conf *conf, const struct conf_args *args,
    char error[CONF_ERROR_MAX])
{
	static struct conf c;
	char path[PATH_MAX];

	c = (struct conf){ .max_clients = 16384, .max_keys = 65536,
	    .root = "leasehold", .ttl_ms = 10000, .timeout_ms = 0,
	    .hold_min_ms = 10, .idle_ms = 600000, .metrics_mode = 0660,
	    .log_level = LOG_INFO };
	settings_begin();
	shim_conf_path(path, args);
	if (settings_file(&settings, &c, path, args->file != NULL,
	    error) != 0 || settings_environment(&settings, &c, error) != 0)
		return -1;
	if (args->system)
		c.system = true;
	if (args->verbose)
		c.log_level = LOG_DEBUG;
	if (args->table != NULL && set_table(&c, "-t", args->table) != 0)
		return set_error(error, "%s", settings_complaint());
	if (args->endpoints != NULL)
		clear_endpoints(&c);
	if (args->endpoints != NULL &&
	    set_endpoints(&c, "-e", args->endpoints) != 0)
		return set_error(error, "%s", settings_complaint());
	if (check_conf(&c, error) != 0)
		return -1;
	*conf = c;
	explicit_bzero(c.password, sizeof(c.password));
	return 0;
}
