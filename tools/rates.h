/* SPDX-License-Identifier: MIT */
/* How busy a table and its keys are, from look to look.  See rates.c. */
#ifndef TOOLS_RATES_H
#define TOOLS_RATES_H

#include <jansson.h>
#include "tool.h"

#define WHO_MAX 160

struct load_key {
	char key[KEY_MAX + 1];
	char who[WHO_MAX];	/* the holder, or how many readers; or "-" */
	uint32_t holders, waiters;
	int64_t held_ns;	/* by who holds it for longest; or -1 */
	int64_t waited_ns;	/* by who waits for longest; or -1 */
	uint64_t token;
	double grants;		/* a second, since the last look */
};

enum load_order { LOAD_WAITERS, LOAD_HELD, LOAD_GRANTS, LOAD_KEY };

struct load {
	struct load_key *keys;	/* by name */
	struct load_key **busy;	/* those that anything is about, as ordered */
	size_t n, room, n_busy;
	uint32_t holders, waiters;	/* of all keys */
	int64_t at_ns;		/* when, by the table's clock */
	struct lh_stats stats;
	double acquired, waits, timeouts;	/* a second */
};

/* Look at the table; rates are over the time since `before`, if that was ever
 * filled.  0, -errno. */
int load_look(struct load *l, struct lh *lh, const struct load *before);
void load_sort(struct load *l, enum load_order order);
void load_drop(struct load *l);

/*
 * As lines for people, `columns` wide (at most TOP_LINE_MAX - 1 bytes): two
 * about the table, the heading, one of l->busy.
 */
#define TOP_LINE_MAX 2048
const char *load_table_line(char buf[TOP_LINE_MAX], const struct load *l,
    const char *table, int columns);
const char *load_rates_line(char buf[TOP_LINE_MAX], const struct load *l,
    int columns);
const char *load_heading(char buf[TOP_LINE_MAX], int columns);
const char *load_key_line(char buf[TOP_LINE_MAX], const struct load_key *k,
    int columns);

/* The whole as JSON; NULL: out of memory. */
json_t *load_json(const struct load *l, struct lh *lh);

#endif
