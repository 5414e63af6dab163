/* SPDX-License-Identifier: MIT */
/*
 * Shows bytes that somebody else chose (names of keys, sessions and programs)
 * in sentences, and in commands that a person may copy into a shell.  This is
 * the only place that does either; the command and the daemons use it as well
 * (daemon/text.c).
 *
 * A name may contain any byte but NUL.  Characters that are printable in the
 * locale are shown unchanged, if they take up room and are no blanks but the
 * space: others are not seen, or change the order of what is.  Every other byte
 * is shown as \xNN, and a backslash as \\.  So two names look different if
 * their letters do, and no name moves the cursor.
 *
 * A word for a shell is in single quotes, 'it'\''s'.  If a byte of it is not
 * printable, \xNN would be another name there.  So such a word is written as
 * $'a\nb', which bash, zsh and ksh know, as does POSIX since 2024.  Other bytes
 * are three octal digits in it: after \x some shells read more than two digits.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>
#include "base/printable.h"

/* (U+00A0 is a space, and U+00AD a hyphen that is mostly not shown.) */
static bool
is_seen(wchar_t wide)
{
	return iswprint((wint_t)wide) && wcwidth(wide) > 0 &&
	    (wide == L' ' || !iswspace((wint_t)wide)) &&
	    wide != 0xa0 && wide != 0xad;
}

/* Returns the length of the printable character at p; 0: there is none. */
static size_t
printable_len(const char *p, const char *end, wchar_t *wide)
{
	mbstate_t state;
	size_t n;

	memset(&state, 0, sizeof(state));
	n = mbrtowc(wide, p, (size_t)(end - p), &state);
	return n == (size_t)-1 || n == (size_t)-2 || n > 4 ||
	    !is_seen(*wide) ? 0 : n;
}

size_t
lhi_printable_copy(char *out, size_t room, const char *src, size_t len,
    bool name)
{
	const char *p = src, *end = src + strnlen(src, len);
	size_t at = 0, n;
	wchar_t wide;

	while (p < end && at + 5 < room) {	/* room for the longest piece
						 * and a NUL */
		n = printable_len(p, end, &wide);
		if (n == 0) {
			at += (size_t)sprintf(out + at, "\\x%02x",
			    (unsigned char)*p++);
			continue;
		}
		if (name && wide == L'\\')
			out[at++] = '\\';
		memcpy(out + at, p, n);
		at += n;
		p += n;
	}
	out[at] = '\0';
	return at;
}

const char *
lhi_printable_name(char *out, size_t room, const char *name)
{
	(void)lhi_printable_copy(out, room, name, SIZE_MAX, true);
	return out;
}

static bool
is_odd(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f || c == '\\';
}

/* (Sentences themselves have no such byte: each is of a name.) */
void
lhi_printable_text(char *text, size_t room)
{
	char copy[PRINTABLE_TEXT_MAX];
	size_t at = 0;

	for (at = 0; text[at] != '\0' && !is_odd(text[at]); at++)
		;
	if (text[at] == '\0')
		return;
	(void)snprintf(copy, sizeof(copy), "%s", text + at);
	for (const char *p = copy; *p != '\0' && at + 5 < room; p++) {
		if (!is_odd(*p))
			text[at++] = *p;
		else if (*p == '\\')
			at += (size_t)sprintf(text + at, "\\\\");
		else
			at += (size_t)sprintf(text + at, "\\x%02x",
			    (unsigned char)*p);
	}
	text[at] = '\0';
}

static bool
is_printable(const char *bytes, const char *end)
{
	wchar_t wide;
	size_t n;

	for (; bytes < end; bytes += n) {
		n = printable_len(bytes, end, &wide);
		if (n == 0)
			return false;
	}
	return true;
}

/* Writes one byte for $'...'.  Returns the number of bytes written. */
static size_t
escape_byte(char *out, char c)
{
	if (c == '\n')
		return (size_t)sprintf(out, "\\n");
	if (c == '\t')
		return (size_t)sprintf(out, "\\t");
	if (c == '\'' || c == '\\')
		return (size_t)sprintf(out, "\\%c", c);
	/* (an interactive bash replaces what begins with '!') */
	if (c < ' ' || c == '!' || c >= 0x7f)
		return (size_t)sprintf(out, "\\%03o", (unsigned char)c);
	*out = c;
	return 1;
}

const char *
lhi_printable_word(char *out, size_t room, const char *bytes)
{
	size_t len = strlen(bytes), at = 0;
	const char *p = bytes, *end = bytes + len;
	bool plain = is_printable(bytes, end);

	*out = '\0';
	if (room < PRINTABLE_WORD_MAX(len))
		return out;
	if (!plain)
		out[at++] = '$';
	out[at++] = '\'';
	for (; p < end; p++) {
		if (!plain) {
			at += escape_byte(out + at, *p);
		} else if (*p == '\'') {
			memcpy(out + at, "'\\''", 4);
			at += 4;
		} else {
			out[at++] = *p;
		}
	}
	out[at++] = '\'';
	out[at] = '\0';
	return out;
}
