/* SPDX-License-Identifier: MIT */
/*
 * Writes the metrics in Prometheus' text format: the numbers of each table, as
 * `leasehold stats --prometheus` prints them, and those of the daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "daemon/now.h"
#include "daemon/metrics_text.h"
#include "reaper_metrics.h"
#include "table_pass.h"

static double
to_seconds(int64_t ns)
{
	return (double)ns / (double)NS_PER_SEC;
}

static double
get_passes(const struct table *t, const struct lhi_reap_counts *c)
{
	return (double)c->passes;
}

static double
get_spent(const struct table *t, const struct lhi_reap_counts *c)
{
	return to_seconds(t->spent_ns);
}

static double
get_longest(const struct table *t, const struct lhi_reap_counts *c)
{
	return to_seconds(t->longest_ns);
}

static double
get_visited(const struct table *t, const struct lhi_reap_counts *c)
{
	return (double)c->visited;
}

static double
get_expired(const struct table *t, const struct lhi_reap_counts *c)
{
	return (double)c->expired;
}

static double
get_buried(const struct table *t, const struct lhi_reap_counts *c)
{
	return (double)c->buried;
}

static double
get_finished(const struct table *t, const struct lhi_reap_counts *c)
{
	return (double)c->finished;
}

static double
get_evicted(const struct table *t, const struct lhi_reap_counts *c)
{
	return (double)c->evicted;
}

static double
get_probes(const struct table *t, const struct lhi_reap_counts *c)
{
	return (double)c->probes;
}

static double
get_living(const struct table *t, const struct lhi_reap_counts *c)
{
	return c->sessions;
}

static double
get_watched(const struct table *t, const struct lhi_reap_counts *c)
{
	return c->watched;
}

static const struct metric {
	const char *name, *type, *help;
	double (*value)(const struct table *t, const struct lhi_reap_counts *c);
} metrics[] = {
    {"passes_total", "counter", "Passes over the table.", get_passes},
    {"pass_seconds_total", "counter", "Time spent in passes.", get_spent},
    {"pass_seconds_max", "gauge", "Time of the longest pass.", get_longest},
    {"chunks_visited_total", "counter", "Chunks of 64 claims scanned.",
	get_visited},
    {"expired_total", "counter",
	"Leases ended at their deadlines by the reaper.", get_expired},
    {"buried_total", "counter", "Dead sessions that the reaper reclaimed.",
	get_buried},
    {"finished_total", "counter", "Half-done operations that the reaper "
    "completed.",
	get_finished},
    {"evicted_total", "counter", "Idle keys that the reaper evicted.",
    get_evicted},
    {"probes_total", "counter",
	"Questions to the kernel whether a session lives.", get_probes},
    {"sessions", "gauge", "Live sessions, approximately.", get_living},
    {"sessions_watched", "gauge", "Live sessions whose death is noticed at "
    "once.",
	get_watched},
};

static void
write_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP leasehold_reaper_%s %s\n"
	    "# TYPE leasehold_reaper_%s %s\n", name, help, name, type);
}

static void
write_sweeps(FILE *f)
{
	const struct table *t;

	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		const struct metric *is = &metrics[m];

		write_head(f, is->name, is->type, is->help);
		for (uint32_t i = 0; i < TABLES_MAX; i++) {
			t = tables_at(i);
			if (t == NULL || t->state != TABLE_SERVED)
				continue;
			fprintf(f, "leasehold_reaper_%s{table=\"%s\"} %.9g\n",
			    is->name, t->name,
			    is->value(t, lhi_reap_count(t->reaper)));
		}
	}
}

static int
get_serving(const struct table *t)
{
	return t->state == TABLE_SERVED;
}

static int
get_damaged(const struct table *t)
{
	return t->damaged;
}

static int
get_rangeless(const struct table *t)
{
	return t->rangeless;
}

static const struct flag {
	const char *name, *help;
	int (*value)(const struct table *t);
} flags[] = {
	{ "serving", "1: the table is served; 0: it is missing or cannot be "
	    "served.", get_serving },
	{ "damaged", "1: the table is damaged.", get_damaged },
	{ "rangeless", "1: tokens of scope local could not be claimed.",
	    get_rangeless },
};

static void
write_states(FILE *f)
{
	const struct table *t;

	for (size_t n = 0; n < sizeof(flags) / sizeof(flags[0]); n++) {
		write_head(f, flags[n].name, "gauge", flags[n].help);
		for (uint32_t i = 0; i < TABLES_MAX; i++)
			if ((t = tables_at(i)) != NULL)
				fprintf(f, "leasehold_reaper_%s{table=\"%s\"} "
				    "%d\n", flags[n].name, t->name,
				    flags[n].value(t));
	}
}

static void
write_self(FILE *f)
{
	struct timespec cpu = { 0 };

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	write_head(f, "cpu_seconds_total", "counter",
	    "Processor time used by the daemon.");
	fprintf(f, "leasehold_reaper_cpu_seconds_total %.6f\n",
	    to_seconds(lhi_timespec_ns(&cpu)));
}

/* Writes the statistics of each table. */
static void
write_tables(FILE *f)
{
	unsigned n = tables_count_served(), have = 0;
	struct metrics_table *all = calloc(n > 0 ? n : 1, sizeof(*all));

	for (uint32_t i = 0; all != NULL && i < TABLES_MAX && have < n; i++) {
		if (!table_pass_stats(i, &all[have].stats))
			continue;
		all[have++].name = tables_at(i)->name;
	}
	if (all != NULL)
		metrics_print(f, all, have);
	free(all);
}

void
reaper_metrics_write(FILE *f)
{
	write_tables(f);
	write_states(f);
	write_sweeps(f);
	write_self(f);
}
