/* SPDX-License-Identifier: MIT */
/* Sleeps that come too late: see late_sleep.c. */
#ifndef CRASH_LATE_SLEEP_H
#define CRASH_LATE_SLEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one recording: was its nth sleep late? */
struct late_sleep {
	struct late_sleep *next;
	unsigned char *was;
	size_t n, room, n_late;
};

struct late_sleep *late_sleep_make(void);

/*
 * The process is about to make a system call: if that is a sleep, note it.
 * With on_time, or when many were late, a sleep that would be late gets another
 * deadline, and is none.
 */
void late_sleep_note(struct late_sleep *l, pid_t pid, bool on_time);

/*
 * The process is stepped, and about to execute an instruction.  If that begins
 * a sleep, the *nth (0: the first), which was not late in the recording, then
 * this one will not be either.
 */
void late_sleep_follow(const struct late_sleep *l, size_t *nth, pid_t pid,
    uint64_t rip);

/* Was there one that was late? */
bool late_sleep_any(const struct late_sleep *l);

/* It has just entered a system call.  If that is a sleep, the *nth (0: the
 * first), and the one in the recording was late, then this one will be, too. */
void late_sleep_hold(const struct late_sleep *l, size_t *nth, pid_t pid);

/* All of a list. */
void late_sleep_free(struct late_sleep *l);

#endif
