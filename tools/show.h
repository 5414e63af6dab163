/* SPDX-License-Identifier: MIT */
/* Prints a key and its holders and waiters, for programs and people.  See
 * show.c. */
#ifndef SHOW_H
#define SHOW_H

#include <stdint.h>
#include <jansson.h>
#include <leasehold.h>
#include "daemon/text.h"
#include "open_table.h"

/* Prints and drops the reference. Returns status, or that of a failed print. */
int show_json(json_t *value, int status);

/* info is NULL for a key that the table does not know. */
json_t *show_key(struct lh *lh, const char *table, const char *key,
    const struct lh_key_info *info);

/* The same for a clock that was 0 at zero_ms since 1970. */
json_t *show_key_at(int64_t zero_ms, const char *table, const char *key,
    const struct lh_key_info *info);

/* A holder or a waiter. */
json_t *show_party_json(int64_t zero_ms, const struct lh_party *party);

/* Adds a text of any bytes, with NAME_hex beside it if it is not UTF-8. */
int show_set_bytes(json_t *to, const char *name, const char *bytes);

/* "backup[4711]", or "session build-42". */
#define PARTY_MAX (4 * LH_APPLICATION_MAX + 64)
const char *show_party(char buf[PARTY_MAX], const struct lh_party *party);

/* Returns what follows the number of a party's process: that it counts in
 * another pid namespace, or "". */
const char *show_foreign(const struct lh_party *party);

/* Returns the requester's own info text after `before` (at most 8 bytes), or
 * "". */
#define INFO_MAX_TEXT (4 * LH_INFO_MAX + 16)
const char *show_info(char buf[INFO_MAX_TEXT], const char *before,
    const struct lh_party *party);

const char *show_mode(uint32_t mode);
const char *show_run(uint32_t run);	/* Describes a run state of its
					 * thread. */
const char *show_order(uint32_t order);
const char *show_clock(uint32_t clock);
/* Returns the token of the only holder, or else the latest one.  They differ if
 * readers that came later have left. */
uint64_t show_token(const struct lh_key_info *info);
const char *show_tokens(uint32_t global);
const char *show_scope(uint32_t scope);
const char *show_right(uint32_t right);
const char *show_policy(uint32_t policy);

/* Returns how long a holder's lease has left: "12 s", or "no end". */
const char *show_left(char buf[SPAN_MAX], const struct lh_party *party,
    int64_t now_ns);

/* Returns for how long the table can still grant leases, in words, if that is
 * less than a year; else NULL. The text is static. */
const char *show_life(const struct lh_stats *s, const struct table_opts *table);

/* Returns a sentence about lost fence files, or NULL. */
const char *show_fence_lost(const struct lh_stats *s);

/* Returns the same in a word: there, replaced, lost. */
const char *show_fence_state(const struct lh_stats *s);

/* Adds a 64-bit member as a decimal string. Returns 0 or -1. */
int show_set_u64(json_t *to, const char *name, uint64_t n);

/* Appends a text that may not be UTF-8. Returns 0 or -1. */
int show_append_text(json_t *to, const char *text);

/* Of the holders of a held key, finds the one that has held it longest, and the
 * one whose lease ends last if none is renewed. */
const struct lh_party *show_oldest(const struct lh_key_info *info);
const struct lh_party *show_last(const struct lh_key_info *info);

#endif
