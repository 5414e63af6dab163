/* SPDX-License-Identifier: MIT */
/*
 * Late sleeps: reaches the points of a wait that was stepped through, without
 * stepping through it.
 *
 * A waiter reads the clock, decides until when to sleep, and sleeps.
 * Stepped from the one to the other it is often too late: the futex says at
 * once that the time is over, and it goes round once more, ten times perhaps.
 * At full speed the first sleep is one.  Others wait for just that
 * (participants.c: parts that release or cancel when the subject is asleep), so
 * the wait ends there, and no recorded point of the other rounds is reached.
 *
 * So a recording moves the deadline of a sleep that would be late, and it is
 * about as long as at full speed.  The rounds of one that is late are worth
 * looking at, too, where there is time (trace_be_late()).  But a machine with
 * other work may step so slowly that every sleep is late.  Nobody would see the
 * process asleep, and the wait would not end.  So at most LATE_MAX sleeps of a
 * recording are late, and the next ones are not.
 *
 * Such a recording notes for each sleep whether it was late.  A run at full
 * speed is delayed at the entry to the same sleeps (by their number) until
 * their deadline is over: 20 ms instead of the thousands of steps of a round.
 * It is delayed nowhere else, and sees what any process sees that had to wait
 * for a processor at that place.
 *
 * A sleep is a futex with an absolute deadline by CLOCK_MONOTONIC, which is
 * what the library sleeps on (prim/futex.c).
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>
#include "crash/late_sleep.h"
#include "crash/tracee.h"
#include "crash/trial.h"
#include "tap.h"

#define STEP_NS 100000		/* from the look at the clock to the call */
#define SLEEP_NS (20 * NS_A_MS)	/* of the first in a queue, at full speed */
#define LATE_MAX 10
#define HOLD_MAX_NS (1000 * NS_A_MS)	/* later than any look again */

struct late_sleep *
late_sleep_make(void)
{
	struct late_sleep *l = calloc(1, sizeof(*l));

	if (l == NULL)
		bail_out("out of memory");
	return l;
}

/* A word of its memory. */
static bool
peek(pid_t pid, uint64_t at, int64_t *word)
{
	errno = 0;
	*word = ptrace(PTRACE_PEEKDATA, pid, at, NULL);
	return errno == 0;
}

/* Is that system call a sleep, and until when? */
static bool
is_sleep(pid_t pid, uint64_t call, const struct user_regs_struct *r,
    int64_t *until_ns)
{
	int64_t sec, nsec;

	if (call == SYS_futex) {
		if ((r->rsi & ~(uint64_t)FUTEX_PRIVATE_FLAG) !=
		    FUTEX_WAIT_BITSET)
			return false;
	} else if (call != SYS_futex_waitv || r->r8 != CLOCK_MONOTONIC) {
		return false;
	}
	if (r->r10 == 0 || !peek(pid, r->r10, &sec) ||
	    !peek(pid, r->r10 + 8, &nsec))
		return false;
	*until_ns = sec * 1000000000 + nsec;
	return true;
}

/* Moves the deadline of a sleep: the process finds another in its memory. */
static bool
set_deadline(pid_t pid, const struct user_regs_struct *r, int64_t until_ns)
{
	return ptrace(PTRACE_POKEDATA, pid, r->r10, until_ns / 1000000000) ==
	    0 && ptrace(PTRACE_POKEDATA, pid, r->r10 + 8,
	    until_ns % 1000000000) == 0;
}

void
late_sleep_note(struct late_sleep *l, pid_t pid, bool on_time)
{
	struct user_regs_struct r = { 0 };
	int64_t until, now;

	(void)ptrace(PTRACE_GETREGS, pid, NULL, &r);
	if (!is_sleep(pid, tracee_at_call() ? r.orig_rax : r.rax, &r, &until))
		return;
	now = trial_now_ns();
	if ((on_time || l->n_late >= LATE_MAX) && until <= now + STEP_NS &&
	    set_deadline(pid, &r, now + SLEEP_NS))
		until = now + SLEEP_NS;
	if (l->n == l->room) {
		l->room = l->room == 0 ? 64 : 2 * l->room;
		l->was = realloc(l->was, l->room);
		if (l->was == NULL)
			bail_out("out of memory");
	}
	l->n_late += l->was[l->n++] = until <= now + STEP_NS;
}

void
late_sleep_follow(const struct late_sleep *l, size_t *nth, pid_t pid,
    uint64_t rip)
{
	struct user_regs_struct r = { 0 };
	int64_t until, now = trial_now_ns();
	size_t i;

	if (memcmp((const void *)(uintptr_t)rip, "\x0f\x05", 2) != 0)
		return;
	(void)ptrace(PTRACE_GETREGS, pid, NULL, &r);
	if (!is_sleep(pid, r.rax, &r, &until))
		return;
	i = (*nth)++;
	if ((i >= l->n || !l->was[i]) && until <= now + STEP_NS)
		(void)set_deadline(pid, &r, now + SLEEP_NS);
}

bool
late_sleep_any(const struct late_sleep *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->was[i])
			return true;
	return false;
}

void
late_sleep_hold(const struct late_sleep *l, size_t *nth, pid_t pid)
{
	struct user_regs_struct r = { 0 };
	int64_t until, left;
	size_t i;

	(void)ptrace(PTRACE_GETREGS, pid, NULL, &r);
	if (!is_sleep(pid, r.orig_rax, &r, &until))
		return;
	i = (*nth)++;
	left = until - trial_now_ns();
	if (i < l->n && l->was[i] && left > 0 && left < HOLD_MAX_NS)
		trial_nap_us(left / 1000 + 1);
}

void
late_sleep_free(struct late_sleep *l)
{
	while (l != NULL) {
		struct late_sleep *next = l->next;

		free(l->was);
		free(l);
		l = next;
	}
}
