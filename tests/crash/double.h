/* SPDX-License-Identifier: MIT */
/* Two deaths: see double.c. */
#ifndef CRASH_DOUBLE_H
#define CRASH_DOUBLE_H

#include "crash/attempt.h"
#include "crash/inject.h"

/* One scenario.  False: it could not be recorded; diagnostics say why. */
bool inject_double(struct trial *p, const struct scenario *sc,
    const struct inject_opts *o, struct inject_tally *t);

/* Records the recovery from a crash at that point: double_recovery has it
 * then, and whoever called frees it. */
attempt_fn double_record;
extern struct trace double_recovery;

#endif
