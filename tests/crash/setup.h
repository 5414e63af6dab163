/* SPDX-License-Identifier: MIT */
/* Staging: see setup.c. */
#ifndef CRASH_SETUP_H
#define CRASH_SETUP_H

#include "crash/scenario.h"

/*
 * Table, server (MODE_STOP), cast; the subject's pid, stopped where it begins.
 * -1 with a finding.
 */
pid_t stage(struct play *p, const struct scenario *sc, enum play_mode mode,
    enum pace pace, pid_t *server);

/* Record an operation, twice: what depends on a clock tick differs. */
bool stage_record(struct play *p, const struct scenario *sc,
    enum play_mode mode, struct trace *t);

#endif
