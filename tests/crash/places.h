/* SPDX-License-Identifier: MIT */
/* Recording without stepping: see places.c. */
#ifndef CRASH_PLACES_H
#define CRASH_PLACES_H

#include "crash/recording.h"
#include "crash/tracee.h"

#define PLACES_ROUNDS 6

/* Whether recordings are to be made in this way, if they can be. */
void places_wanted(bool on);

/* Whether the process is to begin some ticks of the coarse clock late, as one
 * that is stepped may. */
void places_late(bool on);

/* Forgets all places: another recording begins, with a sample of what lies
 * between the places or without. */
void places_forget(bool sample);

/* True if the next recording will probably be made in this way. */
bool places_likely(const struct trial *p);

/* True if this process, which is at the beginning, can be recorded so. */
bool places_usable(const struct trial *p, pid_t pid);

/* Records it from there to the end.  False when it has ended. */
bool places_record(struct recording *r, struct spot at);

#endif
