/* SPDX-License-Identifier: MIT */
/*
 * The daemon keeps the next range of tokens of scope local on disk: when the
 * files of the latest are gone, it claims another, before anybody asks.  While
 * the directory is gone as well it goes on with all else.
 */
#include "proc/attachment.h"
#include "reaperd.h"
#include "support/actor.h"
#include "../behaviour/fence.h"

/* The highest number among the files; 0: there is none. */
static unsigned long long
highest(const char *ranges)
{
	unsigned long long n, most = 0;
	struct dirent *e;
	DIR *d = opendir(ranges);

	while (d != NULL && (e = readdir(d)) != NULL) {
		n = strtoull(e->d_name, NULL, 10);
		if (n > most)
			most = n;
	}
	if (d != NULL)
		closedir(d);
	return most;
}

static void
remove_files(const char *ranges)
{
	char path[FENCE_PATH + 400];
	struct dirent *e;
	DIR *d = opendir(ranges);

	while (d != NULL && (e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", ranges, e->d_name);
		(void)unlink(path);
	}
	if (d != NULL)
		closedir(d);
}

static int
acquire_local(struct lh *lh, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(60000, 0);

	o.scope = LH_LOCAL;
	return lh_acquire(lh, "k", &o, l);
}

int
main(void)
{
	const char *table = t_table(), *ranges = fence_ranges(table);
	struct lh_open_opts o = fence_opts();
	unsigned long long first;
	char away[FENCE_PATH + 120];
	struct lh_lease l;
	uint64_t before;
	struct lh *lh;
	pid_t pid;

	is(lh_open(&lh, table, &o), 0, "a table with a fence file");
	is(acquire_local(lh, &l), 0, "a token of scope local");
	before = l.token;
	is(lh_release(lh, &l), 0, "released");
	first = highest(ranges);
	cmp(first, >, 0ULL, "its range is on disk");
	pid = reaperd_start(table);
	ok(t_until(T_HANG_MS, sh32_load(&lh->v.hdr->reaper_pid) ==
	    (uint32_t)pid), "the daemon has looked");
	remove_files(ranges);
	ok(t_until(T_HANG_MS, highest(ranges) > first),
	    "the file is gone: it claims another range");
	is(acquire_local(lh, &l), 0, "a token of scope local");
	cmp(l.token, >, before, "larger than the one before");
	is(lh_release(lh, &l), 0, "released");

	snprintf(away, sizeof(away), "%s.away", ranges);
	is(rename(ranges, away), 0, "the directory is gone");
	t_sleep_ms(1500);
	ok(kill(pid, 0) == 0, "the daemon lives");
	is(t_acquire(lh, "due", t_ms(200), 0, &l), 0, "a lease");
	ok(t_until(T_HANG_MS, word_mode(sh64_load(&lhi_slot(&lh->v,
	    (uint32_t)l.key)->word)) == WORD_FREE), "which it ends");
	is(rename(away, ranges), 0, "the directory is there again");
	ok(t_until(T_HANG_MS, !atomic_load(&lh->v.ranges_lost)), "as before");
	is(acquire_local(lh, &l), 0, "a token of scope local");
	is(lh_release(lh, &l), 0, "released");
	reaperd_end(pid);
	t_close(lh);
	return done();
}
