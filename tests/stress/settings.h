/* SPDX-License-Identifier: MIT */
/* The options of a chaos run, and the settings that follow from them. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "round.h"

struct settings {
	double seconds, slow;
	unsigned procs;
	bool threads, shared, judge_fifo;
	bool exclusive, no_evict, grow, reaper;
	int order;		/* -1: bounded, then FIFO */
	uint64_t seed;
	const char *dump;
};

/* verdict.c: judge the history, the bystanders' notes, and what was done */
void judge(const struct settings *set, const struct round *r,
    const struct fault_injector *h, const char *name, enum lh_order order);
/* and what a newcomer finds when everybody is gone */
void judge_table(struct round *r, const char *name);

#endif
