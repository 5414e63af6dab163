/* SPDX-License-Identifier: MIT */
/*
 * A second shim of a table is refused, and its error names the process of the
 * first one, also while the first one just begins.
 *
 * Otherwise two shims would change one table's rights.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "support/hosts.h"

#define BEFORE 4711		/* a shim that was killed */

static recipe_engine_fn *theirs;
static char why[SHIM_WHY_MAX];
static int error;

static void
begin_second(void *arg)
{
	const struct host *h = arg;
	struct shim *second;

	why[0] = '\0';
	error = shim_open(&second, &h->opts, why);
}

/* The first one has not come to say where it listens. */
static struct engine *
open_engine(const struct kv_hooks *hooks, const struct kv_mark *mark, void *arg)
{
	begin_second(arg);
	return theirs(hooks, mark, arg);
}

static void
is_refused(const char *when)
{
	char us[32];

	(void)snprintf(us, sizeof(us), "process %d;", (int)getpid());
	is(error, -EBUSY, "%s, a second one is refused", when);
	ok(strstr(why, us) != NULL, "  and told by whom: %s", why);
}

int
main(void)
{
	struct host *a = &hosts[0];

	hosts_begin(1);
	hosts_do(begin_second, a);
	is_refused("while one runs");
	host_down(a);
	sh32_store(&a->lh->v.hdr->shim_pid, BEFORE);
	theirs = a->opts.engine;
	a->opts.engine = open_engine;
	is(host_up(a), 0, "the next one");
	is_refused("while that begins");
	a->opts.engine = theirs;
	hosts_end();
	return done();
}
