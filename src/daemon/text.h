/* SPDX-License-Identifier: MIT */
/* Formats times, names and ids for people: see text.c. */
#ifndef DAEMON_TEXT_H
#define DAEMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_MAX 255

/* The results contain nothing that moves a cursor. */
#define SPAN_MAX 32
const char *text_span(char buf[SPAN_MAX], int64_t ns);
/* Copies at most len bytes of src, made printable; `name` also doubles
 * backslashes.  Returns the number of bytes written, without the NUL. */
size_t text_clean(char *out, size_t room, const char *src, size_t len,
    bool name);
#define NAME_MAX_TEXT (4 * KEY_MAX + 6)
const char *text_name(char buf[NAME_MAX_TEXT], const char *name);
/* Writes a word that a shell reads as exactly these bytes, at most KEY_MAX. */
#define WORD_MAX (4 * KEY_MAX + 6)
const char *text_word(char buf[WORD_MAX], const char *bytes);
/* Returns how many columns of a terminal the text takes. */
int text_columns(const char *text);
#define LEASE_ID_MAX 33
const char *text_lease_id(char buf[LEASE_ID_MAX], const uint64_t id[2]);

#endif
