/* SPDX-License-Identifier: MIT */
/*
 * Signals during a wait for a key.
 *
 * A wait for a lock of the kernel's ends with EINTR when a signal's handler has
 * run that was installed without SA_RESTART, and goes on otherwise.  Programs
 * end waits so, with alarm(2) for one.  A wait for a key is not one call of the
 * kernel's, so signals are made to wait meanwhile, for 20 ms at most, and are
 * looked at.  They are delivered where no call of the library is left.
 */
#include <string.h>
#include "preload.h"

void
signal_mask_begin(sigset_t *usual)
{
	static const int from_instructions[] = { SIGSEGV, SIGBUS, SIGFPE,
		SIGILL, SIGTRAP, SIGABRT, SIGSYS };
	sigset_t all;

	(void)sigfillset(&all);
	for (size_t i = 0; i < sizeof(from_instructions) /
	    sizeof(from_instructions[0]); i++)
		(void)sigdelset(&all, from_instructions[i]);
	(void)pthread_sigmask(SIG_BLOCK, &all, usual);
}

void
signal_mask_end(const sigset_t *usual)
{
	(void)pthread_sigmask(SIG_SETMASK, usual, NULL);
}

enum signal_news
signal_mask_look(const sigset_t *usual)
{
	enum signal_news news = SIGNALS_NONE;
	struct sigaction sa;
	sigset_t pending;

	if (sigpending(&pending) != 0 || sigisemptyset(&pending))
		return SIGNALS_NONE;
	for (int n = 1; n < NSIG; n++) {
		if (sigismember(&pending, n) != 1 || sigismember(usual, n) == 1)
			continue;
		news = SIGNALS_RESTART;
		if (sigaction(n, NULL, &sa) == 0 &&
		    sa.sa_handler != SIG_DFL && sa.sa_handler != SIG_IGN &&
		    !(sa.sa_flags & SA_RESTART))
			return SIGNALS_INTERRUPT;
	}
	return news;
}
