/* SPDX-License-Identifier: MIT */
/* Lets signals wait: see hold_signals.c. */
#ifndef TOOLS_HOLD_SIGNALS_H
#define TOOLS_HOLD_SIGNALS_H

#include <signal.h>

/* From now on signals wait.  *usual is for signals_go_on(). */
void signals_hold(sigset_t *usual);
void signals_go_on(const sigset_t *usual);

#endif
