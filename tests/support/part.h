/* SPDX-License-Identifier: MIT */
/*
 * Parts: checks that a busy machine may spoil.  It may keep any process of a
 * part from running, at any moment, for longer than the test can bear.  That is
 * the time of a lease that is to be extended, or the 30 ms after which a waiter
 * that does not take its turn is passed over, or the bound of a time that is
 * asserted.
 *
 *	static void
 *	play(void)
 *	{
 *		...			// tables, actors, checks
 *	}
 *
 *	t_part(play, 200, "renewed, it outlives its ttl");
 *
 * A part is played by a process of its own, and is one line of the report; what
 * does not hold in it is a diagnostic.  It counts as well, unless those
 * in it were held up: unless there was a span of limit_ms of which they had to
 * wait for a processor for half (by schedstat; or it was taken from the whole
 * machine).  limit_ms is the shortest time that the part cannot bear to lose.
 * Then it is played again, twice at the most, with times that t_long() makes
 * longer.  A crash, or what a sanitizer or valgrind says of it, is no such
 * matter: with that the program ends at once, as it would have without parts.
 * LH_TEST_PLAYS=1 is for those who want to see it fail: never again.
 *
 * It begins with nothing: no table of its parent's is open in it, nor is there
 * another thread.
 */
#ifndef TESTS_PART_H
#define TESTS_PART_H

#include <stdint.h>
#include <sys/types.h>

void t_part(void (*play)(void), int64_t limit_ms, const char *name);

/* How many times longer: 1 at first. */
int t_stretch(void);

/* A process is in the part, too: t_fork() says so. */
void t_part_joined(pid_t pid);

#endif
