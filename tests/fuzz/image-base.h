/* SPDX-License-Identifier: MIT */
/* The valid image that image.c begins with: see image-base.c. */
#ifndef FUZZ_IMAGE_BASE_H
#define FUZZ_IMAGE_BASE_H

#include <stddef.h>

/* Keys in it, and what holds them. */
#define THE_X	"held"		/* a writer; others wait */
#define THE_S	"read"		/* a chain of readers; a writer waits */
#define THE_LONG	"a key that is longer than what is beside the slot"
#define THE_FREE	"free"
#define THE_KEPT	"kept"

/*
 * The bytes of a table that dead processes have left in as many states as can
 * be; *len of them, malloc()ed.  Its sessions hold no byte of any other object
 * with those contents: whoever maps a copy finds all of them dead.
 */
char *image_base(size_t *len);

#endif
