/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2 and G12, crash row NK3: a call has found key "a" and is
 * stopped.  Others evict "a" and make key "b" in the same slot.  The call must
 * act on "a" or report that there is no such key, and never on "b".
 *
 * Otherwise a caller that asked for "a" would hold or read "b", or a sound
 * table would be marked as damaged.
 */
#include <errno.h>
#include <string.h>
#include "replay.h"

static struct lh *lh, *other;
static struct lh_lease got;

static int
acquire(void *unused)
{
	(void)unused;
	return replay_try(lh, "a", &got);
}

static int
never(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	fail("key '%s' with %u holders was reported", info->key,
	    info->n_holders);
	return 0;
}

static int
ask_status(void *unused)
{
	(void)unused;
	return lh_status(lh, "a", NULL, never, NULL);
}

static int
get_value(void *unused)
{
	char buf[LH_VALUE_MAX];
	size_t len;

	(void)unused;
	return lh_value_get(lh, "a", buf, &len, NULL);
}

static void
open_small(uint32_t keys)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = replay_begin();

	o.max_keys = keys;
	if (lh_open(&lh, table, &o) != 0 || lh_open(&other, table, &o) != 0)
		bail_out("no table: %s", lh_error_detail());
}

static void
end(void)
{
	is(t_findings(other), 0, "the table is sound");
	t_close(other);
	t_close(lh);
}

static uint64_t
use(const char *key)
{
	struct lh_lease l;

	is(replay_try(other, key, &l), 0, "'%s' is acquired", key);
	is(lh_release(other, &l), 0, "and released");
	return l.token;
}

/* The maker of "a" has linked it, and goes on when "b" is there. */
static void
play_maker(void)
{
	uint64_t last = 0;

	open_small(1);
	/* so that a's tokens are larger than b's will be */
	for (int i = 0; i < 3; i++)
		last = use("a");
	is(lh_evict(other, "a", 0), 1, "'a' is evicted");
	replay_stop("maker", "slot.linked", acquire, NULL);
	is(lh_evict(other, "a", 0), 1, "the new 'a' is evicted again");
	(void)use("b");
	is(replay_finish("maker"), 0, "the maker acquires 'a'");
	is(t_holders(other, "a"), 1, "'a' is held");
	cmp(got.token, >, last, "with a larger token than before");
	is(lh_verify_token(lh, "a", got.token), 0, "which verifies for 'a'");
	is(lh_release(lh, &got), 0, "released");
	end();
}

static void
play_status(void)
{
	struct lh_lease b;

	open_small(1);
	(void)use("a");
	replay_stop("asker", "snapshot.found", ask_status, NULL);
	is(lh_evict(other, "a", 0), 1, "'a' is evicted");
	is(replay_try(other, "b", &b), 0, "'b' is in its slot, and held");
	is(replay_finish("asker"), -ENOENT, "there is no key 'a'");
	is(lh_release(other, &b), 0, "released");
	end();
}

static void
set(struct lh_lease *l, const char *value)
{
	is(lh_value_set(other, l, value, strlen(value)), 0, "set %s", value);
}

/* Only the record of a's value is used again, for values of "b". */
static void
play_value(void)
{
	struct lh_lease a, b;
	char value[8];

	open_small(4);		/* and few value records */
	is(replay_try(other, "b", &b), 0, "'b' is held");
	is(replay_try(other, "a", &a), 0, "'a' is held");
	set(&a, "one");
	is(lh_release(other, &a), 0, "released");
	replay_stop("reader", "value.reading", get_value, NULL);
	is(lh_destroy(other, "a"), 0, "'a' is destroyed");
	for (int i = 0; i < 200; i++) {
		snprintf(value, sizeof(value), "v%d", i);
		set(&b, value);
	}
	is(replay_finish("reader"), -ENOENT, "there is no key 'a': %s",
	    lh_error_detail());
	is(lh_release(other, &b), 0, "released");
	end();
}

int
main(void)
{
	t_part(play_maker, 290, "the maker of the key");
	t_part(play_status, 290, "a status call");
	t_part(play_value, 290, "a reader of the key's value");
	return done();
}
