/* SPDX-License-Identifier: MIT */
/*
 * The options of `leasehold run`.
 *
 * The options of flock(1) work: -x -s -n -w -E -c -F -o -v, their long names,
 * and -c after the key.  These differ:
 *
 *	-w	has units, and defaults to one hour
 *	-F	needs --ttl: the command replaces us and nothing can renew the
 *		lease, so its length must be chosen
 *	-s	waits behind a queued writer, so that readers that come and go
 *		do not keep it out for ever
 *	-o	is about the descriptor of --flock alone: background jobs of the
 *		command never keep the key
 *	-u	does not exist: a lease ends with its command
 *
 * A comma in KEY always divides a list (run_keys.c); -s and -x apply to all its
 * keys.
 */
#include <errno.h>
#include <getopt.h>
#include <paths.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "output.h"
#include "open_table.h"
#include "parse.h"
#include "run.h"
#include "run_keys.h"
#include "run_options.h"
#include "show.h"

static const char help[] =
"usage: leasehold run [OPTION...] KEY[,KEY...] [--] COMMAND [ARGUMENT...]\n"
"       leasehold run [OPTION...] KEY[,KEY...] -c 'SHELL COMMAND'\n"
"\n"
"Runs COMMAND while holding KEY, or all the keys; its exit status is\n"
"COMMAND's.\n"
"\n"
"  -s, --shared         share KEY with other runs that use -s\n"
"  -x, -e, --exclusive  hold KEY alone (default); the last of -s, -x counts\n"
"  -n, --nonblock       do not wait, whatever -w says\n"
"  -w, --wait TIME      wait at most that long: 10s, 1.5s, 200ms, 2m, 1h;\n"
"                       0: do not wait; forever; default 1h\n"
"  -E, --conflict-exit-code N\n"
"                       exit status when busy or timed out; default 75\n"
"      --ttl TIME       the lease's length, 1ms to 30d; default 30s; it is\n"
"                       renewed while COMMAND runs\n"
"      --priority N     higher goes first; default 0\n"
"      --scope SCOPE    ephemeral (default), local, quorum\n"
"      --policy POLICY  when others may get KEY: lease (default), strict,\n"
"                       live\n"
"      --robust         if we do not release KEY, warn later holders, until\n"
"                       a run with --robust exits 0\n"
"      --on-loss WHAT   kill (default) or warn, when the lease is lost\n"
"      --on-ask WHAT    say (default) or term, when a process asks for KEY\n"
"      --lost-exit-code N\n"
"                       exit status when the lease is lost; default 76\n"
"      --info TEXT      the purpose, up to 95 bytes, shown by list and status\n"
"      --permits N      KEY is a semaphore: hold one of its N permits\n"
"      --value TEXT     set KEY's value, up to 256 bytes\n"
"  -c, --command TEXT   run TEXT with $SHELL -c\n"
"  -F, --no-fork        become COMMAND; KEY is held until it ends, but no\n"
"                       longer than --ttl, which must be given\n"
"      --flock FILE     lock FILE as flock(1) does, too: jobs that use flock\n"
"                       on it wait for this one, and this one for them\n"
"  -o, --close          COMMAND does not inherit the descriptor of --flock\n"
"  -q, --quiet          print nothing when KEY is busy or not free in time\n"
"  -v, --verbose        print what happens\n"
"      --table NAME     use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system         use the machine's table of that name, not your own\n"
"      --help           print this\n"
"\n"
"Exit status: COMMAND's; 128+N if signal N ended it; 126, 127 it cannot be\n"
"run; 75 busy; 76 lease lost; 64 usage; 65, 69 to 73, 77 see leasehold(1).\n";

enum {
	OPT_TTL = 256, OPT_PRIORITY, OPT_SCOPE, OPT_ON_LOSS, OPT_LOST_CODE,
	OPT_TABLE, OPT_SYSTEM, OPT_INFO, OPT_POLICY, OPT_ON_ASK, OPT_PERMITS,
	OPT_VALUE, OPT_ROBUST, OPT_FLOCK,
};

static const struct option options[] = {
	{ "close", no_argument, NULL, 'o' },
	{ "command", required_argument, NULL, 'c' },
	{ "conflict-exit-code", required_argument, NULL, 'E' },
	{ "exclusive", no_argument, NULL, 'x' },
	{ "flock", required_argument, NULL, OPT_FLOCK },
	{ "help", no_argument, NULL, 'h' },
	{ "info", required_argument, NULL, OPT_INFO },
	{ "lost-exit-code", required_argument, NULL, OPT_LOST_CODE },
	{ "nb", no_argument, NULL, 'n' },
	{ "no-fork", no_argument, NULL, 'F' },
	{ "nonblock", no_argument, NULL, 'n' },
	{ "on-ask", required_argument, NULL, OPT_ON_ASK },
	{ "on-loss", required_argument, NULL, OPT_ON_LOSS },
	{ "permits", required_argument, NULL, OPT_PERMITS },
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "priority", required_argument, NULL, OPT_PRIORITY },
	{ "quiet", no_argument, NULL, 'q' },
	{ "robust", no_argument, NULL, OPT_ROBUST },
	{ "scope", required_argument, NULL, OPT_SCOPE },
	{ "shared", no_argument, NULL, 's' },
	{ "system", no_argument, NULL, OPT_SYSTEM },
	{ "table", required_argument, NULL, OPT_TABLE },
	{ "timeout", required_argument, NULL, 'w' },
	{ "ttl", required_argument, NULL, OPT_TTL },
	{ "value", required_argument, NULL, OPT_VALUE },
	{ "verbose", no_argument, NULL, 'v' },
	{ "wait", required_argument, NULL, 'w' },
	{ NULL, 0, NULL, 0 },
};

/* The option values that struct run does not have. */
struct run_args {
	bool try, ttl, help;
	const char *shell_text;
};

static int
parse_code(const char *what, const char *text, int *code)
{
	uint64_t n;

	if (parse_number(what, text, 255, &n) != 0)
		return EX_BAD_USAGE;
	*code = (int)n;
	return 0;
}

static int
parse_ttl(const char *text, int64_t *ms)
{
	if (parse_span("--ttl", text, ms) != 0)
		return EX_BAD_USAGE;
	if (*ms < 1 || *ms > LH_TTL_MAX_MS)
		return usage_error("--ttl: a lease lasts from 1ms to 30d, not "
		    "'%s'", text);
	return 0;
}

static int
parse_scope(const char *text, uint32_t *scope)
{
	for (uint32_t i = LH_EPHEMERAL; i <= LH_QUORUM; i++) {
		if (strcmp(text, show_scope(i)) == 0) {
			*scope = i;
			return 0;
		}
	}
	return usage_error("--scope: '%s' is none of ephemeral, local, quorum",
	    text);
}

static int
parse_policy(const char *text, uint32_t *policy)
{
	for (uint32_t i = LH_POLICY_LEASE; i <= LH_POLICY_LIVE; i++) {
		if (strcmp(text, show_policy(i)) == 0) {
			*policy = i;
			return 0;
		}
	}
	return usage_error("--policy: '%s' is none of lease, strict, live",
	    text);
}

static int
parse_on_loss(const char *text, bool *warn_only)
{
	*warn_only = strcmp(text, "warn") == 0;
	if (*warn_only || strcmp(text, "kill") == 0)
		return 0;
	return usage_error("--on-loss: '%s' is neither kill nor warn", text);
}

static int
parse_on_ask(const char *text, bool *term)
{
	*term = strcmp(text, "term") == 0;
	if (*term || strcmp(text, "say") == 0)
		return 0;
	return usage_error("--on-ask: '%s' is neither say nor term", text);
}

static int
parse_permits(const char *text, uint32_t *permits)
{
	uint64_t n;

	if (parse_number("--permits", text, LH_SEM_MAX, &n) != 0)
		return EX_BAD_USAGE;
	if (n == 0)
		return usage_error("--permits: a semaphore has 1 to %d permits",
		    LH_SEM_MAX);
	*permits = (uint32_t)n;
	return 0;
}

static int
take_option(struct run *r, struct run_args *a, int c, char **argv)
{
	uint64_t n;

	switch (c) {
	case 'c':
		a->shell_text = optarg;
		return 0;
	case 'e':
	case 'x':
		r->mode = LH_EXCLUSIVE;
		return 0;
	case 'E':
		return parse_code("-E", optarg, &r->busy_code);
	case 'F':
		r->no_fork = true;
		return 0;
	case 'h':
		a->help = true;
		return 0;
	case 'n':
		a->try = true;
		return 0;
	case 'o':
		r->close_flock = true;
		return 0;
	case 'q':
		message_quiet();
		return 0;
	case 's':
		r->mode = LH_SHARED;
		return 0;
	case 'v':
		r->verbose = true;
		return 0;
	case 'w':
		if (strcmp(optarg, "forever") == 0) {
			r->wait_ms = LH_WAIT_FOREVER;
			return 0;
		}
		return parse_span("-w", optarg, &r->wait_ms);
	case OPT_FLOCK:
		r->flock_path = optarg;
		return 0;
	case OPT_INFO:
		if (strlen(optarg) > LH_INFO_MAX)
			return usage_error("--info: %zu bytes, and %d are the "
			    "most", strlen(optarg), LH_INFO_MAX);
		r->more.info = optarg;
		return 0;
	case OPT_LOST_CODE:
		return parse_code("--lost-exit-code", optarg, &r->lost_code);
	case OPT_ON_ASK:
		return parse_on_ask(optarg, &r->term_on_ask);
	case OPT_ON_LOSS:
		return parse_on_loss(optarg, &r->warn_only);
	case OPT_PERMITS:
		return parse_permits(optarg, &r->permits);
	case OPT_POLICY:
		return parse_policy(optarg, &r->more.policy);
	case OPT_PRIORITY:
		if (parse_number("--priority", optarg, UINT32_MAX, &n) != 0)
			return EX_BAD_USAGE;
		r->priority = (uint32_t)n;
		return 0;
	case OPT_ROBUST:
		r->robust = true;
		return 0;
	case OPT_SCOPE:
		return parse_scope(optarg, &r->scope);
	case OPT_SYSTEM:
		r->table.system = true;
		return 0;
	case OPT_TABLE:
		r->table.name = optarg;
		return 0;
	case OPT_VALUE:
		r->more.value = optarg;
		r->more.value_len = strlen(optarg);
		if (r->more.value_len <= LH_VALUE_MAX)
			return 0;
		return usage_error("--value: %zu bytes, and %d are the most",
		    r->more.value_len, LH_VALUE_MAX);
	case OPT_TTL:
		a->ttl = true;
		return parse_ttl(optarg, &r->ttl_ms);
	default:
		return parse_refused_option("run", c, argv);
	}
}

/* Reads the arguments after the options: the key, then the command. */
static int
take_command(struct run *r, struct run_args *a, int argc, char **argv)
{
	static char dash_c[] = "-c", *shell_argv[4];
	const char *shell = secure_getenv("SHELL"), *slash;

	r->argv = argv + 1;
	if (a->shell_text == NULL && argc > 1 && strcmp(argv[1], "-c") == 0) {
		if (argc != 3)
			return usage_error("-c takes one argument, the shell "
			    "command: quote it");
		a->shell_text = argv[2];
		argc = 1;
	} else if (argc > 1 && strcmp(argv[1], "--") == 0) {
		r->argv++;
		argc--;
	}
	if (a->shell_text != NULL) {
		if (argc > 1)
			return usage_error("-c and a command ('%s'): only one "
			    "of them can be run", r->argv[0]);
		if (shell == NULL || *shell == '\0')
			shell = _PATH_BSHELL;
		shell_argv[0] = (char *)shell;
		shell_argv[1] = dash_c;
		shell_argv[2] = (char *)a->shell_text;
		r->argv = shell_argv;
		r->title = a->shell_text;
		return 0;
	}
	if (argc < 2 || r->argv[0][0] == '\0')
		return usage_error("run what? leasehold run KEY COMMAND "
		    "[ARGUMENT...]");
	slash = strrchr(r->argv[0], '/');
	r->title = slash != NULL && slash[1] != '\0' ? slash + 1 : r->argv[0];
	return 0;
}

static int
parse_arguments(struct run *r, struct run_args *a, int argc, char **argv)
{
	int c, e;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:c:eE:Fhnoqsvw:x", options,
	    NULL)) != -1) {
		e = take_option(r, a, c, argv);
		if (e != 0)
			return e;
		if (a->help)
			return 0;
	}
	open_table_inherit(&r->table);
	if (a->try)
		r->wait_ms = 0;		/* as in flock: -n overrides -w */
	if (r->no_fork && !a->ttl)
		return usage_error("-F needs --ttl: nothing renews the lease "
		    "once the command runs, so it must be as long as that");
	if (r->no_fork && r->close_flock && r->flock_path != NULL)
		return usage_error("-F and -o: COMMAND alone would hold the "
		    "flock of --flock, and is not to inherit it");
	if (r->more.value != NULL && r->mode == LH_SHARED)
		return usage_error("--value wants a key alone, not -s");
	if (optind >= argc)
		return usage_error("run under which key? leasehold run KEY "
		    "COMMAND [ARGUMENT...]");
	r->key = argv[optind];
	e = run_keys_split(r);
	if (e == 0 && r->permits != 0 && r->n > 1)
		e = usage_error("--permits: one semaphore, and '%s' is several "
		    "names", r->key);
	if (e == 0 && r->permits != 0 && r->mode != LH_EXCLUSIVE)
		e = usage_error("--permits: a permit is not shared");
	if (e == 0 && r->robust && (r->mode != LH_EXCLUSIVE || r->permits != 0
	    || r->no_fork))
		e = usage_error("--robust goes with none of -s, -F and "
		    "--permits");
	return e != 0 ? e : take_command(r, a, argc - optind, argv + optind);
}

bool
run_options_parse(struct run *r, int argc, char **argv, int *status)
{
	struct run_args a = { 0 };

	*status = parse_arguments(r, &a, argc, argv);
	if (*status == 0 && a.help) {
		fputs(help, stdout);
		*status = output_flush(EX_YES);
		return false;
	}
	return *status == 0;
}
