/* SPDX-License-Identifier: MIT */
/*
 * leasehold: the library as a command.
 *
 * This file answers one question: which verb is meant.  It holds the only table
 * of the verbs, and is the only file that calls one.
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
	{ "release", verb_release, "let go of what acquire took" },
	{ "convert", verb_convert, "change the mode of what acquire took" },
	{ "session", verb_session, "named sessions" },
	{ "list", verb_list, "who holds what, and who waits" },
	{ "status", verb_status, "one key: its holders and who waits" },
	{ "explain", verb_explain, "who is in the way, and what they do" },
	{ "verify", verb_verify, "is this token that of a present lease?" },
	{ "watch", verb_watch, "who comes and goes, as it happens" },
	{ "top", verb_top, "the busiest keys of a table, again and again" },
	{ "init", verb_init, "make a table" },
	{ "stats", verb_stats, "a table's sizes, and how far it is filled" },
	{ "fsck", verb_fsck, "check a table, or repair it" },
	{ "dump", verb_dump, "a picture of a table, or of a copy of one" },
	{ "break", verb_break, "end somebody else's lease" },
	{ "ask", verb_ask, "ask whoever holds a key to release it" },
	{ "sem", verb_sem, "semaphores: how one stands" },
	{ "log", verb_log, "what happened last, and who held what when" },
	{ "destroy", verb_destroy, "remove a key" },
	{ "rm", verb_rm, "remove a table" },
	{ "value", verb_value, "what stands beside a key" },
	{ "gate", verb_gate, "may the holder of this token pass?" },
	{ "version", verb_version, "which version this is" },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
print_usage(FILE *to)
{
	size_t i;

	fputs("usage: leasehold VERB [OPTION...] [ARGUMENT...]\n\n"
	    "Named locks with leases and fencing tokens for the processes of "
	    "this machine.\n\nverbs:\n", to);
	for (i = 0; i < COUNT(verbs); i++)
		fprintf(to, "  %-9s%s\n", verbs[i].name, verbs[i].what);
	fputs("\n'leasehold VERB --help' tells a verb's options; "
	    "man leasehold tells everything.\n", to);
}

static int
refuse_unknown_verb(const char *name)
{
	if (name[0] == '-')
		return usage_error("the verb comes first, options after it: "
		    "leasehold list --table x, not leasehold '%s'", name);
	return usage_error("there is no verb '%s'; 'leasehold --help' lists "
	    "those it has", name);
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	size_t i;
	int e;

	(void)setlocale(LC_CTYPE, "");	/* which bytes are letters */
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
	if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0 ||
	    strcmp(name, "-h") == 0) {
		print_usage(stdout);
		return output_flush(EX_YES);
	}
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
