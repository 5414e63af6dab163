/* SPDX-License-Identifier: MIT */
/*
 * lh_open() and lh_close(): every argument at both sides of its limits.  What
 * is refused makes no object and writes no handle, and says why.
 */
#include <errno.h>
#include <limits.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const char *table;

static struct lh_open_opts
small(void)
{
	struct lh_open_opts o = t_open_opts();

	o.max_keys = 16;
	o.max_sessions = 4;
	o.max_leases = 128;
	return o;
}

static void
refused(const struct lh_open_opts *o, int want, const char *what)
{
	struct lh *const blank = (struct lh *)(uintptr_t)0x5a5a5a5a;
	struct lh *lh = blank;

	is(lh_open(&lh, table, o), want, "%s: refused", what);
	ok(t_has_detail(), "%s: with a reason", what);
	ok(lh == blank, "%s: no handle", what);
	ok(access(t_object(table), F_OK) != 0, "%s: no object", what);
}

static void
accepted(const struct lh_open_opts *o, const char *what)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh *lh;

	if (!is(lh_open(&lh, table, o), 0, "%s: accepted", what)) {
		diag("%s", lh_error_detail());
		return;
	}
	is(lh_stats(lh, &st), 0, "%s: statistics", what);
	is(st.max_keys, o->max_keys, "%s: that many keys", what);
	is(st.max_sessions, o->max_sessions, "%s: sessions", what);
	cmp(st.max_leases, >=, o->max_leases, "%s: leases", what);
	is(st.order, o->order, "%s: order", what);
	is(lh_close(lh), 0, "%s: closes", what);
	unlink(t_object(table));
}

static void
sizes(void)
{
	static const struct {
		size_t off;
		const char *name;
		uint32_t low, high;
	} fields[] = {
		{ offsetof(struct lh_open_opts, max_keys), "max_keys", 1,
		    1u << 26 },
		{ offsetof(struct lh_open_opts, max_sessions), "max_sessions",
		    2, 4096 },
		{ offsetof(struct lh_open_opts, max_leases), "max_leases",
		    128, 4194176 },
	};
	char what[64];

	for (int i = 0; i < 3; i++) {
		struct lh_open_opts o = small();
		uint32_t *field = (uint32_t *)((char *)&o + fields[i].off);

		*field = fields[i].low - 1;
		snprintf(what, sizeof(what), "%s too small", fields[i].name);
		refused(&o, -EINVAL, what);
		*field = 0;
		refused(&o, -EINVAL, "0");
		*field = fields[i].high + 1;
		snprintf(what, sizeof(what), "%s too large", fields[i].name);
		refused(&o, -EINVAL, what);
		*field = UINT32_MAX;
		refused(&o, -EINVAL, "2^32 - 1");
		*field = fields[i].low;
		snprintf(what, sizeof(what), "least %s", fields[i].name);
		accepted(&o, what);
		*field = fields[i].low + 1;
		snprintf(what, sizeof(what), "one more %s", fields[i].name);
		accepted(&o, what);
		if (fields[i].high > 4096)
			continue;	/* gigabytes */
		*field = fields[i].high;
		snprintf(what, sizeof(what), "most %s", fields[i].name);
		accepted(&o, what);
	}
}

static void
structs(void)
{
	struct lh_open_opts o = small();

	o.size = 0;
	refused(&o, -EINVAL, "size 0");
	o.size = sizeof(o) - 1;
	refused(&o, -EINVAL, "a size too small");
	o.size = sizeof(o) + 8;
	refused(&o, -EINVAL, "a size too large");
	o.size = SIZE_MAX;
	refused(&o, -EINVAL, "a size that is none");
	o = small();
	for (int bit = 4; bit < 32; bit++) {	/* LH_FORCE is not for it */
		struct lh *lh = NULL;

		o.flags = 1u << bit;
		if (o.flags & (LH_HOLD_TIMES | LH_DURABLE | LH_NO_CLOCK_FLOOR |
		    LH_TOKENS_GLOBAL | LH_ALL_LOCAL | LH_CATCH_SIGBUS |
		    LH_LOOK | LH_RECORD))
			continue;
		if (lh_open(&lh, table, &o) != -EINVAL || lh != NULL ||
		    !t_has_detail())
			fail("flag %#x is unknown", o.flags);
	}
	o.flags = 1u << 31 | LH_NO_CREATE;
	refused(&o, -EINVAL, "an unknown flag beside a known one");
	o = small();
	o.order = 3;
	refused(&o, -EINVAL, "an unknown order");
	o.order = UINT32_MAX;
	refused(&o, -EINVAL, "an absurd order");
	o.order = LH_ORDER_BARGE;
	accepted(&o, "a known order");
	o = small();
	o.mode = 010600;
	refused(&o, -EINVAL, "a mode that is none");
	o = small();
	o.application = "";
	accepted(&o, "an empty application name");
	o.flags = LH_NO_CREATE;
	refused(&o, -ENOENT, "no table, and not to be made");
}

int
main(void)
{
	struct lh_open_opts o = small();
	struct lh *lh;

	table = t_table();
	sizes();
	structs();
	is(lh_open(NULL, table, &o), -EINVAL, "nowhere to put the handle");
	ok(t_has_detail(), "with a reason");
	ok(access(t_object(table), F_OK) != 0, "no object");
	is(lh_close(NULL), -EINVAL, "nothing to close");
	ok(t_has_detail(), "with a reason");
	is(lh_open(&lh, table, &o), 0, "opened");
	/* sizes of a table that exists are its own */
	o.max_keys = 4096;
	o.order = LH_ORDER_FIFO;
	{
		struct lh_stats st = { .size = sizeof(st) };
		struct lh *second;

		is(lh_open(&second, table, &o), 0, "other wishes are ignored");
		is(lh_stats(second, &st), 0, "statistics");
		is(st.max_keys, 16, "where the table exists");
		is(st.order, LH_ORDER_BOUNDED, "in every respect");
		is(lh_close(second), 0, "closed");
	}
	t_close(lh);
	return done();
}
