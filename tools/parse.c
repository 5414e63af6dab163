/* SPDX-License-Identifier: MIT */
/* Parses keys and the options that many verbs share, and explains options that
 * getopt_long() refused. */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "open_table.h"
#include "other_user.h"
#include "output.h"
#include "parse.h"

int
parse_key(const char *key)
{
	size_t len = strlen(key);

	if (len == 0)
		return usage_error("the key is empty: a key is 1 to %d bytes "
		    "long", KEY_MAX);
	if (len > KEY_MAX)
		return usage_error("the key is %zu bytes long: a key is 1 to "
		    "%d bytes long", len, KEY_MAX);
	return 0;
}

int
parse_times(const char *what, const char *text, uint64_t *n)
{
	if (parse_number(what, text, UINT64_MAX, n) != 0)
		return EX_BAD_USAGE;
	return *n > 0 ? 0 : usage_error("%s: 0 is no count; leave it out to go "
	    "on without an end", what);
}

int
parse_pid(const char *what, const char *text, int32_t *pid)
{
	uint64_t n;

	if (parse_number(what, text, INT32_MAX, &n) != 0)
		return EX_BAD_USAGE;
	if (n == 0)
		return usage_error("%s: 0 is no number of a process", what);
	*pid = (int32_t)n;
	return 0;
}

int
parse_uid(const char *what, const char *text, uid_t *uid)
{
	uint64_t n;

	/* the last number means "no user" to the kernel */
	if (parse_number(what, text, UINT32_MAX - 1, &n) != 0)
		return EX_BAD_USAGE;
	*uid = (uid_t)n;
	return 0;
}

int
parse_lease_id(const char *what, const char *text, uint64_t id[2])
{
	char half[17] = "";

	if (strlen(text) != 32 ||
	    strspn(text, "0123456789abcdefABCDEF") != 32)
		return usage_error("%s: '%s' is not 32 hexadecimal digits, as "
		    "status shows them", what, text);
	memcpy(half, text, 16);
	id[0] = strtoull(half, NULL, 16);
	id[1] = strtoull(text + 16, NULL, 16);
	return 0;
}

int
parse_request_id(const char *text, uint64_t id[2])
{
	int status = parse_lease_id("--request", text, id);

	return status != 0 || (id[0] | id[1]) != 0 ? status :
	    usage_error("--request: an id of zeros is none: use random digits, "
	    "new for each request");
}

int
parse_refused_option(const char *verb, int c, char **argv)
{
	const char *word = argv[optind > 0 ? optind - 1 : 0];
	bool is_long = strncmp(word, "--", 2) == 0;

	if (c == ':') {
		if (is_long)
			return usage_error("option '%s' needs a value", word);
		return usage_error("option '-%c' needs a value", optopt);
	}
	if (!is_long && optopt != 0)
		return usage_error("'%s' has no option '-%c'; 'leasehold %s "
		    "--help' lists those it has", verb, optopt, verb);
	if (optopt != 0)
		return usage_error("option '%.*s' takes no value",
		    (int)strcspn(word, "="), word);
	return usage_error("'%s' has no option '%s', or it is short for "
	    "several; 'leasehold %s --help' lists those it has", verb, word,
	    verb);
}

/*
 * The value of the options that all verbs share; no verb uses it for its own.
 */
enum { HELP = 'h', JSON = 1 << 16, SYSTEM, TABLE, UID };

static const struct option common[] = {
	{ "help", no_argument, NULL, HELP },
	{ "json", no_argument, NULL, JSON },
	{ "system", no_argument, NULL, SYSTEM },
	{ "table", required_argument, NULL, TABLE },
	{ "uid", required_argument, NULL, UID },	/* of verbs that read */
};

#define N_COMMON (sizeof(common) / sizeof(common[0]))

/* With --uid: becomes that user.  Returns 0, or the exit status. */
static int
become_user(const struct table_opts *table)
{
	if (!table->of_user)
		return 0;
	if (table->system)
		return usage_error("--uid N looks at a user's own table, and "
		    "--system at the machine's: use one of them");
	return other_user_become(table->uid);
}

bool
parse_verb_opts(const char *verb, const char *help, int argc, char **argv,
    struct table_opts *table, const struct verb_opts *own, int *status)
{
	struct option all[N_COMMON + VERB_OPTS_MAX + 1] = { { .name = NULL } };
	char letters[64];
	size_t first = own->reads ? N_COMMON : N_COMMON - 1, n = 0;
	int c;

	memcpy(all, common, first * sizeof(common[0]));
	while (own->options != NULL && own->options[n].name != NULL &&
	    n < VERB_OPTS_MAX) {
		all[first + n] = own->options[n];
		n++;
	}
	(void)snprintf(letters, sizeof(letters), ":h%s",
	    own->letters != NULL ? own->letters : "");
	*status = 0;
	opterr = 0;
	while (*status == 0 &&
	    (c = getopt_long(argc, argv, letters, all, NULL)) != -1) {
		switch (c) {
		case HELP:
			fputs(help, stdout);
			*status = output_flush(EX_YES);
			return false;
		case JSON:
			table->json = true;
			break;
		case SYSTEM:
			table->system = true;
			break;
		case TABLE:
			table->name = optarg;
			break;
		case UID:
			table->of_user = true;
			*status = parse_uid("--uid", optarg, &table->uid);
			break;
		case ':':
		case '?':
			*status = parse_refused_option(verb, c, argv);
			break;
		default:
			*status = own->take(c, optarg, own->arg);
		}
	}
	open_table_inherit(table);
	if (*status == 0)
		*status = become_user(table);
	return *status == 0;
}

bool
parse_table_opts(const char *verb, const char *help, int argc, char **argv,
    struct table_opts *table, int *status)
{
	static const struct verb_opts none = { .options = NULL };

	return parse_verb_opts(verb, help, argc, argv, table, &none, status);
}

bool
parse_look_opts(const char *verb, const char *help, int argc, char **argv,
    struct table_opts *table, int *status)
{
	static const struct verb_opts none = { .reads = true };

	return parse_verb_opts(verb, help, argc, argv, table, &none, status);
}

int
parse_refuse_uid(const struct table_opts *table, const char *what)
{
	return !table->of_user ? 0 : usage_error("%s: --uid only looks at a "
	    "user's table; become that user to change something there "
	    "(setpriv --reuid %u)", what, (unsigned)table->uid);
}
