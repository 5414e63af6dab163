/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/many.h, for its manual pages (tools/man3). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>

static const struct lh_item items[] = {
	{ .key = "account-17", .mode = LH_EXCLUSIVE },
	{ .key = "account-4", .mode = LH_EXCLUSIVE },
	{ .key = "rates", .mode = LH_SHARED },
};

/* Holds both accounts and the rates, or none of them. */
static int
transfer(struct lh *lh)
{
	struct lh_lease leases[3];
	int e = lh_acquire_many(lh, items, 3, NULL, leases);

	if (e != 0)
		return e;
	/* ... move the money ... */
	return lh_release_many(lh, leases, 3);
}

/* The same with leases that are renewed. */
static int
transfer_slowly(struct lh *lh)
{
	struct lh_lease second;
	struct lh_lock *lock;
	int e = lh_lock_open_many(lh, items, 3, NULL, &lock);

	if (e != 0)
		return e;
	e = lh_lock_acquire(lock, NULL);
	if (e == 0 && lh_lock_lease(lock, 1, &second) == 0)
		printf("%s: token %" PRIu64 "\n", items[1].key, second.token);
	if (e == 0)
		e = lh_lock_release(lock);
	lh_lock_close(lock);
	return e;
}

int
main(void)
{
	struct lh *lh;

	if (lh_open(&lh, NULL, NULL) != 0 || transfer(lh) != 0 ||
	    transfer_slowly(lh) != 0)
		return EXIT_FAILURE;
	return lh_close(lh) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
