/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, invariant I5 of op/token_ceiling.c: the files of a used table
 * are moved aside, or a tmpfs covers them for a while.  Another table of that
 * name grants larger tokens in scope local.  Then the first one's files are
 * back, the very same ones.  Each opener claims a range above those of the
 * other table.
 *
 * Otherwise the tokens of a key would fall when the files come back.
 */
#include <glob.h>
#include "ranges.h"

static const char *table;
static uint64_t last;

/* Moves the table's files, but for those of its fence directory. */
static void
move_files(const char *from, const char *to)
{
	char pattern[256], target[512];
	size_t n = strlen(t_object(table)) - strlen(".table");
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%.*s.*%s", (int)n,
	    t_object(table), from);
	is(glob(pattern, 0, NULL, &found), 0, "there are files %s", from);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];
		const char *end = path + strlen(path) - 2;

		if (from[0] == '\0' && end[0] == '.' && (end[1] == '1' ||
		    end[1] == '2'))
			continue;	/* moved aside already */
		snprintf(target, sizeof(target), "%.*s%s",
		    (int)(strlen(path) - strlen(from)), path, to);
		is(rename(path, target), 0, "%s", target);
	}
	globfree(&found);
}

static void
use(struct lh *lh, const char *what)
{
	fence_larger(lh, "k", &last, what);
	is(lh_close(lh), 0, "closed");
}

/* The files as they are go away, and those called `back` are there again. */
static void
exchange(const char *away, const char *back)
{
	uint64_t before, now;

	move_files("", away);
	move_files(back, "");
	use(fence_open(table), back);
	(void)fence_count(table, &before);
	use(fence_open(table), "opened again");
	(void)fence_count(table, &now);
	is(now, before, "and no range is claimed then");
}

int
main(void)
{
	struct lh *kept;

	table = replay_begin();
	(void)fence_dir();
	kept = fence_open(table);
	use(fence_open(table), "a table");
	move_files("", ".1");
	use(fence_open(table), "another one");
	exchange(".2", ".1");
	fence_larger(kept, "k", &last, "whoever had it open all the time");
	is(lh_close(kept), 0, "closed");
	exchange(".1", ".2");
	exchange(".2", ".1");
	is(lh_table_remove(table, 0), 0, "removed");
	move_files(".2", "");
	return done();
}
