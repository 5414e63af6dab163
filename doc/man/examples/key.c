/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/key.h, for its manual pages (tools/man3). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>

/* Opens a key once, and locks it as one would lock a mutex. */
static int
lock_often(struct lh *lh, int *counter)
{
	struct lh_lease lease;
	struct lh_key *key;
	int e = lh_key_open(lh, "counter", 0, &key);

	if (e != 0)
		return e;
	for (int i = 0; i < 1000 && e == 0; i++) {
		e = lh_key_lock(key, NULL);
		if (e != 0)
			break;
		++*counter;
		if (i == 0 && lh_key_lease(key, &lease) == 0)
			printf("token %" PRIu64 "\n", lease.token);
		e = lh_key_unlock(key);
	}
	lh_key_close(key);
	return e;
}

/* Acquires an opened key with a lease of 2 s, if it is free now. */
static int
try_opened_key(struct lh_key *key, struct lh_lease *lease)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	int e;

	o.max_wait_ms = 0;
	o.ttl_ms = 2000;
	e = lh_key_acquire(key, &o, lease);
	if (e != 0)
		printf("%s: %s\n", lh_key_name(key), lh_error_detail());
	return e;
}

/* Makes a key that stays, and removes it. */
static int
make_and_destroy(struct lh *lh)
{
	int e = lh_key_create(lh, "kept");

	return e != 0 ? e : lh_destroy(lh, "kept");
}

/* Removes a key, unless its robust holder has left it inconsistent. */
static int
destroy_if_consistent(struct lh *lh, const char *key)
{
	int e = lh_destroy_consistent(lh, key);

	if (e != 0)
		printf("%s: %s\n", key, lh_error_detail());
	return e;
}

/* Removes the keys of finished jobs that were not used for an hour. */
static int64_t
forget_old_jobs(struct lh *lh)
{
	return lh_evict(lh, "job-", 3600 * 1000);
}

int
main(void)
{
	struct lh_lease lease;
	struct lh_key *key;
	int counter = 0;
	struct lh *lh;

	if (lh_open(&lh, NULL, NULL) != 0 || lock_often(lh, &counter) != 0 ||
	    counter != 1000 || lh_key_open(lh, "other", 0, &key) != 0 ||
	    try_opened_key(key, &lease) != 0 || lh_release(lh, &lease) != 0 ||
	    lh_key_close(key) != 0 || make_and_destroy(lh) != 0 ||
	    destroy_if_consistent(lh, "other") != 0 || forget_old_jobs(lh) < 0)
		return EXIT_FAILURE;
	return lh_close(lh) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
