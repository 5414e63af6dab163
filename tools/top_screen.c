/* SPDX-License-Identifier: MIT */
/*
 * The screen of `leasehold top`: draws with ncurses, and reads the keys.
 *
 *	keys of the table	arrows select one, Enter opens it
 *	one key			its holders and waiters; Esc goes back
 *	filter			typed after /, until Enter; Esc removes it
 *
 * The cursor is at a key and not at a line, so that it stays at that key when
 * others come and go.  Colours say how urgent a line is, and nothing that the
 * text does not say as well: red has waited long, yellow is waited for, green
 * is held.  Without colours on the terminal, or with NO_COLOR, there are none.
 */
#include <curses.h>
#include <poll.h>
#undef KEY_MAX			/* ncurses' last key; ours is a length */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bsd/string.h>
#include "top_screen.h"

#define FIRST_ROW 4
#define LONG_NS (10 * INT64_C(1000000000))	/* a long wait */
#define KEY_ESC 27

enum { URGENT = 1, WAITED_FOR, HELD };

static SCREEN *screen;
static bool colours;

bool
top_screen_begin(void)
{
	const char *no = secure_getenv("NO_COLOR");

	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return false;
	(void)cbreak();
	(void)noecho();
	(void)curs_set(0);
	(void)set_escdelay(50);
	keypad(stdscr, TRUE);
	colours = (no == NULL || *no == '\0') && has_colors() &&
	    start_color() == OK;
	if (colours) {
		(void)use_default_colors();
		(void)init_pair(URGENT, COLOR_RED, -1);
		(void)init_pair(WAITED_FOR, COLOR_YELLOW, -1);
		(void)init_pair(HELD, COLOR_GREEN, -1);
	}
	return true;
}

void
top_screen_end(void)
{
	if (screen == NULL)
		return;
	(void)endwin();
	delscreen(screen);
	screen = NULL;
}

static void
draw_line(int row, const char *text, int colour, attr_t look)
{
	char line[RATES_LINE_MAX];

	if (colours && colour != 0)
		look |= (attr_t)COLOR_PAIR(colour);
	attron(look);
	mvaddstr(row, 0, rates_fit(line, text, COLS));
	attroff(look);
}

static int
colour_of(const struct rates_key *k)
{
	if (k->waited_ns >= LONG_NS)
		return URGENT;
	return k->waiters > 0 ? WAITED_FOR : k->holders > 0 ? HELD : 0;
}

/* Returns the line of the selected key; if it is gone, that of the first. */
static size_t
find_selected(const struct top_view *view, const struct rates *l)
{
	for (size_t i = 0; i < l->n_busy; i++)
		if (strcmp(l->busy[i]->key, view->selected) == 0)
			return i;
	return 0;
}

static void
draw_keys(const struct top_view *view, const struct rates *l)
{
	size_t at = find_selected(view, l), first = 0;
	size_t room = LINES > FIRST_ROW + 1 ? (size_t)(LINES - FIRST_ROW - 1) :
	    0;
	char line[RATES_LINE_MAX];

	draw_line(FIRST_ROW - 1, rates_heading(line, COLS), 0, A_REVERSE);
	if (room > 0 && at >= room)
		first = at - room + 1;
	for (size_t i = first; i < l->n_busy && i < first + room; i++)
		draw_line(FIRST_ROW + (int)(i - first), rates_key_line(line,
		    l->busy[i], COLS), colour_of(l->busy[i]), i == at &&
		    view->selected[0] != '\0' ? A_BOLD | A_REVERSE : A_NORMAL);
}

/* Draws the holders and waiters of the key that is open. */
static void
draw_opened(const struct top_view *view)
{
	const char *p = view->key.text;

	for (int row = FIRST_ROW - 1; p != NULL && *p != '\0' &&
	    row < LINES - 1; row++) {
		size_t len = strcspn(p, "\n");
		char line[RATES_LINE_MAX];

		(void)snprintf(line, sizeof(line), "%.*s", (int)len, p);
		draw_line(row, line, 0, row == FIRST_ROW - 1 ? A_BOLD :
		    A_NORMAL);
		p += len + (p[len] == '\n');
	}
}

void
top_screen_draw(struct top_view *view, const struct rates *l, const char *table)
{
	char line[RATES_LINE_MAX], foot[RATES_LINE_MAX];

	erase();
	draw_line(0, rates_table_line(line, l, table, COLS),
	    l->stats.damaged ? URGENT : 0, A_NORMAL);
	draw_line(1, rates_total_line(line, l, COLS), 0, A_NORMAL);
	if (view->opened[0] != '\0')
		draw_opened(view);
	else
		draw_keys(view, l);
	if (view->typing || view->filter[0] != '\0')
		(void)snprintf(foot, sizeof(foot), "keys with: %s%s%s",
		    view->filter, view->typing ? "_" : "", view->typing ?
		    "   Enter: done, Esc: all keys" : "   /: change it");
	else
		(void)snprintf(foot, sizeof(foot), "%s", view->opened[0] ?
		    "q: end, Esc: all keys" : "q: end, w h g k: order, "
		    "/: filter, arrows and Enter: one key");
	draw_line(LINES - 1, foot, 0, A_DIM);
	refresh();
}

/* Moves the cursor by so many lines. */
static void
move_cursor(struct top_view *view, const struct rates *l, int by)
{
	size_t at = find_selected(view, l);

	if (l->n_busy == 0)
		return;
	if (view->selected[0] != '\0' && by < 0 && at > 0)
		at--;
	else if (view->selected[0] != '\0' && by > 0 && at + 1 < l->n_busy)
		at++;
	(void)strlcpy(view->selected, l->busy[at]->key, sizeof(view->selected));
}

static void
open_selected(struct top_view *view, const struct rates *l)
{
	move_cursor(view, l, 0);
	if (l->n_busy == 0)
		return;
	(void)strlcpy(view->opened, view->selected, sizeof(view->opened));
	top_key_free(&view->key);
	view->stale = true;
}

/* Removes the last character of the filter, which may be several bytes. */
static void
shorten_filter(char *filter)
{
	size_t len = strlen(filter);
	bool continues = len > 0;

	while (continues) {
		continues = ((unsigned char)filter[--len] & 0xc0) == 0x80 &&
		    len > 0;
		filter[len] = '\0';
	}
}

/* Changes the filter by a key press. */
static void
type_filter(struct top_view *view, int c)
{
	size_t len = strlen(view->filter);

	if (c == KEY_ESC)
		view->filter[0] = '\0';
	if (c == KEY_ESC || c == '\n' || c == '\r' || c == KEY_ENTER)
		view->typing = false;
	else if (c == KEY_BACKSPACE || c == 127 || c == 8)
		shorten_filter(view->filter);
	else if (c >= ' ' && c < 256 && c != 127 && len + 1 < TOP_FILTER_MAX) {
		view->filter[len] = (char)c;
		view->filter[len + 1] = '\0';
	}
}

/* Goes back: from one key to all of them, or from a filter to none. */
static void
go_back(struct top_view *view)
{
	if (view->opened[0] != '\0')
		view->opened[0] = '\0';
	else
		view->filter[0] = '\0';
}

static bool
press(struct top_view *view, const struct rates *l, int c)
{
	static const char letters[] = "whgk";
	const char *p = c > 0 && c < 128 ? strchr(letters, c) : NULL;

	switch (c) {
	case 'q':
	case 'Q':
		view->ended = true;
		break;
	case '/':
		view->typing = view->opened[0] == '\0';
		break;
	case KEY_UP:
		move_cursor(view, l, -1);
		break;
	case KEY_DOWN:
		move_cursor(view, l, 1);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		open_selected(view, l);
		break;
	case KEY_ESC:
	case KEY_LEFT:
	case KEY_BACKSPACE:
		go_back(view);
		break;
	case KEY_RESIZE:
		break;
	default:
		if (p == NULL)
			return false;
		view->order = (enum rates_order)(p - letters);
	}
	return true;
}

/* Without SIGHUP, as under nohup(1), nothing else ends us. */
static bool
is_terminal_gone(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, 0) == 1 && (in.revents & (POLLHUP | POLLERR |
	    POLLNVAL)) != 0;
}

bool
top_screen_wait(struct top_view *view, struct rates *l, int ms)
{
	bool again = true;
	int c;

	timeout(ms);
	c = getch();
	if (c == ERR) {
		view->ended = is_terminal_gone();
		return false;
	}
	if (view->typing)
		type_filter(view, c);
	else
		again = press(view, l, c);
	if (again) {
		rates_select(l, view->filter);
		rates_sort(l, view->order);
	}
	return again && !view->ended;
}
