/* SPDX-License-Identifier: MIT */
/* Staging: see stage.c. */
#ifndef CRASH_STAGE_H
#define CRASH_STAGE_H

#include "crash/scenario.h"

enum stage_pace {
	PACE_QUICK,		/* runs to its point at full speed */
	PACE_SLOW,		/* steps there */
	PACE_RECORD		/* steps, and hashes at each step */
};

/*
 * Table, server (MODE_STOP), cast; the subject's pid, stopped where it begins.
 * -1 with a finding.
 */
pid_t stage(struct play *p, const struct scenario *sc, enum play_mode mode,
    enum stage_pace pace, pid_t *server);

/* Record an operation, twice: what depends on a clock tick differs. */
bool stage_record(struct play *p, const struct scenario *sc,
    enum play_mode mode, struct trace *t);

#endif
