/* SPDX-License-Identifier: MIT */
/*
 * Lets signals wait while a command is between two steps, the first of which
 * would otherwise stay behind alone.  Signals that say that this process is at
 * fault do not wait, because its code cannot go on.
 */
#include <stddef.h>
#include "hold_signals.h"

static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS,
	SIGABRT };

void
signals_hold(sigset_t *usual)
{
	sigset_t all;

	(void)sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		(void)sigdelset(&all, faults[i]);
	(void)sigprocmask(SIG_BLOCK, &all, usual);
}

void
signals_go_on(const sigset_t *usual)
{
	(void)sigprocmask(SIG_SETMASK, usual, NULL);
}
