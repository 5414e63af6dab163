/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/inspect.h, for its manual pages (tools/man3). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>

static int
print_key(const struct lh_key_info *info, void *arg)
{
	++*(int *)arg;
	printf("%s: %" PRIu32 " holders, %" PRIu32 " waiters\n", info->key,
	    info->n_holders, info->n_waiters);
	for (uint32_t i = 0; i < info->n_holders; i++)
		printf("  %s[%" PRIu32 "], token %" PRIu64 "\n",
		    info->holders[i].application, info->holders[i].pid,
		    info->holders[i].token);
	return 0;		/* another result ends the listing */
}

/* Prints the keys that begin with "disk-". */
static int
list_disks(struct lh *lh)
{
	int n = 0, e = lh_list(lh, "disk-", print_key, &n);

	return e != 0 ? e : n;
}

/* Prints one key. */
static int
print_one(struct lh *lh, const char *key)
{
	int n = 0;

	return lh_status(lh, key, NULL, print_key, &n);
}

static int
print_blocker(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->n_holders > 0 ? info->holders[0].run : 0;
	return 0;
}

/* True if the key is held by a process that is stopped. */
static int
is_stopped(struct lh *lh, const char *key)
{
	uint32_t run = LH_RUN_UNSEEN;

	return lh_explain(lh, key, print_blocker, &run) == 0 &&
	    run == LH_RUN_STOPPED;
}

/* Tries a key, and says who has it. */
static int
try_and_explain(struct lh *lh, const char *key, struct lh_lease *lease)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	const struct lh_key_info *why;
	int e;

	o.max_wait_ms = 0;
	o.flags = LH_EXPLAIN;
	e = lh_acquire(lh, key, &o, lease);
	why = e == -EAGAIN ? lh_explain_last() : NULL;
	if (why != NULL && why->n_holders > 0)
		printf("held by pid %" PRIu32 "\n", why->holders[0].pid);
	return e;
}

static int
count_dead(const struct lh_session_stats *s, void *arg)
{
	*(int *)arg += s->dead != 0;
	return 0;
}

/* Prints how full the table is. */
static int
print_fill(struct lh *lh)
{
	struct lh_stats s = { .size = sizeof(s) };
	int dead = 0, e = lh_stats(lh, &s);

	if (e == 0)
		e = lh_stats_sessions(lh, count_dead, &dead);
	if (e == 0)
		printf("%" PRIu32 " of %" PRIu32 " keys, %d dead sessions\n",
		    s.keys, s.max_keys, dead);
	return e;
}

static void
print_text(const char *text, void *arg)
{
	fputs(text, arg);
}

/* Prints the counters of the daemon for cluster keys, if it runs. */
static int
print_shim(struct lh *lh)
{
	int e = lh_shim_stats(lh, print_text, stdout);

	return e == -EHOSTUNREACH ? 0 : e;
}

/* Checks the table, and prints what is wrong. */
static int
check_table(struct lh *lh)
{
	return lh_check(lh, print_text, stderr);
}

int
main(void)
{
	struct lh_lease lease, other;
	struct lh *lh;

	if (lh_open(&lh, NULL, NULL) != 0 ||
	    lh_acquire(lh, "disk-1", NULL, &lease) != 0 ||
	    list_disks(lh) != 1 || print_one(lh, "disk-1") != 0 ||
	    is_stopped(lh, "disk-1") ||
	    try_and_explain(lh, "disk-1", &other) != -EAGAIN ||
	    print_fill(lh) != 0 || print_shim(lh) != 0 ||
	    check_table(lh) != 0 || lh_release(lh, &lease) != 0)
		return EXIT_FAILURE;
	return lh_close(lh) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
