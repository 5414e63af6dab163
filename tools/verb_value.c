/* SPDX-License-Identifier: MIT */
/*
 * `leasehold value get|set|clear KEY`: reads or changes the value of a key.
 *
 * Only an exclusive holder sets a key's value.  So `set` and `clear` acquire
 * the key, set the value and release the key; they never override a holder.  A
 * value is bytes: `get` prints them unchanged with a line end after them.  JSON
 * has them as text if they are UTF-8, otherwise as hexadecimal digits.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
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
"usage: leasehold value get [OPTION...] KEY\n"
"       leasehold value set [OPTION...] KEY VALUE\n"
"       leasehold value clear [OPTION...] KEY\n"
"\n"
"Reads, sets or clears the value of KEY, up to 256 bytes; VALUE - is standard\n"
"input.  set and clear acquire KEY and release it again.\n"
"Exit status 0: done; 1: get: there is no value; 75: KEY is held.\n"
"\n"
"  -n, --nonblock    set, clear: do not wait for KEY\n"
"  -w, --wait TIME   wait at most that long; default 1h\n"
"      --json        get: print JSON\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root (get)\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct value {
	struct table_opts table;
	const char *key;
	char name[NAME_MAX_TEXT];	/* the key, printable */
	struct lh_acquire_opts opts;
	char byte[LH_VALUE_MAX + 1];	/* one more, to detect a value that
					 * is too long */
	size_t len;
};

static json_t *
value_json(const struct value *o, const char *table, uint64_t token)
{
	char hex[2 * LH_VALUE_MAX + 1];
	json_t *j = json_object(), *text;
	int bad;

	if (j == NULL)
		return NULL;
	for (size_t i = 0; i < o->len; i++)
		(void)sprintf(hex + 2 * i, "%02x", (unsigned char)o->byte[i]);
	text = memchr(o->byte, '\0', o->len) != NULL ? NULL :
	    json_stringn(o->byte, o->len);
	bad = json_object_set_new(j, "table", json_string(table));
	bad |= show_set_bytes(j, "key", o->key);
	bad |= text != NULL ? json_object_set_new(j, "value", text) :
	    json_object_set_new(j, "value_hex", json_string(hex));
	bad |= show_set_u64(j, "token", token);
	if (bad == 0)
		return j;
	json_decref(j);
	return NULL;
}

static int
get_value(struct value *o)
{
	uint64_t token = 0;
	struct lh *lh;
	int e, status;

	e = open_table(&lh, &o->table, LH_NO_CREATE, NULL);
	if (e == -ENOENT)
		return open_table_missing(&o->table);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	e = lh_value_get(lh, o->key, o->byte, &o->len, &token);
	if (e == -ENOENT || (e == 0 && o->len == 0)) {
		message("'%s' has no value", o->name);
		status = EX_NO;
	} else if (e != 0) {
		status = message_error(e, lh_error_detail(), "cannot read the "
		    "value of '%s'", o->name);
	} else if (o->table.json) {
		status = show_json(value_json(o, lh_table_name(lh), token),
		    EX_YES);
	} else {
		(void)fwrite(o->byte, 1, o->len, stdout);
		putchar('\n');
		status = output_flush(EX_YES);
	}
	(void)lh_close(lh);
	return status;
}

/* Prints the value, or that there is none. */
static int
set_value(struct value *o, uint32_t flags)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease lease;
	struct lh *lh;
	int e;

	more.value = o->byte;
	more.value_len = o->len;
	o->opts.more = &more;
	o->opts.flags = flags;
	e = open_table(&lh, &o->table, flags, "leasehold value");
	if (e == -ENOENT && (flags & LH_NO_CREATE))
		return EX_YES;		/* without a table there is no value */
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	e = lh_acquire(lh, o->key, &o->opts, &lease);
	if (e == 0)
		e = lh_release(lh, &lease);
	else if (e == -ENOENT && (flags & LH_NO_CREATE))
		e = 0;
	e = e == 0 ? EX_YES : message_error(e, lh_error_detail(), "the value "
	    "of '%s' is as it was", o->name);
	(void)lh_close(lh);
	return e;
}

/* Reads VALUE, or standard input. */
static int
read_value(struct value *o, const char *text)
{
	ssize_t n = 1;

	if (strcmp(text, "-") != 0) {
		o->len = strnlen(text, LH_VALUE_MAX + 1);
		memcpy(o->byte, text, o->len);
	}
	while (strcmp(text, "-") == 0 && n > 0 && o->len <= LH_VALUE_MAX) {
		n = read(STDIN_FILENO, o->byte + o->len,
		    LH_VALUE_MAX + 1 - o->len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			return message_error(-errno, NULL, "cannot read the "
			    "value");
		else
			o->len += (size_t)n;
	}
	if (o->len > LH_VALUE_MAX)
		return usage_error("the value is longer than %d bytes",
		    LH_VALUE_MAX);
	return o->len > 0 ? 0 : usage_error("an empty value is none: leasehold "
	    "value clear KEY");
}

static int
take_option(int c, char *value, void *arg)
{
	struct value *o = arg;

	if (c == 'n')
		o->opts.max_wait_ms = 0;
	else if (strcmp(value, "forever") == 0)
		o->opts.max_wait_ms = LH_WAIT_FOREVER;
	else
		return parse_span("-w", value, &o->opts.max_wait_ms);
	return 0;
}

int
verb_value(int argc, char **argv)
{
	static const struct option options[] = {
		{ "nonblock", no_argument, NULL, 'n' },
		{ "wait", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	static const struct lh_acquire_opts usual = LH_ACQUIRE_OPTS_INIT;
	struct value o = { .opts = usual };
	const struct verb_opts own = { options, "nw:", take_option, &o,
	    true };
	const char *what;
	bool set;
	int status;

	if (!parse_verb_opts("value", help, argc, argv, &o.table, &own,
	    &status))
		return status;
	what = optind < argc ? argv[optind] : "";
	set = strcmp(what, "set") == 0;
	if (!set && strcmp(what, "get") != 0 && strcmp(what, "clear") != 0)
		return usage_error("do what with a value? leasehold value "
		    "get|set|clear KEY");
	if (optind + (set ? 3 : 2) != argc)
		return usage_error("value %s takes a key%s", what,
		    set ? " and a value" : "");
	o.key = argv[optind + 1];
	if (parse_key(o.key) != 0)
		return EX_BAD_USAGE;
	if (strcmp(what, "get") != 0 && parse_refuse_uid(&o.table, "value") !=
	    0)
		return EX_BAD_USAGE;
	(void)text_name(o.name, o.key);
	if (strcmp(what, "get") == 0)
		return get_value(&o);
	if (o.table.json)
		return usage_error("value %s prints nothing: no --json", what);
	status = set ? read_value(&o, argv[optind + 2]) : 0;
	return status != 0 ? status : set_value(&o, set ? 0 : LH_NO_CREATE);
}
