/* SPDX-License-Identifier: MIT */
/*
 * `leasehold top`: shows the busiest keys of a table, repeatedly.
 *
 * On a terminal it draws them (top_screen.c); with -b it prints the same lines
 * (rates.c), so that a test of one form covers both.  Each sample opens the
 * table anew, because a removed one would look idle.
 *
 * It takes a tenth of a processor at most: the pause before the next sample is
 * at least ten times as long as the last one took.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "rates.h"
#include "top_screen.h"
#include "verbs.h"

#define BATCH_COLUMNS 100
#define DELAY_MIN_MS 20

static const char help[] =
"usage: leasehold top [OPTION...]\n"
"\n"
"Shows the keys of a table that are held or waited for, or were held since\n"
"the last sample, and how often; the longest queues first.\n"
"Keys: q ends; w, h, g, k: by waiters, time held, grants a second, name;\n"
"/: filter; arrows and Enter: one key, its holders and waiters; Esc: back.\n"
"\n"
"  -b, --batch       print it, for files and pipes, instead of drawing it\n"
"  -d, --delay TIME  time between two samples; default 1s\n"
"  -f, --filter TEXT only keys that contain TEXT\n"
"  -n, --count N     end after N samples\n"
"      --sort WHAT   waiters, held, grants or key\n"
"      --json        print one JSON object on a line for each sample\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct top {
	struct table_opts table;
	bool batch;
	int64_t delay_ms;
	uint64_t count;		/* samples; 0: no end */
	bool on_screen;		/* else print */
	struct top_view view;
};

static volatile sig_atomic_t interrupted;

static void
note_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static int
print_lines(const struct rates *l, struct lh *lh)
{
	char line[RATES_LINE_MAX];

	printf("%s\n", rates_table_line(line, l, lh_table_name(lh),
	    BATCH_COLUMNS));
	printf("%s\n\n", rates_total_line(line, l, BATCH_COLUMNS));
	printf("%s\n", rates_heading(line, BATCH_COLUMNS));
	for (size_t i = 0; i < l->n_busy; i++)
		printf("%s\n", rates_key_line(line, l->busy[i], BATCH_COLUMNS));
	printf("\n");
	return output_flush(EX_YES);
}

static int
print_json(const struct rates *l, struct lh *lh)
{
	json_t *o = rates_json(l, lh);

	if (o == NULL)
		return message_error(-ENOMEM, NULL, "cannot tell it");
	(void)json_dumpf(o, stdout, JSON_COMPACT);
	(void)putchar('\n');
	json_decref(o);
	return output_flush(EX_YES);
}

static int64_t
mono_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

/* Sleeps until the next sample is due, or the program is to end. */
static void
pause_until(struct top *t, struct rates *l, int64_t at_ms)
{
	for (;;) {
		int64_t left = at_ms - mono_ms();

		if (left <= 0 || interrupted || t->view.stale)
			return;
		if (!t->on_screen) {
			struct timespec ts = { left / 1000,
			    left % 1000 * 1000000 };

			(void)nanosleep(&ts, NULL);
			continue;
		}
		if (top_screen_wait(&t->view, l, left > 1000 ? 1000 :
		    (int)left))
			top_screen_draw(&t->view, l,
			    open_table_name(&t->table));
		if (t->view.ended)
			interrupted = 1;
	}
}

/* Takes and prints one sample. Returns EX_YES to go on. */
static int
read_and_show(struct top *t, struct rates *l, const struct rates *before)
{
	struct lh *lh;
	int e = open_table_to_look(&lh, &t->table), status = EX_YES;

	if (e == 0) {
		e = rates_read(l, lh, before);
		if (e == -EAGAIN)
			e = 0;		/* skip this sample */
		rates_select(l, t->view.filter);
		rates_sort(l, t->view.order);
		if (e == 0 && t->view.opened[0] != '\0')
			e = top_key_read(&t->view.key, lh, t->view.opened);
		if (e == -EAGAIN)
			e = 0;		/* it is too busy: next time */
		if (e == 0 && t->on_screen)
			top_screen_draw(&t->view, l, lh_table_name(lh));
		else if (e == 0)
			status = t->table.json ? print_json(l, lh) :
			    print_lines(l, lh);
		(void)lh_close(lh);
	}
	if (e == 0)
		return status;
	top_screen_end();
	if (e == -ENOENT && before->at_ns == 0)
		return open_table_missing(&t->table);
	if (e != -ENOENT)
		return message_error(e, e == -ENOMEM ? NULL : lh_error_detail(),
		    "cannot look at the table");
	message("the table '%s' was removed", open_table_name(&t->table));
	return EX_AWAY;
}

static int
show_repeatedly(struct top *t)
{
	struct rates looks[2];
	int64_t began, took;
	int now = 0, status = EX_YES;
	uint64_t n;

	memset(looks, 0, sizeof(looks));
	for (n = 0; status == EX_YES && !interrupted; now = !now) {
		began = mono_ms();
		t->view.stale = false;
		status = read_and_show(t, &looks[now], &looks[!now]);
		took = mono_ms() - began;
		if (status != EX_YES || ++n == t->count)
			break;
		pause_until(t, &looks[now], began + (took * 10 > t->delay_ms ?
		    took * 10 : t->delay_ms));
	}
	rates_free(&looks[0]);
	rates_free(&looks[1]);
	return status;
}

static int
show_on_screen(struct top *t)
{
	int status;

	t->on_screen = top_screen_begin();
	if (!t->on_screen)
		return usage_error("top cannot draw on a terminal like this: "
		    "set TERM, or print with -b");
	status = show_repeatedly(t);
	top_screen_end();
	top_key_free(&t->view.key);
	return status;
}

static int
parse_order(struct top *t, const char *text)
{
	static const char *const names[] = { "waiters", "held", "grants",
	    "key" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			t->view.order = (enum rates_order)i;
			return 0;
		}
	}
	return usage_error("--sort: '%s' is none of waiters, held, grants, key",
	    text);
}

static int
take_option(int c, char *value, void *arg)
{
	struct top *t = arg;
	int status;

	switch (c) {
	case 'b':
		t->batch = true;
		return 0;
	case 'd':
		status = parse_span("--delay", value, &t->delay_ms);
		if (t->delay_ms < DELAY_MIN_MS)
			t->delay_ms = DELAY_MIN_MS;
		return status;
	case 'n':
		return parse_times("--count", value, &t->count);
	case 'f':
		if (strlcpy(t->view.filter, value, TOP_FILTER_MAX) >=
		    TOP_FILTER_MAX)
			return usage_error("--filter: the text is longer than "
			    "%d bytes", TOP_FILTER_MAX - 1);
		return 0;
	default:			/* 's' */
		return parse_order(t, value);
	}
}

int
verb_top(int argc, char **argv)
{
	static const struct option options[] = {
		{ "batch", no_argument, NULL, 'b' },
		{ "count", required_argument, NULL, 'n' },
		{ "delay", required_argument, NULL, 'd' },
		{ "filter", required_argument, NULL, 'f' },
		{ "sort", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	const struct sigaction sa = { .sa_handler = note_interrupt };
	struct top t = { .delay_ms = 1000 };
	const struct verb_opts own = { .options = options,
	    .letters = "bd:f:n:", .take = take_option, .arg = &t,
	    .reads = true };
	int status;

	if (!parse_verb_opts("top", help, argc, argv, &t.table, &own, &status))
		return status;
	if (optind < argc)
		return usage_error("top takes no argument: '%s'; choose keys "
		    "with --filter", argv[optind]);
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	if (t.batch || t.table.json)
		return show_repeatedly(&t);
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return usage_error("top draws on a terminal, and this is none: "
		    "print with -b");
	return show_on_screen(&t);
}
