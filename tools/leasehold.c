/* SPDX-License-Identifier: MIT */
/*
 * leasehold: the library as a command.
 *
 * This file chooses the verb.  It has the only table of verbs, and no other
 * file calls a verb.  `leasehold complete` is not in the table, because only
 * the completion scripts of the shells call it (complete.c).
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "daemon/catch_sigbus.h"
#include "daemon/exit_status.h"
#include "daemon/standard_files.h"
#include "daemon/usage_error.h"
#include "complete.h"
#include "message.h"
#include "output.h"
#include "verbs.h"

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} verbs[] = {
	{ "run", verb_run, "hold a key while a command runs" },
	{ "acquire", verb_acquire, "take a key into a named session" },
	{ "renew", verb_renew, "renew a named session and its leases" },
	{ "release", verb_release, "release what acquire acquired" },
	{ "held", verb_held, "does this process belong to a run with KEY?" },
	{ "flock", verb_flock, "lock an open file descriptor, and its key" },
	{ "convert", verb_convert, "change the mode of such a lease" },
	{ "session", verb_session, "named sessions" },
	{ "list", verb_list, "who holds what, and who waits" },
	{ "status", verb_status, "one key: its holders and who waits" },
	{ "explain", verb_explain, "who blocks a key, and what they do" },
	{ "verify", verb_verify, "is this token that of a present lease?" },
	{ "watch", verb_watch, "who comes and goes, as it happens" },
	{ "top", verb_top, "the busiest keys of a table, again and again" },
	{ "tables", verb_tables, "every table of the machine" },
	{ "bench", verb_bench, "measure what locks cost on this machine" },
	{ "init", verb_init, "make a table" },
	{ "stats", verb_stats, "a table's sizes, and how far it is filled" },
	{ "fsck", verb_fsck, "check a table, or repair it" },
	{ "dump", verb_dump, "a picture of a table, or of a copy of one" },
	{ "break", verb_break, "end somebody else's lease" },
	{ "ask", verb_ask, "ask whoever holds a key to release it" },
	{ "sem", verb_sem, "semaphores: how one stands" },
	{ "log", verb_log, "what happened last, and who held what when" },
	{ "destroy", verb_destroy, "remove a key" },
	{ "mark-consistent", verb_mark_consistent, "what a key guards is "
	    "repaired" },
	{ "rm", verb_rm, "remove a table" },
	{ "value", verb_value, "what stands beside a key" },
	{ "gate", verb_gate, "may the holder of this token pass?" },
	{ "version", verb_version, "which version this is" },
};

#define WORD_MAX 32		/* longest verb */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
print_usage(FILE *to)
{
	size_t i;

	fputs("usage: leasehold VERB [OPTION...] [ARGUMENT...]\n\n"
	    "Named locks with leases and fencing tokens for the processes of "
	    "this machine.\n\nverbs:\n", to);
	for (i = 0; i < COUNT(verbs); i++)
		fprintf(to, "  %-16s%s\n", verbs[i].name, verbs[i].what);
	fputs("\n'leasehold help VERB' prints a verb's options; man leasehold "
	    "describes everything.\n", to);
}

static const char *
name_verb(size_t i, const char **what)
{
	if (i >= COUNT(verbs))
		return NULL;
	*what = verbs[i].what;
	return verbs[i].name;
}

/* Returns the output of the verb's --help, allocated, or NULL. */
static char *
capture_help(const char *name)
{
	static char dash_help[] = "--help";
	char *argv[3] = { NULL, dash_help, NULL };
	FILE *screen = stdout;
	char *text = NULL;
	size_t i, len;

	for (i = 0; i < COUNT(verbs) && strcmp(verbs[i].name, name) != 0; i++)
		;
	if (i == COUNT(verbs))
		return NULL;
	stdout = open_memstream(&text, &len);
	if (stdout != NULL) {
		argv[0] = (char *)verbs[i].name;
		optind = 0;
		(void)verbs[i].run(2, argv);
		(void)fclose(stdout);
	}
	stdout = screen;
	return text;
}

/*
 * Returns the number of edits that turn a into b: letters changed, left out,
 * inserted, or swapped with the next one (Damerau's restricted distance).
 * Returns `most` + 1 if it is more than `most`.
 */
static size_t
edit_distance(const char *a, const char *b, size_t most)
{
	size_t n = strlen(a), m = strlen(b), i, j, least;
	size_t d[WORD_MAX + 1][WORD_MAX + 1];

	if (n > WORD_MAX || m > WORD_MAX)
		return most + 1;
	for (i = 0; i <= n; i++)
		d[i][0] = i;
	for (j = 0; j <= m; j++)
		d[0][j] = j;
	for (i = 1; i <= n; i++) {
		for (j = 1; j <= m; j++) {
			least = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < least)
				least = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < least)
				least = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < least)
				least = d[i - 2][j - 2] + 1;
			d[i][j] = least;
		}
	}
	return d[n][m] > most ? most + 1 : d[n][m];
}

/* Returns the verb that is most similar to the name, or NULL if none is. */
static const char *
similar_verb(const char *name)
{
	size_t most = strlen(name) < 4 ? 1 : 2, d;
	const char *best = NULL;

	for (size_t i = 0; i < COUNT(verbs); i++) {
		d = edit_distance(name, verbs[i].name, most);
		if (d > most)
			continue;
		best = verbs[i].name;
		most = d - 1;
	}
	return best;
}

static int
refuse_unknown_verb(const char *name)
{
	const char *similar = similar_verb(name);

	if (name[0] == '-')
		return usage_error("the verb comes first, options after it: "
		    "leasehold list --table x, not leasehold '%s'", name);
	if (similar != NULL)
		return usage_error("there is no verb '%s'; did you mean '%s'?",
		    name, similar);
	return usage_error("there is no verb '%s'; 'leasehold --help' lists "
	    "those it has", name);
}

int
main(int argc, char **argv)
{
	static char dash_help[] = "--help";
	char *help_argv[4] = { NULL, NULL, dash_help, NULL };
	const char *name = argc > 1 ? argv[1] : NULL;
	size_t i;
	int e;

	(void)setlocale(LC_CTYPE, "");	/* decides which bytes are letters */
	usage_error_to(message_sentence);
	e = standard_files_open();
	if (e != 0) {
		message("cannot open /dev/null: %s", strerror(-e));
		return EX_SYSTEM;
	}
	catch_sigbus();
	if (name == NULL) {
		print_usage(stderr);
		return EX_BAD_USAGE;
	}
	if (strcmp(name, "help") == 0 && argc > 2) {
		if (argc > 3)
			return usage_error("help takes one verb: '%s' is one "
			    "too many", argv[3]);
		name = help_argv[1] = argv[2];
		argv = help_argv;
		argc = 3;
	} else if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0 ||
	    strcmp(name, "-h") == 0) {
		print_usage(stdout);
		return output_flush(EX_YES);
	}
	if (strcmp(name, "complete") == 0)
		return complete_words(&(struct complete_verbs){ name_verb,
		    capture_help }, argc - 2, argv + 2);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	for (i = 0; i < COUNT(verbs); i++) {
		if (strcmp(name, verbs[i].name) == 0) {
			optind = 0;
			return verbs[i].run(argc - 1, argv + 1);
		}
	}
	return refuse_unknown_verb(name);
}
