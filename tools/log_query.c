/* SPDX-License-Identifier: MIT */
/* The query of `log` and `log --at` to the flight recorder, and its errors. */
#include <errno.h>
#include <stdbool.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "log_query.h"
#include "message.h"
#include "open_table.h"

struct lh_log_opts
log_query(const struct log_opts *o)
{
	struct lh_log_opts ask = LH_LOG_OPTS_INIT;

	ask.flags = o->table.system ? LH_SYSTEM : 0;
	ask.file = o->file;
	ask.key = o->key;
	return ask;
}

static int
note_clock(const struct lh_dump_table *t, void *arg)
{
	*(bool *)arg = (t->flags & LH_DUMP_OTHER_CLOCK) != 0;
	return 1;	/* no more is asked */
}

void
log_query_warn(const struct log_opts *o)
{
	const struct lh_dump_to to = { sizeof(to), note_clock, NULL, NULL,
	    NULL };
	bool other = false;

	(void)lh_dump(o->table.name, o->file, log_query(o).flags, &to, &other);
	if (other)
		message("the table is of another time namespace: these times "
		    "are reckoned from its creation, and wrong by as much as "
		    "the clock was set since");
}

int
log_query_error(const struct log_opts *o, int error)
{
	if (error == -ENOENT && o->file == NULL)
		return open_table_missing(&o->table);
	if (error == -ENOENT) {
		message("%s", lh_error_detail());
		return EX_NO;
	}
	return message_error(error, lh_error_detail(), "cannot read the log");
}
