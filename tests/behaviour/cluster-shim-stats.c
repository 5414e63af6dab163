/* SPDX-License-Identifier: MIT */
/*
 * lh_shim_stats() (leasehold/inspect.h) returns the shim's own words once, or
 * says why there are none: no shim, one that says nothing, or one that says
 * something else.
 *
 * Otherwise an operator would read the figures of nobody, or an old answer.
 */
#include <errno.h>
#include "support/part.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

static int told;
static char text[64];

static void
tell(const char *words, void *arg)
{
	told++;
	(void)snprintf(text, sizeof(text), "%s", words);
	ok(arg == &told, "with what is the caller's");
}

/* There is no shim, and the callback is not called. */
static void
none(struct lh *lh, int error, const char *why)
{
	told = 0;
	is(lh_shim_stats(lh, tell, &told), error, "%s", why);
	ok(t_has_detail(), "in words: %s", lh_error_detail());
	is(told, 0, "and the callback is not called");
}

static void
play(void)
{
	struct lh *lh = t_open(t_table());
	struct t_shim *s;

	none(NULL, -EINVAL, "no table");
	is(lh_shim_stats(lh, NULL, NULL), -EINVAL, "nobody to tell it to");
	ok(t_has_detail(), "in words");
	none(lh, -EHOSTUNREACH, "no shim has ever been here");
	s = t_shim(lh_table_name(lh));
	for (int i = 0; i < 2; i++) {
		told = 0;
		is(lh_shim_stats(lh, tell, &told), 0, "a shim");
		is(told, 1, "tells once");
		is_str(text, "shim_of_a_test 1\n", "what it says");
	}
	s->says = SHIM_AWAY;
	none(lh, -EPROTO, "one that answers something else");
	s->says = SHIM_SILENT;
	none(lh, -EHOSTUNREACH, "one that does not answer");
	s->says = SHIM_GRANTS;
	told = 0;
	is(lh_shim_stats(lh, tell, &told), 0, "its answers are its own again");
	t_stop(s->pid);
	none(lh, -EHOSTUNREACH, "one that is stopped");
	t_cont(s->pid);
	t_shim_kill(s);
	none(lh, -EHOSTUNREACH, "one that is killed");
	t_close(lh);
}

int
main(void)
{
	t_part(play, 600, "cluster shim stats");
	return done();
}
