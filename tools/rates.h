/* SPDX-License-Identifier: MIT */
/* How busy a table and its keys are, from look to look.  See rates.c. */
#ifndef TOOLS_RATES_H
#define TOOLS_RATES_H

#include <stddef.h>
#include <stdint.h>
#include <jansson.h>
#include <leasehold.h>
#include "daemon/text.h"

#define RATES_WHO_MAX 160

struct rates_key {
	char key[KEY_MAX + 1];
	char who[RATES_WHO_MAX]; /* the holder, or how many readers; or "-" */
	uint32_t holders, waiters;
	int64_t held_ns;	/* by who holds it for longest; or -1 */
	int64_t waited_ns;	/* by who waits for longest; or -1 */
	uint64_t token;
	double grants;		/* a second, since the last look */
};

enum rates_order {
	RATES_BY_WAITERS,
	RATES_BY_HELD,
	RATES_BY_GRANTS,
	RATES_BY_KEY
};

struct rates {
	struct rates_key *keys;	/* by name */
	struct rates_key **busy; /* those that anything is about, as ordered */
	size_t n, room, n_busy;
	uint32_t holders, waiters;	/* of all keys */
	int64_t at_ns;		/* when, by the table's clock */
	struct lh_stats stats;
	double acquired, waits, timeouts;	/* a second */
};

/* Look at the table; rates are over the time since `before`, if that was ever
 * filled.  0, -errno. */
int rates_read(struct rates *l, struct lh *lh, const struct rates *before);
void rates_sort(struct rates *l, enum rates_order order);
void rates_free(struct rates *l);

/*
 * As lines for people, `columns` wide (at most RATES_LINE_MAX - 1 bytes): two
 * about the table, the heading, one of l->busy.
 */
#define RATES_LINE_MAX 2048
const char *rates_table_line(char buf[RATES_LINE_MAX], const struct rates *l,
    const char *table, int columns);
const char *rates_total_line(char buf[RATES_LINE_MAX], const struct rates *l,
    int columns);
const char *rates_heading(char buf[RATES_LINE_MAX], int columns);
const char *rates_key_line(char buf[RATES_LINE_MAX], const struct rates_key *k,
    int columns);

/* The whole as JSON; NULL: out of memory. */
json_t *rates_json(const struct rates *l, struct lh *lh);

#endif
