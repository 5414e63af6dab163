/* SPDX-License-Identifier: MIT */
/* Setup: see setup.c. */
#ifndef CRASH_SETUP_H
#define CRASH_SETUP_H

#include "crash/scenario.h"

/*
 * Table, server (MODE_STOP), cast; the subject's pid, stopped where it begins.
 * -1 with a finding.
 */
pid_t setup_trial(struct trial *p, const struct scenario *sc,
    enum trial_mode mode, enum pace pace, pid_t *server);

/* Record an operation, twice: what depends on a clock tick differs. */
bool setup_record(struct trial *p, const struct scenario *sc,
    enum trial_mode mode, struct trace *t);

#endif
