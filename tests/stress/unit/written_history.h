/* SPDX-License-Identifier: MIT */
/*
 * Histories written by hand: a few records, lives and stops, and what the
 * checker must make of them.  Times are in milliseconds.
 */
#ifndef WRITTEN_HISTORY_H
#define WRITTEN_HISTORY_H

#include <leasehold.h>
#include "stress/history/history.h"

#define MS	INT64_C(1000000)
#define CAP	64
#define LIVES	6

extern struct op ops[CAP];
extern struct life lives[LIVES];
extern struct gap gaps[2];
extern struct history h;
extern struct verdict judged;	/* of the last accepts() or rejects() */

/* A new history, on a table of two keys with the sessions 100, 101 ... */
void story(void);

/* An acquire of key 0 that was served just before it returned. */
struct op *acq(uint32_t life, int64_t call, int64_t ret, uint64_t token,
    uint32_t ttl);
/* One that failed; it could not rightly do so before `limit`. */
struct op *failed(uint32_t life, enum op_how how, int64_t call, int64_t ret,
    int64_t limit, int result);
/* Any record; ret 0: it never came back. */
struct op *add(enum op_kind kind, uint32_t life, int64_t call, int64_t ret,
    int result);

/* A call about a lease. */
struct op *about(struct op *of, enum op_kind kind, int64_t call, int64_t ret,
    int result);
struct op *rel(struct op *of, int64_t call, int64_t ret, int result);
void ext(struct op *of, int64_t call, int64_t ret, int result, uint32_t ttl);

/* To that mode, with that token if it succeeds. */
struct op *conv(struct op *of, enum lh_mode mode, int64_t call, int64_t ret,
    int result, uint64_t token);
/* The same record, of a reader. */
struct op *shared(struct op *op);

/* Deaths and stops of a participant, and times a census saw it. */
void killed(uint32_t life, int64_t at, int64_t reaped);
void stopped(uint32_t life, int64_t from, int64_t to);
void seen(uint32_t life, int64_t from, int64_t to);
void seen_behind(uint32_t life, uint32_t before, int64_t from, int64_t to);

/* No rule is broken. */
void accepts(const char *what);
/* That rule, once, and no other. */
void rejects(enum rule rule, const char *what);
/* That rule, once, and maybe others that follow from it. */
void rejects_also(enum rule rule, const char *what);

/* shared-rejects.c */
void readers(void);

/* order-rejects.c */
void idle(void);
void order(void);
void readers_idle(void);
void readers_order(void);
void writes(void);
void garbage(void);

#endif
