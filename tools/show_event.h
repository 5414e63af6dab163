/* SPDX-License-Identifier: MIT */
/* An event of the flight recorder in words and in JSON.  See show_event.c. */
#ifndef TOOLS_SHOW_EVENT_H
#define TOOLS_SHOW_EVENT_H

#include <jansson.h>
#include "show.h"

/* "worker[4711]", "[4711]", "reaper", or "?". */
const char *show_event_who(char buf[PARTY_MAX], const struct lh_log_entry *e);

/*
 * Names the session that the event is about; "" if it is the one that wrote it.
 */
const char *show_event_other(char buf[PARTY_MAX], const struct lh_log_entry *e);

/*
 * Formats a moment with milliseconds, in local time; as lh_log_entry.epoch_ms.
 */
#define MOMENT_MAX 48
const char *show_event_moment(char buf[MOMENT_MAX], int64_t epoch_ms);

/* Prints one line. */
void show_event_print(const struct lh_log_entry *e);
json_t *show_event_json(const struct lh_log_entry *e);

#endif
