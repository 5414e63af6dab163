/* SPDX-License-Identifier: MIT */
/*
 * `leasehold gate FILE [TOKEN]`: asks whether the holder of this token may
 * pass.
 *
 * This is the library's gate for scripts.  It opens no table: the gate's state
 * is in its file.  The exit status of a refusal is 1 and each error has another
 * one that is not 0, so that "leasehold gate F T && write" is safe.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold gate [OPTION...] FILE TOKEN\n"
"       leasehold gate [--json] FILE\n"
"\n"
"Asks the gate FILE whether the holder of a fencing token may pass: not if a\n"
"larger token has passed.  Without TOKEN prints which tokens have passed.\n"
"Exit status 0: it may pass; 1: it may not, or there is no such gate.\n"
"\n"
"  -s, --shared      the token is that of a shared lease\n"
"      --durable     the answer survives a loss of power\n"
"      --no-create   FILE must exist\n"
"  -q, --quiet       print nothing when the token is refused\n"
"      --json        print JSON\n"
"      --help        print this\n";

struct gate {
	const char *path;
	uint64_t token;		/* 0: none was given */
	uint32_t mode;
	uint32_t flags;
	bool json;
};

static int
print_marks(const struct gate *o, const uint64_t mark[2], int status)
{
	json_t *j;

	if (!o->json) {
		if (o->token == 0)
			printf("exclusive %" PRIu64 "\nshared %" PRIu64 "\n",
			    mark[LH_EXCLUSIVE], mark[LH_SHARED]);
		return output_flush(status);
	}
	j = json_object();
	if (j != NULL && (show_set_bytes(j, "gate", o->path) != 0 ||
	    (o->token != 0 && (show_set_u64(j, "token", o->token) != 0 ||
	    json_object_set_new(j, "mode", json_string(show_mode(o->mode)))
	    != 0 || json_object_set_new(j, "passed",
	    json_boolean(status == EX_YES)) != 0)) ||
	    show_set_u64(j, "exclusive", mark[LH_EXCLUSIVE]) != 0 ||
	    show_set_u64(j, "shared", mark[LH_SHARED]) != 0)) {
		json_decref(j);
		j = NULL;
	}
	return show_json(j, status);
}

static int
check_token(const struct gate *o, struct lh_gate *g)
{
	int e = o->token == 0 ? 0 : lh_gate_check(g, o->token, o->mode);
	int status = e == 0 ? EX_YES : EX_NO;
	uint64_t mark[2];

	if (e == -ESTALE)
		message_busy("%s", lh_error_detail());
	else if (e != 0)
		return message_error(e, lh_error_detail(), "not known, so keep "
		    "off");
	e = lh_gate_marks(g, &mark[LH_EXCLUSIVE], &mark[LH_SHARED]);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot read the "
		    "gate");
	return print_marks(o, mark, status);
}

static int
parse_arguments(struct gate *o, int argc, char **argv, bool *done)
{
	static const struct option options[] = {
		{ "durable", no_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ "no-create", no_argument, NULL, 'n' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "shared", no_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":hqs", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			o->flags |= LH_GATE_DURABLE;
			break;
		case 'h':
			*done = true;
			fputs(help, stdout);
			return output_flush(EX_YES);
		case 'j':
			o->json = true;
			break;
		case 'n':
			o->flags |= LH_NO_CREATE;
			break;
		case 'q':
			message_quiet();
			break;
		case 's':
			o->mode = LH_SHARED;
			break;
		default:
			return parse_refused_option("gate", c, argv);
		}
	}
	if (optind == argc || argc - optind > 2)
		return usage_error("gate takes a file and a token: leasehold "
		    "gate FILE \"$LEASEHOLD_FENCE\"");
	o->path = argv[optind];
	if (optind + 1 == argc) {
		o->flags |= LH_NO_CREATE;
		return 0;
	}
	c = parse_number("the token", argv[optind + 1], INT64_MAX, &o->token);
	if (c == 0 && o->token == 0)
		return usage_error("the token: no lease has token 0");
	return c;
}

int
verb_gate(int argc, char **argv)
{
	struct gate o = { 0 };
	bool done = false;
	struct lh_gate *g;
	int status = parse_arguments(&o, argc, argv, &done), e;

	if (status != 0 || done)
		return status;
	e = lh_gate_open(&g, o.path, NULL, o.flags);
	if (e == -ENOENT && (o.flags & LH_NO_CREATE)) {
		message("there is no gate '%s'", o.path);
		return EX_NO;
	}
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "gate");
	status = check_token(&o, g);
	(void)lh_gate_close(g);
	return status;
}
