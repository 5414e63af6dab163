/* SPDX-License-Identifier: MIT */
/* Several keys in one argument.  See key_list.c. */
#ifndef TOOLS_KEY_LIST_H
#define TOOLS_KEY_LIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Takes the next key out of *rest, which is changed: unescaped, in place.
 * NULL: there is none left (*rest is NULL).
 */
char *key_list_next(char **rest);

/* True if no backslash is followed by anything but a comma or a backslash. */
bool key_list_is_valid(const char *text);

/* The key as it stands in such a list; allocated, or NULL. */
char *key_list_escape(const char *key);

/* How long the first element of a list is, escaped, without its comma. */
size_t key_list_span(const char *list);

#endif
