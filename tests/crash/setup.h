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

#define RECORDINGS 2	/* what depends on a clock tick differs */

/* Record an operation so often. */
bool setup_record(struct trial *p, const struct scenario *sc,
    enum trial_mode mode, struct trace *t);

/* Record it n times, of which `done` have been made. */
bool setup_record_on(struct trial *p, const struct scenario *sc,
    enum trial_mode mode, struct trace *t, int done, int n);

/*
 * Record it as it is to be killed, and as it is to be stopped: once each, if
 * they are alike.  Then what is new in the other one is in each as well.
 * Otherwise twice each.  The two are to be freed together.
 */
bool setup_record_both(struct trial *p, const struct scenario *sc,
    struct trace *killed, struct trace *stopped);

#endif
