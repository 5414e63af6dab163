/* SPDX-License-Identifier: MIT */
/*
 * `leasehold top`: shows the busiest keys of a table, repeatedly.
 *
 * On a terminal it draws with ncurses; with -b it prints the same lines
 * (rates.c), so that a test of one form covers both.  Each sample opens the
 * table anew, because a removed one would look idle.
 *
 * It takes a tenth of a processor at most: the pause before the next sample is
 * at least ten times as long as the last one took.
 */
#include <curses.h>
#undef KEY_MAX			/* ncurses' last key; ours is a length */
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
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "rates.h"
#include "verbs.h"

#define BATCH_COLUMNS 100
#define DELAY_MIN_MS 20

static const char help[] =
"usage: leasehold top [OPTION...]\n"
"\n"
"Shows the keys of a table that are held or waited for, or were held since\n"
"the last sample, and how often; the longest queues first.\n"
"Keys: q ends; w, h, g, k: by waiters, time held, grants a second, name.\n"
"\n"
"  -b, --batch       print it, for files and pipes, instead of drawing it\n"
"  -d, --delay TIME  time between two samples; default 1s\n"
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
	enum rates_order order;
	SCREEN *screen;		/* NULL: print */
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

static void
draw_screen(const struct rates *l, const char *table)
{
	char line[RATES_LINE_MAX];
	int row = 4;

	erase();
	mvaddstr(0, 0, rates_table_line(line, l, table, COLS));
	mvaddstr(1, 0, rates_total_line(line, l, COLS));
	attron(A_REVERSE);
	mvaddnstr(3, 0, rates_heading(line, COLS), -1);
	attroff(A_REVERSE);
	for (size_t i = 0; i < l->n_busy && row < LINES; i++, row++)
		mvaddstr(row, 0, rates_key_line(line, l->busy[i], COLS));
	refresh();
}

static int64_t
mono_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

/* Handles a key press. Returns true if the screen must be drawn again. */
static bool
handle_key(struct top *t, int c)
{
	static const char letters[] = "whgk";
	const char *p = strchr(letters, c);

	if (c == 'q' || c == 'Q')
		interrupted = 1;
	else if (c > 0 && c < 128 && p != NULL)
		t->order = (enum rates_order)(p - letters);
	else if (c != KEY_RESIZE)
		return false;
	return true;
}

/* Sleeps until the next sample is due, or the program is to end. */
static void
pause_until(struct top *t, struct rates *l, int64_t at_ms)
{
	for (;;) {
		int64_t left = at_ms - mono_ms();

		if (left <= 0 || interrupted)
			return;
		if (t->screen == NULL) {
			struct timespec ts = { left / 1000,
			    left % 1000 * 1000000 };

			(void)nanosleep(&ts, NULL);
			continue;
		}
		timeout(left > 1000 ? 1000 : (int)left);
		if (handle_key(t, getch()) && !interrupted) {
			rates_sort(l, t->order);
			draw_screen(l, open_table_name(&t->table));
		}
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
		rates_sort(l, t->order);
		if (e == 0 && t->screen != NULL)
			draw_screen(l, lh_table_name(lh));
		else if (e == 0)
			status = t->table.json ? print_json(l, lh) :
			    print_lines(l, lh);
		(void)lh_close(lh);
	}
	if (e == 0)
		return status;
	if (t->screen != NULL)
		(void)endwin();
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

	t->screen = newterm(NULL, stdout, stdin);
	if (t->screen == NULL)
		return usage_error("top cannot draw on a terminal like this: "
		    "set TERM, or print with -b");
	(void)cbreak();
	(void)noecho();
	(void)curs_set(0);
	keypad(stdscr, TRUE);
	status = show_repeatedly(t);
	(void)endwin();
	delscreen(t->screen);
	return status;
}

static int
parse_order(struct top *t, const char *text)
{
	static const char *const names[] = { "waiters", "held", "grants",
	    "key" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			t->order = (enum rates_order)i;
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
		{ "sort", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	const struct sigaction sa = { .sa_handler = note_interrupt };
	struct top t = { .delay_ms = 1000 };
	const struct verb_opts own = { .options = options,
	    .letters = "bd:n:", .take = take_option, .arg = &t,
	    .reads = true };
	int status;

	if (!parse_verb_opts("top", help, argc, argv, &t.table, &own, &status))
		return status;
	if (optind < argc)
		return usage_error("top takes no argument: '%s'; a prefix is "
		    "for list and watch", argv[optind]);
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	if (t.batch || t.table.json)
		return show_repeatedly(&t);
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return usage_error("top draws on a terminal, and this is none: "
		    "print with -b");
	return show_on_screen(&t);
}
