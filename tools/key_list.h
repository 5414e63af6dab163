/* SPDX-License-Identifier: MIT */
/* Several keys in one argument.  See key_list.c. */
#ifndef TOOLS_KEY_LIST_H
#define TOOLS_KEY_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Removes the next key from *rest and returns it, unescaped in place.  Returns
 * NULL if no key is left (*rest is NULL). */
char *key_list_next(char **rest);

/* True if no backslash is followed by anything but a comma or a backslash. */
bool key_list_is_valid(const char *text);

/* Returns the key in the form used in such a list: allocated, or NULL. */
char *key_list_escape(const char *key);

/*
 * Returns the length of the list's first element, escaped, without its comma.
 */
size_t key_list_span(const char *list);

#endif
