/* SPDX-License-Identifier: MIT */
/*
 * Writes a table's statistics in Prometheus' text format (version 0.0.4): for
 * each metric its help and type, and then a line for each table.
 * reaper_metrics.c and `leasehold stats` call it.
 *
 * Names begin with leasehold_.  Counters end in _total; times are in seconds.
 * All acquisitions and the shared ones are two metrics, not one with a label.
 * Reason: the shared count lags (inspect.h), so the difference could decrease,
 * which a counter must not do.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include "metrics_text.h"

struct metric {
	const char *name, *type, *help;
	size_t at;		/* offset in struct lh_stats */
	unsigned bytes;		/* 4 or 8 */
	const char *label;	/* `reason="died"` etc., or NULL; following
				 * entries of the same name belong to one
				 * metric */
};

#define GAUGE(name, field, help) { "leasehold_" name, "gauge", help, \
	offsetof(struct lh_stats, field), \
	sizeof(((struct lh_stats *)0)->field), NULL }
#define COUNTER(name, field, label, help) { "leasehold_" name, "counter", \
	help, offsetof(struct lh_stats, counters.field), 8, label }

static const struct metric metrics[] = {
	GAUGE("keys", keys, "Keys in the table, held or not."),
	GAUGE("keys_max", max_keys, "Most keys that the table can have."),
	GAUGE("keys_held", held, "Keys that are held on this host."),
	GAUGE("waiters", waiters, "Waits for keys."),
	GAUGE("sessions", sessions, "Sessions, alive or not reclaimed yet."),
	GAUGE("sessions_max", max_sessions, "Most sessions that the table can "
	    "have."),
	GAUGE("sessions_death_told", deaths_told, "Sessions of whose "
	    "process's death the kernel tells waiters."),
	GAUGE("leases_reserved", leases_reserved,
	    "Leases and waits reserved by sessions, 64 at a time."),
	GAUGE("leases_max", max_leases, "Most leases and waits that the table "
	    "can have."),
	GAUGE("memory_bytes", bytes_used, "Shared memory in use."),
	GAUGE("memory_max_bytes", bytes, "Most shared memory that the table "
	    "can use."),
	GAUGE("damaged", damaged, "1 if the table is damaged."),
	COUNTER("acquisitions_total", acquired, NULL,
	    "Leases granted, exclusive or shared."),
	COUNTER("shared_acquisitions_total", shared, NULL,
	    "Leases granted in shared mode."),
	COUNTER("barges_total", barges, NULL,
	    "Leases granted ahead of a waiter."),
	COUNTER("waits_total", waits, NULL, "Waits started."),
	COUNTER("failures_total", busy, "reason=\"busy\"",
	    "Acquires that failed, by reason."),
	COUNTER("failures_total", timeouts, "reason=\"timed out\"", ""),
	COUNTER("failures_total", cancelled, "reason=\"cancelled\"", ""),
	COUNTER("failures_total", deadlocks, "reason=\"deadlock\"", ""),
	COUNTER("failures_total", retired, "reason=\"retired\"", ""),
	COUNTER("failures_total", away, "reason=\"cluster away\"", ""),
	COUNTER("extensions_total", extends, NULL, "Leases extended."),
	COUNTER("conversions_total", converts, NULL, "Leases converted to "
	    "another mode."),
	COUNTER("lost_total", expired_own, "reason=\"expired\",by=\"holder\"",
	    "Leases lost, by reason and by the process that ended them."),
	COUNTER("lost_total", expired_others,
	    "reason=\"expired\",by=\"another\"", ""),
	COUNTER("lost_total", died, "reason=\"died\",by=\"another\"", ""),
	COUNTER("lost_total", broken, "reason=\"broken\",by=\"another\"", ""),
	COUNTER("told_lost_total", told_lost, NULL,
	    "Calls that reported a lost lease to its holder."),
	COUNTER("deaths_total", deaths, NULL, "Sessions found dead."),
	COUNTER("blind_total", blind, NULL,
	    "Failed checks whether a process lives."),
	COUNTER("completions_total", completions, NULL,
	    "Half-done operations of other processes completed."),
	COUNTER("keys_made_total", keys_made, NULL, "Keys created."),
	COUNTER("evictions_total", evictions, NULL,
	    "Keys evicted to make room."),
};

static uint64_t
metric_value(const struct lh_stats *s, const struct metric *m)
{
	const char *at = (const char *)s + m->at;

	return m->bytes == 4 ? *(const uint32_t *)at : *(const uint64_t *)at;
}

static void
print_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Prints how many tokens can be issued before the ceiling must be raised. */
static void
print_ceiling(FILE *out, const struct metrics_table *t, size_t n)
{
	print_head(out, "leasehold_tokens_below_ceiling", "gauge",
	    "Fence tokens that can be issued before the ceiling is raised.");
	for (size_t i = 0; i < n; i++) {
		uint64_t latest = t[i].stats.token_latest;
		uint64_t ceiling = t[i].stats.token_ceiling;

		fprintf(out, "leasehold_tokens_below_ceiling{table=\"%s\"} %"
		    PRIu64 "\n", t[i].name, ceiling > latest ?
		    ceiling - latest - 1 : 0);
	}
}

/* Prints microseconds as seconds. */
static void
print_seconds(FILE *out, uint64_t us)
{
	fprintf(out, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
}

/* Prints a gauge of seconds for each table; `at` is the offset of its
 * nanoseconds in struct lh_stats. */
static void
print_span(FILE *out, const char *name, const char *help, size_t at,
    const struct metrics_table *t, size_t n)
{
	print_head(out, name, "gauge", help);
	for (size_t i = 0; i < n; i++) {
		int64_t ns = *(const int64_t *)((const char *)&t[i].stats + at);

		fprintf(out, "%s{table=\"%s\"} ", name, t[i].name);
		print_seconds(out, (uint64_t)ns / 1000);
		fprintf(out, "\n");
	}
}

static void
print_histogram(FILE *out, const char *name, const char *table,
    const uint64_t class[LH_HISTOGRAM], uint64_t sum_us, bool hold)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < LH_HISTOGRAM; i++) {
		all += class[i];
		fprintf(out, "%s_bucket{table=\"%s\",le=\"", name, table);
		if (i == LH_HISTOGRAM - 1)
			fprintf(out, "+Inf");
		else
			print_seconds(out, hold ? LH_HOLD_BOUND_US(i) :
			    LH_WAIT_BOUND_US(i));
		fprintf(out, "\"} %" PRIu64 "\n", all);
	}
	fprintf(out, "%s_sum{table=\"%s\"} ", name, table);
	print_seconds(out, sum_us);
	fprintf(out, "\n%s_count{table=\"%s\"} %" PRIu64 "\n", name, table,
	    all);
}

static void
print_histograms(FILE *out, const struct metrics_table *t, size_t n)
{
	bool any = false;

	print_head(out, "leasehold_wait_seconds", "histogram",
	    "Duration of waits that ended with a grant.");
	for (size_t i = 0; i < n; i++)
		print_histogram(out, "leasehold_wait_seconds", t[i].name,
		    t[i].stats.counters.wait, t[i].stats.counters.wait_us,
		    false);
	for (size_t i = 0; i < n; i++) {
		if (!t[i].stats.hold_times)
			continue;
		if (!any)
			print_head(out, "leasehold_hold_seconds", "histogram",
			    "Duration of leases that were released.");
		any = true;
		print_histogram(out, "leasehold_hold_seconds", t[i].name,
		    t[i].stats.counters.hold, t[i].stats.counters.hold_us,
		    true);
	}
}

void
metrics_print(FILE *out, const struct metrics_table *t, size_t n)
{
	const struct metric *m, *end = metrics +
	    sizeof(metrics) / sizeof(metrics[0]);

	for (m = metrics; m < end; m++) {
		if (m->help[0] != '\0')
			print_head(out, m->name, m->type, m->help);
		for (size_t i = 0; i < n; i++)
			fprintf(out, "%s{table=\"%s\"%s%s} %" PRIu64 "\n",
			    m->name, t[i].name, m->label != NULL ? "," : "",
			    m->label != NULL ? m->label : "",
			    metric_value(&t[i].stats, m));
	}
	print_ceiling(out, t, n);
	print_span(out, "leasehold_longest_wait_seconds",
	    "How long the oldest wait has lasted; 0 if nobody waits.",
	    offsetof(struct lh_stats, longest_wait_ns), t, n);
	print_span(out, "leasehold_life_left_seconds",
	    "Time for which the table can still grant leases.",
	    offsetof(struct lh_stats, life_left_ns), t, n);
	print_histograms(out, t, n);
}
