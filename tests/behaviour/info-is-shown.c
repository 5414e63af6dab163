/* SPDX-License-Identifier: MIT */
/*
 * lh_acquire_more.info: the text that a requester gives is shown with its wait
 * and with its lease, and with no other: not with the next use of the same
 * claim, and not for another key.  It stays with a lease that is converted.
 *
 * Otherwise `leasehold status` would describe a holder by the text of another.
 */
#include <errno.h>
#include <string.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

struct seen {
	char holder[LH_INFO_MAX + 1], waiter[LH_INFO_MAX + 1];
};

static int
look(const struct lh_key_info *info, void *arg)
{
	struct seen *s = arg;

	memset(s, 0, sizeof(*s));
	if (info->n_holders > 0)
		memcpy(s->holder, info->holders[0].info, sizeof(s->holder));
	if (info->n_waiters > 0)
		memcpy(s->waiter, info->waiters[0].info, sizeof(s->waiter));
	return 0;
}

static struct seen
seen(struct lh *lh, const char *key)
{
	struct seen s;

	is(lh_status(lh, key, NULL, look, &s), 0, "status of %s", key);
	return s;
}

static int
hold_with(struct lh *lh, const char *key, const char *info, uint32_t mode,
    struct lh_lease *l)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, 0);

	o.mode = mode;
	o.more = &more;
	more.info = info;
	return lh_acquire(lh, key, &o, l);
}

static int
wait_with(struct t_actor *a, void *arg)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, T_HANG_MS);

	(void)arg;
	o.more = &more;
	more.info = "the one who waits";
	return lh_acquire(a->lh, "k", &o, &a->lease);
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct lh *lh = t_open(table);
	struct lh_lease l, plain;
	char most[LH_INFO_MAX + 2];
	struct seen s;

	is(hold_with(lh, "k", "the one who holds", LH_EXCLUSIVE, &l), 0,
	    "acquired with info");
	t_begin(a, wait_with, NULL);
	ok(t_await_waiters(lh, "k", 1), "another waits");
	s = seen(lh, "k");
	ok(strcmp(s.holder, "the one who holds") == 0, "the holder's: '%s'",
	    s.holder);
	ok(strcmp(s.waiter, "the one who waits") == 0, "the waiter's: '%s'",
	    s.waiter);
	is(lh_release(lh, &l), 0, "released");
	is(t_result(a), 0, "the other has it");
	s = seen(lh, "k");
	ok(strcmp(s.holder, "the one who waits") == 0, "then it is the "
	    "holder's: '%s'", s.holder);
	is(t_do_release(a), 0, "and released");

	for (int i = 0; i < 20; i++) {
		plain = t_hold(lh, "k");
		s = seen(lh, "k");
		if (s.holder[0] != '\0')
			break;
		(void)lh_release(lh, &plain);
	}
	ok(s.holder[0] == '\0', "who says nothing has none");

	is(hold_with(lh, "shared", "a reader", LH_SHARED, &l), 0, "a reader");
	s = seen(lh, "shared");
	ok(strcmp(s.holder, "a reader") == 0, "'%s'", s.holder);
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "becomes a writer");
	s = seen(lh, "shared");
	ok(strcmp(s.holder, "a reader") == 0, "and still is '%s'", s.holder);
	is(lh_release(lh, &l), 0, "released");

	memset(most, 'x', sizeof(most));
	most[LH_INFO_MAX + 1] = '\0';
	is(hold_with(lh, "long", most, LH_EXCLUSIVE, &l), -EINVAL,
	    "96 bytes are refused");
	ok(t_has_detail(), "with a reason");
	most[LH_INFO_MAX] = '\0';
	is(hold_with(lh, "long", most, LH_EXCLUSIVE, &l), 0, "95 are not");
	s = seen(lh, "long");
	ok(strcmp(s.holder, most) == 0, "and are all there");
	is(lh_release(lh, &l), 0, "released");
	t_actor_end(a);
	t_close(lh);
	return done();
}
