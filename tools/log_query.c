/* SPDX-License-Identifier: MIT */
/* The query of `log` and `log --at` to the flight recorder, and its errors. */
#include <errno.h>
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
