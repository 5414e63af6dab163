/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G10: releasing the same struct again succeeds, however often,
 * whatever has happened to the key and to the claim since then; a struct that
 * was never granted is refused.  Between the repetitions the process acquires
 * other keys often enough to use every record again.
 *
 * Otherwise a program that repeats a release would end another lease, or fail
 * without a reason.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

int
main(void)
{
	struct lh_lease l, zero = { .token = 0 }, others[32];
	struct lh *lh = t_open(t_table());
	int again = 0, unharmed = 0, r;
	char name[16];

	l = t_hold(lh, "k");
	is(lh_release(lh, &l), 0, "released");
	for (int i = 0; i < 10; i++)
		again += lh_release(lh, &l) == 0;
	is(again, 10, "and again and again");
	is(lh_verify(lh, &l), -ESTALE, "it is not held");
	is(lh_extend(lh, &l, 1000), -ESTALE, "and not extended");
	is(lh_release(lh, &l), 0, "and still released");

	again = 0;
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 32; i++) {
			snprintf(name, sizeof(name), "key-%d", i);
			others[i] = t_hold(lh, name);
		}
		again += lh_release(lh, &l) == 0;
		for (int i = 0; i < 32; i++)
			unharmed += lh_release(lh, &others[i]) == 0;
	}
	is(again, 50, "success while its record serves other leases");
	is(unharmed, 50 * 32, "which were there until they were released");

	r = lh_release(lh, &zero);
	ok(r == -EINVAL || r == -EPERM, "what was never granted is refused");
	ok(t_has_detail(), "with a reason");
	t_close(lh);
	return done();
}
