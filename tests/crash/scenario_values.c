/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of values: see scenario.h.
 *
 * KEY has the value OLD, and the subject sets NEW.  A later reader,
 * whatever the subject was doing, reads one of the two, whole; the
 * server, beside a stop, may have held the key meanwhile, but sets nothing.
 */
#include <errno.h>
#include <string.h>
#include "crash/subject.h"
#include "proc/attachment.h"

#define LEN 200

static char old_value[LEN], new_value[LEN];
static struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

static void
prep_values(struct trial *p)
{
	memset(old_value, 'o', LEN);
	memset(new_value, 'n', LEN);
	prep_warm(p);
}

/* KEY is held, and has the value OLD, set under an earlier lease. */
static void
prep_valued(struct trial *p)
{
	prep_values(p);
	sub_hold(p, SUB_LONG_MS);
	sub_must(p, lh_release_value(sub.lh, &p->lease, old_value, LEN),
	    "set it");
	p->has_lease = false;
}

static void
prep_set(struct trial *p)
{
	prep_valued(p);
	sub_hold(p, p->ttl_ms);
}

/* There is no memory for values yet. */
static void
prep_first(struct trial *p)
{
	prep_values(p);
	sub_hold(p, p->ttl_ms);
}

static void
prep_acquire(struct trial *p)
{
	prep_valued(p);
	more.value = new_value;
	more.value_len = LEN;
	sub.opts.more = &more;
}

static void
act_set(struct trial *p)
{
	p->result = lh_value_set(sub.lh, &p->lease, new_value, LEN);
}

static void
act_clear(struct trial *p)
{
	p->result = lh_value_set(sub.lh, &p->lease, NULL, 0);
}

static void
act_release_value(struct trial *p)
{
	p->result = lh_release_value(sub.lh, &p->lease, new_value, LEN);
}

static void
act_get(struct trial *p)
{
	char buf[LH_VALUE_MAX];
	size_t len;

	p->result = lh_value_get(sub.lh, KEY, buf, &len, NULL);
	if (p->result == 0 && (len != LEN || memcmp(buf, old_value, len) != 0))
		blame(p, "read %zu bytes that nobody set", len);
}

static void
act_destroy_valued(struct trial *p)
{
	p->result = lh_destroy(sub.lh, KEY);
}

/* A value that is there is OLD or NEW. */
static void
look_at_value(struct trial *p, struct lh *lh)
{
	char buf[LH_VALUE_MAX];
	size_t len;
	int error = lh_value_get(lh, KEY, buf, &len, NULL);

	if (error == -ENOENT || (error == 0 && len == 0))
		return;
	if (error != 0)
		blame(p, "the value cannot be read: %s", lh_error_detail());
	else if (len != LEN || (buf[0] != 'o' && buf[0] != 'n') ||
	    memcmp(buf, buf + 1, LEN - 1) != 0)
		blame(p, "a value of %zu bytes that nobody set: %.20s", len,
		    buf);
}

/* After a kill; and another one can be set, as often as there are records that
 * the dead may have kept. */
static void
check_value(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(SUB_LONG_MS, 1000);
	struct lh_lease lease;
	struct lh *lh = participant_open(p);
	int error;

	look_at_value(p, lh);
	error = lh_acquire(lh, KEY, &o, &lease);
	for (int i = 0; error == 0 && i < 10; i++)
		error = lh_value_set(lh, &lease, "another", 7);
	if (error == 0)
		error = lh_value_set(lh, &lease, NULL, 0);
	if (error == 0)
		error = lh_release(lh, &lease);
	if (error != 0)
		blame(p, "another value: %s: %s", lh_strerror(error),
		    lh_error_detail());
	check_findings(p, lh, "with values");
	(void)lh_close(lh);
	checker_check(p);
}

static void
finish_value(struct trial *p)
{
	if (sub_plausible(p) && p->result == 0)
		look_at_value(p, sub.lh);
	sub_let_go(p);
}

static const struct scenario scenarios_values[] = {
	{ .name = "value-first", .what = "set the table's first value",
	  .prepare = prep_first, .act = act_set, .finish = finish_value,
	  .check = check_value, .allowed = says_stale },
	{ .name = "value-set", .what = "set another value",
	  .stop_ttl_ms = 120, .prepare = prep_set, .act = act_set,
	  .finish = finish_value, .check = check_value,
	  .allowed = says_stale },
	{ .name = "value-clear", .what = "clear a value",
	  .stop_ttl_ms = 120, .prepare = prep_set, .act = act_clear,
	  .finish = finish_value, .check = check_value,
	  .allowed = says_stale },
	{ .name = "value-acquire", .what = "acquire with a value",
	  .prepare = prep_acquire, .act = act_acquire,
	  .finish = finish_acquire, .check = check_value,
	  .allowed = says_stale },
	{ .name = "value-release", .what = "release with a value",
	  .stop_ttl_ms = 120, .prepare = prep_set, .act = act_release_value,
	  .finish = finish_value, .check = check_value,
	  .allowed = says_stale },
	{ .name = "value-get", .what = "read a value", .prepare = prep_valued,
	  .act = act_get, .finish = finish_value, .check = check_value },
	{ .name = "value-destroy", .what = "remove a key with a value",
	  .flags = SC_LOOSE, .prepare = prep_valued,
	  .act = act_destroy_valued, .finish = finish_plain,
	  .check = check_value },
};

SCENARIOS(scenarios_values)
