/* SPDX-License-Identifier: MIT */
/*
 * The stage of g-restless-*.c: a table, two sessions of this process, and what
 * comes before an operation whose loop is to reach its bound.
 */
#ifndef TESTS_REPLAY_RESTLESS_STAGE_H
#define TESTS_REPLAY_RESTLESS_STAGE_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "behaviour/fence.h"
#include "behaviour/readers.h"
#include "op/token_ceiling.h"
#include "prim/shared.h"
#include "proc/attachment.h"
#include "lent.h"
#include "replay.h"
#include "shm/layout.h"
#include "support/object.h"

#define SOON_TTL_MS 30
#define MANY 70			/* more than a chunk has claims */

#define GLOBAL LH_TOKENS_GLOBAL
#define DURABLE LH_DURABLE
#define GROWS (1u << 30)	/* not all that it may get is there */
#define FIFO (1u << 28)
#define LENT (1u << 29)		/* the host has LENT_KEY of the cluster */

/* lh and other are two sessions of one process. */
struct stage {
	const char *table;
	struct lh *lh, *other;
	struct lh_lease l, m;
	struct lh_session *s;
	struct lh_sem *sem;
	struct lh_cancel cancel;
	pid_t child;
};

/* The row that is played: its stage, and whether its bound was reached. */
static struct stage *stage;
static bool reached;

struct act {
	const char *name;
	uint32_t flags;		/* of the table */
	void (*prepare)(struct stage *st);
	int (*run)(struct stage *st);
};

static struct lh_acquire_more more_of(struct lh_session *s, uint64_t request,
    const char *holder)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.session = s;
	more.request[0] = request;
	more.holder = holder;
	return more;
}

static int
acquire_more(struct lh *lh, const char *key, uint32_t mode, int64_t wait_ms,
    const struct lh_acquire_more *more, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, wait_ms);

	o.mode = mode;
	o.more = more;
	return lh_acquire(lh, key, &o, l);
}

static void
nothing(struct stage *st)
{
	(void)st;
}

static void
hold_k(struct stage *st)
{
	st->l = t_hold(st->lh, "k");
}

static void
open_session(struct stage *st)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.ttl_ms = HOUR_MS;
	o.lock_delay_ms = 1000;
	if (lh_session_open(st->lh, "s", &o, &st->s) != 0)
		bail_out("no session: %s", lh_error_detail());
}

static void
hold_k_and_session(struct stage *st)
{
	hold_k(st);
	open_session(st);
}

static void
unused_k(struct stage *st)
{
	hold_k(st);
	(void)lh_release(st->lh, &st->l);
}

static void
set_stage(struct stage *st, const struct act *a)
{
	struct lh_open_opts o;

	memset(st, 0, sizeof(*st));
	o = a->flags & DURABLE ? fence_opts() : t_open_opts();
	o.flags |= a->flags & ~(DURABLE | GROWS | LENT | FIFO);
	if (a->flags & FIFO)
		o.order = LH_ORDER_FIFO;
	if (a->flags & GROWS)
		o.max_keys = 1u << 20;
	o.max_sessions = 8;
	o.max_leases = 1024;
	st->table = t_table();
	if (lh_open(&st->lh, st->table, &o) != 0 ||
	    lh_open(&st->other, st->table, &o) != 0)
		bail_out("no table: %s", lh_error_detail());
	if (a->flags & LENT) {
		lent_begin(st->table);
		lent_give(HOUR_MS);
	}
	a->prepare(st);
}

static void
clear_stage(struct stage *st)
{
	if (st->s != NULL)
		lh_session_close(st->s);
	if (st->lh != NULL)
		(void)lh_close(st->lh);
	(void)lh_close(st->other);
	if (lent_shim != NULL)
		(void)lh_close(lent_shim);
	lent_shim = NULL;
	if (st->child > 0)
		t_kill(st->child);
	(void)lh_table_remove(st->table, LH_FORCE);
}

#endif
