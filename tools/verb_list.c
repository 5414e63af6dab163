/* SPDX-License-Identifier: MIT */
/*
 * `leasehold list [PREFIX]`: lists keys, their holders and their waiters.
 *
 * One line a key, sorted by name, with columns as wide as their widest entry;
 * or one JSON array.  Below a key's line follow its readers, if there are
 * several, and its waiters in the order in which they will be granted:
 *
 *	KEY         MODE       TOKEN  WHO         SINCE  LEFT  WAITERS  PRIORITY
 *	config      shared        12  2 readers   9.1 s  29 s        2         -
 *	  holder    shared        11  show[4712]  9.1 s  22 s        -         -
 *	  holder    shared        12  show[4713]  5.0 s  29 s        -         -
 *	  waiter 1  exclusive      -  edit[4714]  1.0 s  -           -         9
 *	  waiter 2  shared         -  show[4715]  0.9 s  -           -         0
 *
 * A key that nobody may acquire yet, because a session that held it ended
 * uncleanly (its lock-delay), is "delayed", and LEFT says for how long.
 *
 * A cluster key that the table shows as free, to which this host has no right,
 * is asked for in the cluster, so that it is not called free while another host
 * has it: "elsewhere", or "unknown".
 *
 * Only a key's own line has a number of waiters, so it differs from the other
 * lines whatever the key is called.
 *
 * Nothing is created.  If the table does not exist, the list is empty (JSON:
 * []) and the exit status is 1. A table without (matching) keys gives an empty
 * list and 0.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "show_state.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold list [OPTION...] [PREFIX]\n"
"\n"
"Lists the keys of a table, or only those that begin with PREFIX, with their\n"
"holders and waiters.\n"
"\n"
"      --held        only keys that are held\n"
"      --json        print a JSON array\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

#define ASK_NS INT64_C(2000000000)	/* the cluster, for all keys */

enum { KEY, MODE, TOKEN, WHO, SINCE, LEFT, WAITERS, PRIORITY, COLUMNS };

/* A line while it is being built. */
struct line {
	char cell[COLUMNS][NAME_MAX_TEXT];
};

/* A line, or a key as JSON. Its pointers point into `text`. */
struct row {
	const char *key;	/* unescaped, to sort by */
	size_t nr;		/* keeps the lines of one key in order */
	const char *cell[COLUMNS];
	char *text;
	json_t *json;
};

struct list {
	struct lh *lh;
	bool json;
	bool held;		/* only held keys */
	int64_t ask_until_ns;	/* how long the cluster is asked; 0: not yet */
	struct row *rows;
	size_t n, room;
};

static void
clear_line(struct line *line)
{
	int i;

	for (i = 0; i < COLUMNS; i++)
		(void)strcpy(line->cell[i], "-");
}

/* Copies both texts into one allocation. */
static int
copy_texts(struct row *r, const char *key, const struct line *line)
{
	size_t len = strlen(key) + 1, n;
	char *p;
	int i;

	for (i = 0; line != NULL && i < COLUMNS; i++)
		len += strlen(line->cell[i]) + 1;
	r->text = p = malloc(len);
	if (p == NULL)
		return -ENOMEM;
	n = strlen(key) + 1;
	r->key = memcpy(p, key, n);
	for (i = 0; line != NULL && i < COLUMNS; i++) {
		p += n;
		n = strlen(line->cell[i]) + 1;
		r->cell[i] = memcpy(p, line->cell[i], n);
	}
	return 0;
}

/* line is NULL for JSON. Returns the row, or NULL without memory. */
static struct row *
add_row(struct list *l, const char *key, const struct line *line)
{
	struct row *r;

	if (l->n == l->room) {
		size_t room = l->room == 0 ? 64 : 2 * l->room;

		r = reallocarray(l->rows, room, sizeof(*r));
		if (r == NULL)
			return NULL;
		l->rows = r;
		l->room = room;
	}
	r = &l->rows[l->n];
	memset(r, 0, sizeof(*r));
	r->nr = l->n;
	if (copy_texts(r, key, line) != 0)
		return NULL;
	l->n++;
	return r;
}

static void
format_number(char cell[NAME_MAX_TEXT], uint64_t n)
{
	(void)snprintf(cell, NAME_MAX_TEXT, "%" PRIu64, n);
}

static void
format_party(struct line *line, const struct lh_party *p, int64_t now)
{
	char span[SPAN_MAX], info[INFO_MAX_TEXT];

	(void)show_party(line->cell[WHO], p);
	(void)strcat(line->cell[WHO], show_info(info, ": ", p));
	(void)strcpy(line->cell[MODE], show_mode(p->mode));
	(void)strcpy(line->cell[SINCE], text_span(span, now - p->since_ns));
	if (p->rank == 0)
		(void)strcpy(line->cell[LEFT], show_left(span, p, now));
}

static int
add_key_row(struct list *l, const struct lh_key_info *info, int64_t now)
{
	enum key_state state = show_state(info);
	struct line line;
	char span[SPAN_MAX];

	clear_line(&line);
	if (state == KEY_ELSEWHERE || state == KEY_UNKNOWN) {
		(void)strcpy(line.cell[MODE], state == KEY_UNKNOWN ? "unknown" :
		    "elsewhere");
		(void)snprintf(line.cell[WHO], sizeof(line.cell[WHO]), "%s",
		    show_state_where(info));
	} else if (state == KEY_HELD) {
		format_party(&line, show_oldest(info), now);
	} else {
		(void)strcpy(line.cell[MODE], info->delayed_ns > 0 ?
		    "delayed" : info->inconsistent ? "inconsistent" : "free");
	}
	if (info->n_holders == 0 && info->delayed_ns > 0)
		(void)strcpy(line.cell[LEFT], text_span(span,
		    info->delayed_ns));
	if (info->n_holders > 1 && state == KEY_HELD) {
		(void)snprintf(line.cell[WHO], sizeof(line.cell[WHO]),
		    "%" PRIu32 " readers", info->n_holders);
		(void)strcpy(line.cell[LEFT],
		    show_left(span, show_last(info), now));
	}
	(void)text_name(line.cell[KEY], info->key);
	format_number(line.cell[TOKEN], show_token(info));
	format_number(line.cell[WAITERS], info->n_waiters);
	return add_row(l, info->key, &line) == NULL ? -ENOMEM : 0;
}

static int
add_party_row(struct list *l, const char *key, const struct lh_party *p,
    int64_t now)
{
	struct line line;

	clear_line(&line);
	if (p->rank == 0) {
		(void)strcpy(line.cell[KEY], "  holder");
		if (p->token != 0)	/* just granted, not yet noticed by
					 * the waiter */
			format_number(line.cell[TOKEN], p->token);
	} else {
		(void)snprintf(line.cell[KEY], sizeof(line.cell[KEY]),
		    "  waiter %" PRIu32, p->rank);
		format_number(line.cell[PRIORITY], p->priority);
	}
	format_party(&line, p, now);
	return add_row(l, key, &line) == NULL ? -ENOMEM : 0;
}

static int add_key_rows(const struct lh_key_info *info, void *arg);

/* True if the table does not show whether the key is free. */
static bool
must_ask_cluster(const struct lh_key_info *info)
{
	return info->cluster != LH_CLUSTER_LOCAL &&
	    info->cluster != LH_CLUSTER_EXCLUSIVE &&
	    !show_state_is_held_here(info);
}

/* Reports the key with what the cluster says.  Returns what add_key_rows()
 * does; or 1: there is no key of that name any more. */
static int
ask_cluster(struct list *l, const struct lh_key_info *info, int64_t now)
{
	struct lh_key_info unasked = *info;
	int e;

	if (l->ask_until_ns == 0)
		l->ask_until_ns = now + ASK_NS;
	if (now < l->ask_until_ns) {
		e = lh_status(l->lh, info->key, NULL, add_key_rows, l);
		return e == -ENOENT ? 1 : e;
	}
	unasked.others = LH_OTHERS_UNKNOWN;
	unasked.elsewhere = "there was no time to ask the cluster";
	return add_key_rows(&unasked, l);
}

static int
add_key_rows(const struct lh_key_info *info, void *arg)
{
	struct list *l = arg;
	int64_t now = lh_clock_ns(l->lh);
	struct row *r;
	uint32_t i;
	int e;

	if (info->others == LH_OTHERS_UNASKED && must_ask_cluster(info)) {
		e = ask_cluster(l, info, now);
		if (e <= 0)
			return e;
	}
	if (l->held && show_state(info) == KEY_FREE)
		return 0;
	if (l->json) {
		r = add_row(l, info->key, NULL);
		if (r != NULL)
			r->json = show_key(l->lh, lh_table_name(l->lh),
			    info->key, info);
		return r == NULL || r->json == NULL ? -ENOMEM : 0;
	}
	e = add_key_row(l, info, now);
	for (i = 0; e == 0 && info->n_holders > 1 && i < info->n_holders; i++)
		e = add_party_row(l, info->key, &info->holders[i], now);
	for (i = 0; e == 0 && i < info->n_waiters; i++)
		e = add_party_row(l, info->key, &info->waiters[i], now);
	return e;
}

static int
compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order != 0 ? order : (x->nr > y->nr) - (x->nr < y->nr);
}

static void
print_cells(const char *const cell[COLUMNS], const int width[COLUMNS])
{
	int i, pad;

	for (i = 0; i < COLUMNS; i++) {
		pad = width[i] - text_columns(cell[i]);
		if (i == TOKEN || i == WAITERS || i == PRIORITY)
			printf("%*s%s", pad, "", cell[i]);
		else
			printf("%s%*s", cell[i], pad, "");
		if (i + 1 < COLUMNS)
			printf("  ");
	}
}

static int
print_table(const struct list *l)
{
	static const char *const head[COLUMNS] = {
		"KEY", "MODE", "TOKEN", "WHO", "SINCE", "LEFT", "WAITERS",
		"PRIORITY"
	};
	int width[COLUMNS], w, c;
	size_t i;

	for (c = 0; c < COLUMNS; c++) {
		width[c] = text_columns(head[c]);
		for (i = 0; i < l->n; i++) {
			w = text_columns(l->rows[i].cell[c]);
			if (w > width[c])
				width[c] = w;
		}
	}
	fputs(message_bold(1), stdout);
	print_cells(head, width);
	printf("%s\n", message_plain(1));
	for (i = 0; i < l->n; i++) {
		print_cells(l->rows[i].cell, width);
		putchar('\n');
	}
	return output_flush(EX_YES);
}

static int
print_json(const struct list *l)
{
	json_t *all = json_array();
	size_t i;

	for (i = 0; all != NULL && i < l->n; i++) {
		if (json_array_append(all, l->rows[i].json) != 0) {
			json_decref(all);
			all = NULL;
		}
	}
	return show_json(all, EX_YES);
}

static void
free_rows(struct list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		json_decref(l->rows[i].json);
		free(l->rows[i].text);
	}
	free(l->rows);
}

static int
list_keys(const struct table_opts *table, const char *prefix, bool held)
{
	struct list l = { .json = table->json, .held = held };
	int e, result;

	e = open_table_to_look(&l.lh, table);
	if (e == -ENOENT) {
		if (l.json)
			return show_json(json_array(), EX_NO);
		message("there is no table '%s': nothing is held in it",
		    open_table_name(table));
		return EX_NO;
	}
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	e = lh_list(l.lh, prefix, add_key_rows, &l);
	if (e != 0) {
		result = message_error(e, e == -ENOMEM ? NULL :
		    lh_error_detail(), "cannot list the table");
	} else {
		if (l.n > 0)
			qsort(l.rows, l.n, sizeof(l.rows[0]), compare_rows);
		result = l.json ? print_json(&l) : print_table(&l);
	}
	free_rows(&l);
	(void)lh_close(l.lh);
	return result;
}

static int
take_option(int c, char *value, void *arg)
{
	*(bool *)arg = true;	/* --held */
	return 0;
}

int
verb_list(int argc, char **argv)
{
	static const struct option options[] = {
		{ "held", no_argument, NULL, 256 },
		{ NULL, 0, NULL, 0 },
	};
	struct table_opts table = { 0 };
	bool held = false;
	const struct verb_opts own = { options, NULL, take_option, &held,
	    true };
	int status;

	if (!parse_verb_opts("list", help, argc, argv, &table, &own, &status))
		return status;
	if (optind + 1 < argc)
		return usage_error("list takes one prefix: '%s' is one too "
		    "many", argv[optind + 1]);
	if (optind < argc && strlen(argv[optind]) > KEY_MAX)
		return usage_error("the prefix is %zu bytes long: a key is 1 "
		    "to %d bytes long", strlen(argv[optind]), KEY_MAX);
	return list_keys(&table, optind < argc ? argv[optind] : NULL, held);
}
