/* SPDX-License-Identifier: MIT */
/* Measures how busy a table and its keys are. See rates.c. */
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
	char who[RATES_WHO_MAX]; /* the holder, the number of readers, or "-" */
	uint32_t holders, waiters;
	int64_t held_ns;	/* longest present hold, or -1 */
	int64_t waited_ns;	/* longest present wait, or -1 */
	uint64_t token;
	double grants;		/* a second, since the last call */
};

enum rates_order {
	RATES_BY_WAITERS,
	RATES_BY_HELD,
	RATES_BY_GRANTS,
	RATES_BY_KEY
};

struct rates {
	struct rates_key *keys;	/* sorted by name */
	struct rates_key **busy; /* those in use, in the order to be printed */
	size_t n, room, n_busy;
	uint32_t held, waiters;	/* keys that are held; waits for all keys */
	int64_t at_ns;		/* when, on the table's clock */
	struct lh_stats stats;
	double acquired, waits, timeouts;	/* a second */
};

/* Reads the table.  Rates cover the time since `before`, if that was ever
 * filled.  Returns 0 or -errno. */
int rates_read(struct rates *l, struct lh *lh, const struct rates *before);
/* Leaves in l->busy only keys that are in use and contain that text. */
void rates_select(struct rates *l, const char *part);
void rates_sort(struct rates *l, enum rates_order order);
void rates_free(struct rates *l);

/* Writes a line for people, `columns` wide (at most RATES_LINE_MAX - 1 bytes):
 * a text as it is, two lines about the table, the heading, one for each entry
 * of l->busy. */
#define RATES_LINE_MAX 2048
const char *rates_fit(char buf[RATES_LINE_MAX], const char *text, int columns);
const char *rates_table_line(char buf[RATES_LINE_MAX], const struct rates *l,
    const char *table, int columns);
const char *rates_total_line(char buf[RATES_LINE_MAX], const struct rates *l,
    int columns);
const char *rates_heading(char buf[RATES_LINE_MAX], int columns);
const char *rates_key_line(char buf[RATES_LINE_MAX], const struct rates_key *k,
    int columns);

/* Returns everything as JSON, or NULL without memory. */
json_t *rates_json(const struct rates *l, struct lh *lh);

#endif
