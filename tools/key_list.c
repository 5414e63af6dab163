/* SPDX-License-Identifier: MIT */
/*
 * Several keys in one argument: `run` and `acquire` take "a,b" for two keys,
 * and LEASEHOLD_HELD lists keys in the same form.  A comma in a key is written
 * `\,` and a backslash `\\`. A backslash before anything else is refused, so
 * that each list has one meaning.  All other verbs take one key, without
 * escapes.
 */
#include <stdlib.h>
#include <string.h>
#include "key_list.h"

size_t
key_list_span(const char *list)
{
	size_t n = 0;

	while (list[n] != '\0' && list[n] != ',')
		n += list[n] == '\\' && list[n + 1] != '\0' ? 2 : 1;
	return n;
}

bool
key_list_is_valid(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text != '\\')
			continue;
		text++;
		if (*text != ',' && *text != '\\')
			return false;
	}
	return true;
}

char *
key_list_next(char **rest)
{
	char *key = *rest, *from, *to, *end;

	if (key == NULL)
		return NULL;
	end = key + key_list_span(key);
	*rest = *end == ',' ? end + 1 : NULL;
	for (from = to = key; from < end; from++) {
		if (*from == '\\' && from + 1 < end)
			from++;
		*to++ = *from;
	}
	*to = '\0';
	return key;
}

char *
key_list_escape(const char *key)
{
	char *text = malloc(2 * strlen(key) + 1), *to = text;

	if (text == NULL)
		return NULL;
	for (; *key != '\0'; key++) {
		if (*key == ',' || *key == '\\')
			*to++ = '\\';
		*to++ = *key;
	}
	*to = '\0';
	return text;
}
