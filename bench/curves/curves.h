/* SPDX-License-Identifier: MIT */
/* The curves.  See curves.c. */
#ifndef CURVES_H
#define CURVES_H

#include <stddef.h>
#include <stdint.h>

#include "locks.h"

/* Prints one point of a curve, a line of the TSV. */
void curve_point(const char *curve, const char *lock, double x, double y);
/* Prints why a lock is not in a curve, on standard error. */
void curve_missing(const char *curve, const char *lock, const char *why);

/* pairs.c: what acquire + release takes */
void curve_keys(void);
void curve_one_key(void);
void curve_own_keys(void);
void curve_read_share(void);

/* waits.c: what follows a wait */
void curve_handover(void);
void curve_takeover(void);
void curve_waiters(void);

#endif
