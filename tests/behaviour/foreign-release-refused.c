/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G11: a caller that is not the owner can do nothing with a lease,
 * even with an exact copy of its struct: another process, and another
 * attachment of the holder's own process.  Release, extend and verify return
 * -EPERM with a reason in words, and the lease and its struct are unchanged.
 * The same for a lease whose session has ended.
 *
 * Otherwise any process that learns a lease's bytes could release the key of
 * another.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static void
refused(struct lh *stranger, const struct lh_lease *lease, int want,
    const char *who)
{
	struct lh_lease copy = *lease;
	int r;

	is(lh_release(stranger, &copy), want, "%s cannot release it", who);
	ok(t_has_detail(), "and the error says why");
	r = lh_extend(stranger, &copy, 1);
	is(r, want, "%s cannot extend it", who);
	ok(t_has_detail(), "and the error says why");
	is(lh_verify(stranger, &copy), want, "%s cannot verify it", who);
	ok(t_has_detail(), "and the error says why");
	ok(memcmp(&copy, lease, sizeof(copy)) == 0, "its struct is unchanged");
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct lh *lh = t_open(table), *twin = t_open(table);
	struct lh_lease mine, other;

	is(t_do_acquire(a, "k", 3600000, 0), 0, "a process holds the key");
	refused(lh, &a->lease, -EPERM, "another process");
	is(t_acquire(lh, "k", 1000, 0, &other), -EAGAIN, "still held");
	is(lh_verify_token(lh, "k", a->lease.token), 0, "by the same");
	is(t_do_verify(a), 0, "who knows nothing of it");

	mine = t_hold(lh, "l");
	refused(twin, &mine, -EPERM, "another attachment");
	is(lh_verify(lh, &mine), 0, "the holder still has it");
	is(lh_release(lh, &mine), 0, "and releases it");

	other = a->lease;
	is(t_do_release(a), 0, "the process releases");
	mine = t_hold(lh, "k");
	refused(twin, &other, -EPERM, "a stranger, after the release,");
	is(lh_verify(lh, &mine), 0, "the successor's lease is as it was");
	is(lh_release(lh, &mine), 0, "released");

	t_actor_end(a);
	is(lh_close(twin), 0, "the other attachment closes");
	t_close(lh);
	return done();
}
