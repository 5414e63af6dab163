/* SPDX-License-Identifier: MIT */
/*
 * `leasehold list [PREFIX]`: who holds what.
 *
 * One line a key, in the order of their names, columns as wide as their widest
 * entry; or one JSON array.  Nothing is created by asking: where the table does
 * not exist the list is empty (JSON: []) and the exit status is 1, since the
 * question "is there such a table?" has been answered "no"; a table without
 * (matching) keys is an empty list and 0.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "show.h"
#include "tool.h"

static const char help[] =
"usage: leasehold list [OPTION...] [PREFIX]\n"
"\n"
"Lists the keys of a table, those that begin with PREFIX if it is given.\n"
"\n"
"      --json        print a JSON array\n"
"      --table NAME  that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      the machine's table of that name, not your own\n"
"      --help        print this\n";

enum { KEY, STATE, TOKEN, HOLDER, SINCE, LEFT, WAITERS, COLUMNS };

struct row {
	char *key;		/* as it is, to sort by */
	json_t *json;		/* or: */
	const char *cell[COLUMNS];	/* allocated */
};

struct list {
	struct lh *lh;
	bool json;
	struct row *rows;
	size_t n, room;
};

static char *
dup_number(uint64_t n)
{
	char *text = NULL;

	return asprintf(&text, "%" PRIu64, n) < 0 ? NULL : text;
}

static int
fill(struct list *l, struct row *r, const struct lh_key_info *info)
{
	char name[NAME_MAX_TEXT], party[PARTY_MAX], span[SPAN_MAX];
	int64_t now = lh_clock_ns(l->lh);
	const struct lh_party *p;
	int i;

	r->cell[KEY] = strdup(text_name(name, info->key));
	r->cell[STATE] = strdup(info->n_holders > 0 ? "held" : "free");
	r->cell[TOKEN] = dup_number(info->token);
	r->cell[WAITERS] = dup_number(info->n_waiters);
	if (info->n_holders > 0) {
		p = &info->holders[0];
		r->cell[HOLDER] = strdup(show_party(party, p));
		r->cell[SINCE] = strdup(text_span(span, now - p->since_ns));
		r->cell[LEFT] = strdup(text_span(span, p->expires_ns - now));
	} else {
		r->cell[HOLDER] = strdup("-");
		r->cell[SINCE] = strdup("-");
		r->cell[LEFT] = strdup("-");
	}
	for (i = 0; i < COLUMNS; i++)
		if (r->cell[i] == NULL)
			return -ENOMEM;
	return 0;
}

static int
add(const struct lh_key_info *info, void *arg)
{
	struct list *l = arg;
	struct row *r;

	if (l->n == l->room) {
		size_t room = l->room == 0 ? 64 : 2 * l->room;

		r = reallocarray(l->rows, room, sizeof(*r));
		if (r == NULL)
			return -ENOMEM;
		l->rows = r;
		l->room = room;
	}
	r = &l->rows[l->n++];
	memset(r, 0, sizeof(*r));
	r->key = strdup(info->key);
	if (r->key == NULL)
		return -ENOMEM;
	if (!l->json)
		return fill(l, r, info);
	r->json = show_key(l->lh, lh_table_name(l->lh), info->key, info);
	return r->json == NULL ? -ENOMEM : 0;
}

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->key,
	    ((const struct row *)b)->key);
}

static void
print_cells(const char *const cell[COLUMNS], const int width[COLUMNS])
{
	int i, pad;

	for (i = 0; i < COLUMNS; i++) {
		pad = width[i] - text_columns(cell[i]);
		if (i == WAITERS || i == TOKEN)
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
		"KEY", "STATE", "TOKEN", "HOLDER", "SINCE", "LEFT", "WAITERS"
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
	fputs(say_bold(1), stdout);
	print_cells(head, width);
	printf("%s\n", say_plain(1));
	for (i = 0; i < l->n; i++) {
		print_cells(l->rows[i].cell, width);
		putchar('\n');
	}
	return tool_flush(EX_YES);
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
drop(struct list *l)
{
	size_t i;
	int c;

	for (i = 0; i < l->n; i++) {
		free(l->rows[i].key);
		json_decref(l->rows[i].json);
		for (c = 0; c < COLUMNS; c++)
			free((void *)l->rows[i].cell[c]);
	}
	free(l->rows);
}

static int
ask(const struct table_opts *table, const char *prefix)
{
	struct list l = { .json = table->json };
	int e, result;

	e = tool_open(&l.lh, table, LH_NO_CREATE, NULL);
	if (e == -ENOENT) {
		if (l.json)
			return show_json(json_array(), EX_NO);
		say("there is no table '%s': nothing is held in it",
		    table_name(table));
		return EX_NO;
	}
	if (e != 0)
		return say_error(e, lh_error_detail(), "cannot open the table");
	e = lh_list(l.lh, prefix, add, &l);
	if (e != 0) {
		result = say_error(e, e == -ENOMEM ? NULL : lh_error_detail(),
		    "cannot list the table");
	} else {
		if (l.n > 0)
			qsort(l.rows, l.n, sizeof(l.rows[0]), by_key);
		result = l.json ? print_json(&l) : print_table(&l);
	}
	drop(&l);
	(void)lh_close(l.lh);
	return result;
}

int
verb_list(int argc, char **argv)
{
	struct table_opts table = { 0 };
	int status;

	if (!parse_table_opts("list", help, argc, argv, &table, &status))
		return status;
	if (optind + 1 < argc)
		return say_usage("list takes one prefix: '%s' is one too many",
		    argv[optind + 1]);
	if (optind < argc && strlen(argv[optind]) > KEY_MAX)
		return say_usage("the prefix is %zu bytes long: a key is 1 to "
		    "%d bytes long", strlen(argv[optind]), KEY_MAX);
	return ask(&table, optind < argc ? argv[optind] : NULL);
}
