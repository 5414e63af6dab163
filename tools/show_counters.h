/* SPDX-License-Identifier: MIT */
/* A table's or a session's counters in words and in JSON.  See
 * show_counters.c. */
#ifndef TOOLS_SHOW_COUNTERS_H
#define TOOLS_SHOW_COUNTERS_H

#include <stdbool.h>
#include <jansson.h>
#include <leasehold.h>

/* Prints a paragraph of lines "label     words". */
void show_counters_text(const struct lh_stats *s);

/* Prints one line about a session, with a line feed. */
void show_counters_session(struct lh *lh, const struct lh_session_stats *s);

/* Each returns an object, or NULL. */
json_t *show_counters_json(const struct lh_counters *c, bool hold_times);
json_t *show_counters_session_json(struct lh *lh,
    const struct lh_session_stats *s);

#endif
