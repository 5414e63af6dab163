/* SPDX-License-Identifier: MIT */
/* Reporting damage that was seen in a table: see damaged.c. */
#ifndef LHI_DAMAGED_H
#define LHI_DAMAGED_H

#include <stdint.h>

struct lhi_view;

/*
 * Marks the table as damaged, in its header, and makes the error's detail from
 * what was seen, with two numbers.  Returns -EUCLEAN.
 */
int lhi_damaged(struct lhi_view *v, const char *what, uint64_t a, uint64_t b)
    __attribute__((cold));

/*
 * Reports a word that kept changing while it was to be read or swapped, until
 * the loop that did that came to its bound.  Returns -EUCLEAN.
 */
int lhi_damaged_restless(struct lhi_view *v, const char *word, uint64_t index)
    __attribute__((cold));

/*
 * Returns -EUCLEAN, with its detail, if the header is not a table's any more
 * (lhi_view_sound()); error if it is.  Each operation that may have read zeros
 * instead of a table ends with this.
 */
int lhi_damaged_or(struct lhi_view *v, int error);

#endif
