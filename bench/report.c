/* SPDX-License-Identifier: MIT */
/*
 * How are the figures shown?  As a table for people, or as tab-separated
 * lines, of which there is one a metric and nothing else.
 *
 * Notes are sentences that belong under the table; groups leave them while
 * they measure, and they are printed at the end.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "tools/bench_machine.h"

#define MAX_NOTES 16

/* Shared, because groups are processes of their own. */
static struct notes {
	unsigned int n;
	char text[MAX_NOTES][256];
} *notes;

void bench_report_begin(void)
{
	notes = bench_shared(sizeof(*notes));
}

void bench_report_note(const char *fmt, ...)
{
	va_list args;

	if (notes->n == MAX_NOTES)
		return;
	va_start(args, fmt);
	vsnprintf(notes->text[notes->n++], sizeof(notes->text[0]), fmt, args);
	va_end(args);
}

void bench_report_notes(void)
{
	unsigned int i;

	for (i = 0; !bench.tsv && i < notes->n; i++)
		printf("%s\n", notes->text[i]);
}

void bench_report_head(void)
{
	struct bench_machine machine;

	if (bench.tsv)
		return;
	bench_machine_read(&machine);
	printf("%u x %s, %s, load %.1f\n", machine.cpus, machine.model,
	    machine.kernel, machine.load);
	printf("%s edition; medians over interleaved rounds, the minimum "
	    "behind\n\n", bench.quick ? "quick" : "full");
	printf("%-16s %8s %8s  %-12s %8s %8s %5s %4s\n", "metric", "ours",
	    "(min)", "peer", "time", "(min)", "ratio", "<=");
	fflush(stdout);
}

static void print_time(double ns)
{
	char text[BENCH_TIME_MAX];

	printf(" %8s", bench_time_text(text, ns));
}

static void print_amount(const struct row *row, double amount)
{
	if (row->kind == ROW_BYTES)
		printf(" %5.0f kB", amount / 1024);
	else
		print_time(amount);
}

static double ratio(const struct row *row)
{
	return row->ours.mid_ns / row->theirs.mid_ns;
}

static bool row_missed(const struct row *row)
{
	return row->target > 0 && (row->missing || ratio(row) > row->target);
}

static void print_row(const struct row *row)
{
	printf("%-16s", row->metric);
	if (row->missing) {
		printf("  not measured: %s\n", row->missing);
		return;
	}
	print_amount(row, row->ours.mid_ns);
	print_amount(row, row->ours.min_ns);
	printf("  %-12s", row->peer);
	print_amount(row, row->theirs.mid_ns);
	print_amount(row, row->theirs.min_ns);
	printf(ratio(row) < 0.01 ? " %5.2g" : " %5.2f", ratio(row));
	if (row->target > 0)
		printf(" %4.3g %s", row->target,
		    row_missed(row) ? "MISSED" : "ok");
	printf("\n    %s\n", row->what);
}

static void print_tsv(const struct row *row)
{
	if (row->missing) {
		fprintf(stderr, "bench: %s: left out: %s\n", row->metric,
		    row->missing);
		return;
	}
	printf("%s\t%.1f\t%s\t%.1f\t%.3f\n", row->metric, row->ours.mid_ns,
	    row->peer, row->theirs.mid_ns, ratio(row));
}

void bench_report(const struct row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!bench.tsv)
			print_row(&rows[i]);
		else if (rows[i].kind != ROW_CONTEXT)
			print_tsv(&rows[i]);
	}
	if (!bench.tsv)
		printf("\n");
	fflush(stdout);
}

bool bench_missed(const struct row *rows, size_t n)
{
	bool missed = false;
	size_t i;

	for (i = 0; i < n; i++)
		missed |= row_missed(&rows[i]);
	return missed;
}
