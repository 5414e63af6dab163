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

#endif
