/* SPDX-License-Identifier: MIT */
/*
 * lh_open(): no name means $LEASEHOLD_TABLE; a given name wins over it; a bad
 * one in the environment is refused like any other; LH_NO_CREATE refuses to
 * make a table; the attachment knows its table's name.  The default name
 * "default" is tested by its name only: the table may be somebody's.
 *
 * Otherwise programs of one job would use different tables.
 */
#include <errno.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *env_name = t_table(), *given = t_table();
	char copy[64];
	struct lh *lh = NULL;
	int r;

	o.flags = LH_NO_CREATE;
	setenv("LEASEHOLD_TABLE", env_name, 1);
	is(lh_open(&lh, NULL, &o), -ENOENT, "LH_NO_CREATE makes nothing");
	ok(t_has_detail(), "and says so");
	is(access(t_object(env_name), F_OK), -1, "there is nothing");
	o.flags = 0;
	is(lh_open(&lh, NULL, &o), 0, "without it the table is made");
	is_str(lh_table_name(lh), env_name, "under the environment's name");
	is(access(t_object(env_name), F_OK), 0, "there it is");
	is(lh_close(lh), 0, "closed");
	is(access(t_object(env_name), F_OK), 0, "it stays");
	o.flags = LH_NO_CREATE;
	is(lh_open(&lh, NULL, &o), 0, "now LH_NO_CREATE finds it");
	is(lh_close(lh), 0, "closed");

	o.flags = 0;
	snprintf(copy, sizeof(copy), "%s", given);
	is(lh_open(&lh, copy, &o), 0, "a name that is given");
	memset(copy, 'x', sizeof(copy) - 1);
	is_str(lh_table_name(lh), given, "wins, and is copied");
	is(lh_close(lh), 0, "closed");

	/* the machine's table, by the environment: for no name alone */
	setenv("LEASEHOLD_SYSTEM", "1", 1);
	o.flags = LH_NO_CREATE;
	is(lh_open(&lh, NULL, &o), -ENOENT,
	    "$LEASEHOLD_SYSTEM: the machine's table of that name");
	ok(strstr(lh_error_detail(), "leasehold.system") != NULL,
	    "as the detail says");
	is(lh_open(&lh, given, &o), 0, "a name that is given is one's own");
	is(lh_close(lh), 0, "closed");
	unsetenv("LEASEHOLD_SYSTEM");

	setenv("LEASEHOLD_TABLE", "no/good", 1);
	is(lh_open(&lh, NULL, &o), -EINVAL, "a bad name there is refused");
	ok(t_has_detail(), "with a reason");
	unsetenv("LEASEHOLD_TABLE");
	o.flags = LH_NO_CREATE;
	r = lh_open(&lh, NULL, &o);
	if (r == 0) {
		is_str(lh_table_name(lh), "default", "the last resort");
		is(lh_close(lh), 0, "closed");
	} else {
		/* (somebody's may be there, of another version) */
		ok(r == -ENOENT || r == -EPROTO,
		    "no environment: \"default\" is not there: %d", r);
		ok(strstr(lh_error_detail(), "default") != NULL,
		    "as the detail says");
	}
	return done();
}
