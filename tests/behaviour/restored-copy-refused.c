/* SPDX-License-Identifier: MIT */
/*
 * G2 over a copy that is put back: a table's object is copied, three leases are
 * granted, and the copy takes the object's place.  It is refused, with words,
 * by every opener and by a repair; removed by force, the next table's tokens
 * are larger than all before.  So it is with a fence file, in scope local,
 * whose directory was left alone.
 */
#include <fcntl.h>
#include "fence.h"
#include <leasehold/repair.h>

#define PIECE 65536

static const char *table;

/* All bytes, so that the copy has memory wherever the object has. */
static void
copy_object(const char *to)
{
	int in = open(t_object(table), O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	static char piece[PIECE];
	ssize_t n = 0;

	while (in >= 0 && out >= 0 && (n = read(in, piece, PIECE)) > 0)
		if (write(out, piece, (size_t)n) != n)
			break;
	if (in < 0 || out < 0 || n != 0)
		bail_out("no copy: %s", strerror(errno));
	(void)close(in);
	(void)close(out);
}

static uint64_t
granted(struct lh *lh, uint32_t scope)
{
	struct lh_acquire_opts o = t_opts(30000, 0);
	struct lh_lease l;

	o.scope = scope;
	if (lh_acquire(lh, "k", &o, &l) != 0 || lh_release(lh, &l) != 0)
		bail_out("not granted: %s", lh_error_detail());
	return l.token;
}

static void
put_back(struct lh_open_opts o, uint32_t scope, const char *what)
{
	static char copy[200];
	uint64_t last = 0, next;
	struct lh *lh;

	snprintf(copy, sizeof(copy), "%s.copy", t_object(table));
	t_remove_at_exit(copy);
	is(lh_open(&lh, table, &o), 0, "%s: a table", what);
	(void)granted(lh, scope);
	copy_object(copy);
	for (int i = 0; i < 3; i++)
		last = granted(lh, scope);
	is(lh_close(lh), 0, "closed, after three grants");
	is(rename(copy, t_object(table)), 0, "the copy is put back");
	is(lh_open(&lh, table, &o), -EUCLEAN, "it is refused");
	ok(strstr(lh_error_detail(), "is a copy of a table") != NULL,
	    "with words: %s", lh_error_detail());
	is(lh_table_repair(table, 0, NULL, NULL), -EUCLEAN,
	    "not to be repaired");
	is(lh_table_remove(table, 0), -EUCLEAN, "nor removed just so");
	is(lh_table_remove(table, LH_FORCE), 0, "but by force");
	is(lh_open(&lh, table, &o), 0, "the next one");
	next = granted(lh, scope);
	cmp(next, >, last, "its tokens are larger");
	t_close(lh);
	(void)lh_table_remove(table, LH_FORCE);
}

int
main(void)
{
	table = t_table();
	put_back(t_open_opts(), LH_EPHEMERAL, "ephemeral");
	put_back(fence_opts(), LH_LOCAL, "scope local");
	return done();
}
