/* SPDX-License-Identifier: MIT */
/* Parses values of a daemon's configuration that several keys share. */
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>
#include <syslog.h>
#include <bsd/string.h>
#include "settings.h"
#include "usage_error.h"

int
settings_bool(const char *key, const char *value, bool *to)
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
	return usage_error("%s: '%s' is neither yes nor no", key, value);
}

int
settings_file_path(const char *key, const char *value, char *to, size_t room)
{
	if (*value != '/')
		return usage_error("%s: '%s' is not an absolute path", key,
		    value);
	if (strlcpy(to, value, room) >= room)
		return usage_error("%s: the path has more than %zu bytes", key,
		    room - 1);
	return 0;
}

int
settings_socket(const char *key, const char *value, char *to, size_t room)
{
	to[0] = '\0';
	return strcasecmp(value, "off") == 0 ? 0 :
	    settings_file_path(key, value, to, room);
}

int
settings_mode(const char *key, const char *value, unsigned *to)
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	if (!isdigit((unsigned char)*value) || *end != '\0' || mode > 0777)
		return usage_error("%s: '%s' is not a mode; write for example "
		    "660, or 666 to let everybody read", key, value);
	*to = (unsigned)mode;
	return 0;
}

int
settings_log_level(const char *key, const char *value, int *to)
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
			*to = levels[i].level;
			return 0;
		}
	}
	return usage_error("%s: '%s' is not a level; write error, warning, "
	    "info or debug",
	    key, value);
}
