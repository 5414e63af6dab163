/* SPDX-License-Identifier: MIT */
/*
 * Surviving a table that is cut short.
 *
 * Who may write to a table may also truncate it, and then the next touch is
 * SIGBUS.  To a worker that is its own table's trouble; this daemon looks after
 * tables of several, perhaps of people who do not trust each other, and one of
 * them must not end it for all.  So what touches tables is called through here.
 *
 * On SIGBUS a page of zeros, private to us, is put where the table's page is
 * missing, and the call goes on.  No bit pattern in a table does the library
 * harm (G12), zeros neither; what it writes there nobody sees.  Whoever called
 * is told, and lets go of that table: closing it unmaps those pages as well.
 * The sweep is bounded by the clock, and so is the number of such pages.
 *
 * A SIGBUS from anywhere else is as deadly as ever.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include "guard.h"

static volatile sig_atomic_t inside, struck;
static uintptr_t page_size;

static void
on_bus_error(int sig, siginfo_t *info, void *context)
{
	void *page = (void *)((uintptr_t)info->si_addr & ~(page_size - 1));
	int saved = errno;

	if (!inside || info->si_code != BUS_ADRERR ||
	    mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		(void)signal(sig, SIG_DFL);	/* and it strikes again */
	struck = 1;
	errno = saved;
}

void
guard_begin(void)
{
	struct sigaction sa = { .sa_sigaction = on_bus_error,
	    .sa_flags = SA_SIGINFO };

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	(void)sigemptyset(&sa.sa_mask);
	(void)sigaction(SIGBUS, &sa, NULL);
}

bool
guard_run(void (*fn)(void *arg), void *arg)
{
	struck = 0;
	inside = 1;
	fn(arg);
	inside = 0;
	return !struck;
}
