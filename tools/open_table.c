/* SPDX-License-Identifier: MIT */
/* Attaches to the table that a verb's options name. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "message.h"
#include "open_table.h"

void
open_table_inherit(struct table_opts *opts)
{
	const char *system = secure_getenv("LEASEHOLD_SYSTEM");

	if (opts->of_user)
		opts->name = open_table_name(opts);
	else if (opts->name == NULL && system != NULL &&
	    strcmp(system, "1") == 0)
		opts->system = true;
}

int
open_table(struct lh **lh, const struct table_opts *opts, uint32_t flags,
    const char *application)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;

	o.flags = flags | LH_RECORD | (opts->system ? LH_SYSTEM : 0) |
	    (opts->of_user ? LH_LOOK : 0);
	o.application = application;
	return lh_open(lh, opts->name, &o);
}

int
open_table_to_look(struct lh **lh, const struct table_opts *opts)
{
	int e = open_table(lh, opts, LH_NO_CREATE, NULL);
	char *damage;

	if (e == -ENOSPC || e == -EBUSY)
		return open_table(lh, opts, LH_LOOK, NULL);
	if (e != -EUCLEAN)
		return e;
	/* an unfinished repair does not keep anybody from looking */
	damage = strdup(lh_error_detail());
	e = open_table(lh, opts, LH_LOOK, NULL);
	if (e == 0 && damage != NULL)
		message("warning: %s", damage);
	free(damage);
	return e;
}

const char *
open_table_name(const struct table_opts *opts)
{
	const char *name = opts->name;

	if (name == NULL)
		name = secure_getenv("LEASEHOLD_TABLE");
	return name == NULL || *name == '\0' ? "default" : name;
}

int
open_table_missing(const struct table_opts *opts)
{
	message("there is no table '%s'", open_table_name(opts));
	return EX_NO;
}
