/* SPDX-License-Identifier: MIT */
/*
 * `leasehold convert KEY ID TOKEN`: changes the mode of a lease in a named
 * session without releasing the key in between.
 *
 * The lease gets a new id and token, which are printed as `acquire` prints
 * them.  The old ones are no longer valid.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold convert [OPTION...] -s|-x KEY ID TOKEN\n"
"\n"
"Changes the mode of the lease on KEY that has that id and token, as acquire\n"
"printed them, and prints its new id and token.  It must be in a named\n"
"session.\n"
"Exit status 0; 75: other readers did not leave in time, or one of them waits\n"
"for the same conversion; 76: the lease is lost.\n"
"\n"
"  -s, --shared      share KEY with other readers\n"
"  -x, --exclusive   hold KEY exclusively\n"
"  -w, --wait TIME   with -x, wait that long for readers to leave (default:\n"
"                    not at all), or \"forever\"\n"
"      --json        print JSON\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct convert {
	struct table_opts table;
	struct lh_acquire_opts opts;	/* of which the wait time is used */
	bool chosen;
	const char *key;
	uint64_t id[2], token;
};

static int
print_lease(const struct convert *c, struct lh *lh, const struct lh_lease *l)
{
	char id[LEASE_ID_MAX];
	json_t *o;

	if (!c->table.json) {
		printf("%s %" PRIu64 "\n", text_lease_id(id, l->id), l->token);
		return output_flush(EX_YES);
	}
	o = json_pack("{s:s, s:s}", "lease", text_lease_id(id, l->id),
	    "mode", show_mode(l->mode));
	if (o != NULL && (show_set_bytes(o, "key", c->key) != 0 ||
	    show_set_u64(o, "token", l->token) != 0 ||
	    show_set_u64(o, "expires_ms", (uint64_t)lh_epoch_ms(lh,
	    l->expires_ns)) != 0)) {
		json_decref(o);
		o = NULL;
	}
	return show_json(o, EX_YES);
}

static int
convert_lease(const struct convert *c)
{
	char name[NAME_MAX_TEXT];
	struct lh_lease lease;
	struct lh *lh;
	int e = open_table(&lh, &c->table, LH_NO_CREATE, NULL), status;

	if (e == -ENOENT) {
		(void)open_table_missing(&c->table);
		return EX_LOST;
	}
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	e = lh_lease_recall(lh, c->key, c->id, c->token, &lease);
	if (e == 0)
		e = lh_convert_wait(lh, &lease, c->opts.mode, &c->opts);
	if (e == 0)
		status = print_lease(c, lh, &lease);
	else
		status = message_error(e, lh_error_detail(), "the lease on "
		    "'%s' is not %s", text_name(name, c->key), c->opts.mode ==
		    LH_SHARED ? "shared" : "exclusive");
	if (e == -ESTALE || e == -ENOENT)
		status = EX_LOST;
	(void)lh_close(lh);
	return status;
}

static int
choose_mode(struct convert *c, uint32_t mode)
{
	if (c->chosen && c->opts.mode != mode)
		return usage_error("convert: -s and -x exclude each other");
	c->chosen = true;
	c->opts.mode = mode;
	return 0;
}

static int
take_option(int letter, char *value, void *arg)
{
	struct convert *c = arg;

	switch (letter) {
	case 's':
		return choose_mode(c, LH_SHARED);
	case 'x':
		return choose_mode(c, LH_EXCLUSIVE);
	default:			/* 'w' */
		if (strcmp(value, "forever") == 0) {
			c->opts.max_wait_ms = LH_WAIT_FOREVER;
			return 0;
		}
		return parse_span("-w", value, &c->opts.max_wait_ms);
	}
}

int
verb_convert(int argc, char **argv)
{
	static const struct option options[] = {
		{ "exclusive", no_argument, NULL, 'x' },
		{ "shared", no_argument, NULL, 's' },
		{ "wait", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	struct convert c = { .opts = LH_ACQUIRE_OPTS_INIT };
	const struct verb_opts own = { .options = options,
	    .letters = "sxw:", .take = take_option, .arg = &c };
	int status;

	c.opts.max_wait_ms = 0;
	if (!parse_verb_opts("convert", help, argc, argv, &c.table, &own,
	    &status))
		return status;
	if (!c.chosen)
		return usage_error("convert to which mode? -s (shared) or -x "
		    "(exclusive)");
	if (optind + 3 != argc)
		return usage_error("convert takes a key, an id and a token: "
		    "leasehold convert -x KEY ID TOKEN");
	c.key = argv[optind];
	if (parse_key(c.key) != 0 ||
	    parse_lease_id("the id", argv[optind + 1], c.id) != 0 ||
	    parse_number("the token", argv[optind + 2], INT64_MAX,
	    &c.token) != 0)
		return EX_BAD_USAGE;
	return convert_lease(&c);
}
