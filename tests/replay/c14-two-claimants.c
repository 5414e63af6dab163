/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, amendment C14, crash rows F1 and F2: a range of tokens is
 * claimed by one table only, without a lock.
 *
 * The maker of a table is stopped at each step of the claim of its first range,
 * and before it gives the table its name.  Another process makes a table of
 * that name, uses it, and loses it: the object is removed by hand, which leaves
 * no floor.  The first maker goes on: its tokens must be larger.  Then a
 * process that raises the ceiling of an old table is stopped likewise, while
 * its table is replaced: its call must fail, and the tokens of the two tables
 * must differ.
 *
 * Otherwise two tables would grant from the same range, and a fencing token
 * would be given twice.
 */
#include <fcntl.h>
#include "replay.h"
#include "behaviour/fence.h"
#include "op/token_ceiling.h"
#include "proc/attachment.h"

static const char *const steps[] = {
	"range.scanned", "range.made", "range.synced", "range.linked",
	"range.dir_synced", "range.confirmed", "object.filled",
};

struct maker {
	const char *table;
	struct lh *lh;
};

static int
make(void *arg)
{
	struct lh_open_opts o = fence_opts();
	struct maker *m = arg;

	return lh_open(&m->lh, m->table, &o);
}

/* Makes a table, uses and loses it: its last token. */
static uint64_t
another(const char *table)
{
	struct lh *lh = fence_open(table);
	uint64_t token = 0;

	for (int i = 0; i < 10; i++)
		(void)fence_token(lh, "k", LH_LOCAL, &token);
	is(lh_close(lh), 0, "another table is made and used");
	is(unlink(t_object(table)), 0, "and its object removed");
	return token;
}

static void
stopped_maker(const char *step)
{
	struct maker m = { .table = t_table() };
	uint64_t before, token = 0;

	replay_stop("maker", step, make, &m);
	before = another(m.table);
	is(replay_finish("maker"), 0,
	    "the maker that was stopped at %s has its table", step);
	is(fence_token(m.lh, "k", LH_LOCAL, &token), 0, "it grants a token");
	cmp(token, >, before, "which is larger than the lost table's");
	t_close(m.lh);
}

/* Claims a range, as if half of the latest one was used. */
static int
raise(void *arg)
{
	struct lhi_view *v = arg;

	sh64_store(&v->hdr->token_seen,
	    sh64_load(&v->hdr->durable_ceiling) - 1);
	sh64_store(&v->hdr->raised_ms, 0);
	return lhi_token_ceiling_keep_ahead(v);
}

static void
stopped_raiser(const char *step)
{
	const char *table = t_table();
	struct lh *old = fence_open(table), *lh;
	uint64_t before = 0, token = 0, late = 0, n;
	char path[FENCE_PATH + 200];

	is(fence_token(old, "k", LH_LOCAL, &before), 0,
	    "a first token of the old table");
	(void)fence_count(table, &n);
	snprintf(path, sizeof(path), "%s/%llu", fence_ranges(table),
	    (unsigned long long)n + 1);
	close(open(path, O_WRONLY | O_CREAT, 0600));	/* by another table */
	replay_stop("raiser", step, raise, &old->v);
	is(unlink(t_object(table)), 0, "its object is removed");
	lh = fence_open(table);
	is(fence_token(lh, "k", LH_LOCAL, &token), 0,
	    "the new table grants a token");
	cmp(token, >, before, "which is larger");
	is(replay_finish("raiser"),
	    strcmp(step, "fence.publishing") == 0 ? 0 : -ESTALE,
	    "stopped at %s, the raise says so", step);
	for (int i = 0; i < 3; i++) {
		if (fence_token(old, "k", LH_LOCAL, &late) == 0)
			cmp(late, <, token,
			    "the old table's tokens are smaller");
	}
	before = token;
	is(fence_token(lh, "k", LH_LOCAL, &token), 0,
	    "the new table grants again");
	cmp(token, >, before, "with a larger token");
	is(lh_close(old), 0, "closed");
	t_close(lh);
}

int
main(void)
{
	(void)replay_begin();
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		stopped_maker(steps[i]);
	stopped_raiser("fence.raising");
	stopped_raiser("range.scanned");
	stopped_raiser("range.linked");
	stopped_raiser("fence.claimed");
	stopped_raiser("fence.publishing");
	return done();
}
