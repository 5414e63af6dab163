/* SPDX-License-Identifier: MIT */
/* Shows bytes that somebody else chose: see printable.c. */
#ifndef LHI_PRINTABLE_H
#define LHI_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Copies at most len bytes of src, made printable; `name` also doubles
 * backslashes.  Returns the number of bytes written, without the NUL. */
size_t lhi_printable_copy(char *out, size_t room, const char *src, size_t len,
    bool name);

/* Writes a name for a sentence, and returns it. PRINTABLE_MAX(n) is the room
 * that n bytes need. */
#define PRINTABLE_MAX(n) (4 * (n) + 6)
const char *lhi_printable_name(char *out, size_t room, const char *name);

/* The same for a whole sentence, in place: its names become printable, and
 * bytes above 0x7e stay (the locale may have characters for them). */
#define PRINTABLE_TEXT_MAX 1200
void lhi_printable_text(char *text, size_t room);

/* Writes a word that a shell reads as exactly these bytes, and returns it; or
 * "", if there is less room than PRINTABLE_WORD_MAX of their number. */
#define PRINTABLE_WORD_MAX(n) (4 * (n) + 4)
const char *lhi_printable_word(char *out, size_t room, const char *bytes);

#endif
