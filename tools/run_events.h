/* SPDX-License-Identifier: MIT */
/* Events about the leases of a `run`. See run_events.c. */
#ifndef TOOLS_RUN_EVENTS_H
#define TOOLS_RUN_EVENTS_H

#include <stddef.h>
#include <stdint.h>
#include <leasehold.h>
#include "run.h"

struct run_events {
	struct lh_lock *lock[LH_MANY_MAX];
	struct lh_watch *watch[LH_MANY_MAX];
	size_t n;		/* 0: no event will arrive */
};

void run_events_open(struct run_events *events, struct run *r);
void run_events_close(struct run_events *events);

/* Fills fds[events->n] for poll(2). */
struct pollfd;
void run_events_pollfds(const struct run_events *events, struct pollfd *fds);

/* Returns the LH_EVENT_ASKED and LH_EVENT_LOST bits set since the last call. */
uint32_t run_events_take(struct run_events *events);

#endif
