/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/dump.h, log.h and repair.h (tools/man3). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>

static int
count_held(const struct lh_dump_key *key, void *arg)
{
	*(int *)arg += key->info->n_holders > 0;
	return 0;
}

/* Counts the held keys in a copy of a table, or (NULL) in the table. */
static int
count_in_copy(const char *file)
{
	const struct lh_dump_to to = { sizeof(to), NULL, NULL, count_held,
	    NULL };
	int held = 0, findings = lh_dump(NULL, file, 0, &to, &held);

	return findings < 0 ? findings : held;
}

static int
print_event(const struct lh_log_entry *event, void *arg)
{
	++*(int *)arg;
	printf("%" PRId64 " ms: kind %" PRIu32 "\n", event->epoch_ms,
	    event->kind);
	return 0;
}

/* Prints the recent events of a key. */
static int
print_events(const char *key)
{
	struct lh_log_opts o = LH_LOG_OPTS_INIT;
	int n = 0, e;

	o.key = key;
	e = lh_log(NULL, &o, print_event, &n);
	return e != 0 ? e : n;
}

/* Records each grant and release of every program from now on. */
static int
record_grants(struct lh *lh)
{
	return lh_log_grants(lh, 1);	/* 1 or 0: as it was before */
}

static void
print_finding(const char *what, void *arg)
{
	fprintf(arg, "%s\n", what);
}

/* Says what a repair of the table would do: nothing, if it is sound. */
static int
try_repair(void)
{
	return lh_table_repair(NULL, LH_DRY_RUN, print_finding, stderr);
}

int
main(void)
{
	struct lh_lease lease;
	struct lh *lh;

	if (lh_open(&lh, NULL, NULL) != 0 || record_grants(lh) != 0 ||
	    lh_acquire(lh, "k", NULL, &lease) != 0 ||
	    count_in_copy(NULL) != 1 || lh_release(lh, &lease) != 0 ||
	    print_events("k") < 1 || lh_close(lh) != 0)
		return EXIT_FAILURE;
	return try_repair() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
