/* SPDX-License-Identifier: MIT */
/*
 * Prints what `leasehold bench` measured: a table for people, or JSON.
 *
 * The machine stands above the figures, because they mean nothing without it.
 * A ratio is ours over the peer's, so below 1 ours is faster.
 */
#include <jansson.h>
#include <stdio.h>
#include "bench_clock.h"
#include "bench_machine.h"
#include "bench_print.h"
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "message.h"
#include "output.h"

/* Digits of a JSON number: a clock has no more. */
#define DIGITS 6

static const struct name {
	const char *metric;	/* in JSON */
	const char *text;
} names[N_BENCH_METRICS] = {
	[BENCH_PAIR] = { "pair_handle", "acquire + release, opened key" },
	[BENCH_LOCK] = { "pair_lock", "lock + unlock, opened key" },
	[BENCH_NAME] = { "pair_name", "acquire + release, by name" },
	[BENCH_HANDOVER] = { "handover", "hand-over to a sleeping waiter" },
	[BENCH_WAKEUP] = { "wakeup", "processor time of a hand-over" },
	[BENCH_TAKEOVER] = { "takeover", "takeover after kill -9" },
};

static const char *const locks[N_RELAY_LOCKS] = {
	[RELAY_OURS] = "leasehold",
	[RELAY_MUTEX] = "robust_mutex",
	[RELAY_FLOCK] = "flock",
};

static void
print_line(const char *text, const double ns[N_RELAY_LOCKS])
{
	char time[BENCH_TIME_MAX];

	printf("%-32s", text);
	for (unsigned int i = 0; i < N_RELAY_LOCKS; i++)
		printf(" %12s", bench_time_text(time, ns[i]));
	for (unsigned int i = RELAY_MUTEX; i < N_RELAY_LOCKS; i++)
		printf(" %9.2f", ns[RELAY_OURS] / ns[i]);
	putchar('\n');
}

static void
print_metric(const struct bench_results *results, unsigned int metric)
{
	const struct bench_figure *of = results->of[metric];
	double median[N_RELAY_LOCKS], p99[N_RELAY_LOCKS];

	for (unsigned int i = 0; i < N_RELAY_LOCKS; i++) {
		median[i] = of[i].median;
		p99[i] = of[i].p99;
	}
	print_line(names[metric].text, median);
	if (p99[RELAY_OURS] > 0)
		print_line("    99 of 100 are within", p99);
}

int
bench_print_table(const struct bench_run *run)
{
	struct bench_machine machine;
	char model[4 * sizeof(machine.model)];

	bench_machine_read(&machine);
	(void)text_clean(model, sizeof(model), machine.model,
	    sizeof(machine.model), false);
	printf("%u x %s, %s, load %.1f\n", machine.cpus, model, machine.kernel,
	    machine.load);
	if (run->private)
		printf("a table of its own, removed; ");
	else
		printf("%stable '%s'; ", run->system ? "the machine's " : "",
		    run->table);
	printf("medians of %u s\n\n%-32s %12s %12s %12s %19s\n", run->seconds,
	    "", "leasehold", "robust mutex", "flock", "ours / mutex, flock");
	for (unsigned int i = 0; i < N_BENCH_METRICS; i++)
		print_metric(run->results, i);
	return output_flush(EX_YES);
}

static json_t *
figure_json(const struct bench_figure *figure)
{
	json_t *o = json_pack("{s:f, s:f}", "median_ns", figure->median,
	    "best_ns", figure->best);

	if (o != NULL && figure->p99 > 0 &&
	    json_object_set_new(o, "p99_ns", json_real(figure->p99)) != 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *
metric_json(const struct bench_results *results, unsigned int metric)
{
	const struct bench_figure *of = results->of[metric];
	double ours = of[RELAY_OURS].median;
	json_t *o = json_pack("{s:s, s:i, s:{s:f, s:f}}", "metric",
	    names[metric].metric, "samples", (int)results->samples[metric],
	    "ratio", locks[RELAY_MUTEX], ours / of[RELAY_MUTEX].median,
	    locks[RELAY_FLOCK], ours / of[RELAY_FLOCK].median);

	for (unsigned int i = 0; o != NULL && i < N_RELAY_LOCKS; i++) {
		if (json_object_set_new(o, locks[i],
		    figure_json(&of[i])) != 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

static json_t *
run_json(const struct bench_run *run)
{
	struct bench_machine machine;
	char model[4 * sizeof(machine.model)];
	json_t *o, *list = json_array();

	bench_machine_read(&machine);
	(void)text_clean(model, sizeof(model), machine.model,
	    sizeof(machine.model), false);
	for (unsigned int i = 0; list != NULL && i < N_BENCH_METRICS; i++) {
		if (json_array_append_new(list,
		    metric_json(run->results, i)) != 0) {
			json_decref(list);
			list = NULL;
		}
	}
	o = json_pack("{s:s, s:b, s:b, s:i, s:{s:s, s:i, s:s, s:f}}", "table",
	    run->table, "system", run->system, "private", run->private,
	    "seconds", (int)run->seconds, "machine", "processor", model,
	    "cpus", (int)machine.cpus, "kernel", machine.kernel, "load",
	    machine.load);
	if (o == NULL || json_object_set_new(o, "metrics", list) != 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}

int
bench_print_json(const struct bench_run *run)
{
	json_t *o = run_json(run);

	if (o == NULL) {
		message("out of memory");
		return EX_SYSTEM;
	}
	(void)json_dumpf(o, stdout, JSON_INDENT(2) |
	    JSON_REAL_PRECISION(DIGITS));
	(void)putchar('\n');
	json_decref(o);
	return output_flush(EX_YES);
}
