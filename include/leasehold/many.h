/* SPDX-License-Identifier: MIT */
/*
 * Many keys at once: all of them, or none.
 *
 *	struct lh_item items[] = {
 *		{ .key = "account-17", .mode = LH_EXCLUSIVE },
 *		{ .key = "account-4", .mode = LH_EXCLUSIVE },
 *		{ .key = "rates", .mode = LH_SHARED },
 *	};
 *	struct lh_lease leases[3];
 *
 *	if (lh_acquire_many(lh, items, 3, NULL, leases) == 0) {
 *		transfer(leases[0].token, leases[1].token);
 *		lh_release_many(lh, leases, 3);
 *	}
 *
 * The set has no token: each lease has its own, which fences what its key
 * guards.  Each lease may also be extended, verified, converted and released by
 * itself.
 *
 * Order.  Keys are acquired in the order of their bytes, whatever the order of
 * the items.  So callers that acquire many keys in one call, and hold none
 * before, never wait for each other in a circle.  A caller that holds a key
 * already while it acquires others still can.
 */
#ifndef LEASEHOLD_MANY_H
#define LEASEHOLD_MANY_H

#include <stddef.h>
#include <stdint.h>
#include <leasehold/lease.h>
#include <leasehold/lock.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define LH_MANY_MAX 64		/* keys in one call */

struct lh_item {
	const char *key;	/* 1 .. 255 bytes */
	uint32_t mode;		/* enum lh_mode */
	uint32_t priority;	/* on this key; the options', if higher */
};

/*
 * Acquires a lease on each of n keys (1 .. LH_MANY_MAX), no key twice.
 * opts->mode is ignored; NULL: defaults as for lh_acquire().
 *
 * Returns 0: leases[i] is that of items[i]; all are held, each with the whole
 * ttl before it (G1, G2, G3 for each). One time limit applies to all.  While
 * the call waits for the rest, it renews the keys that it already holds (every
 * third of the ttl; no thread is started, and no place in a queue is lost). If
 * one is lost all the same (an operator broke it, this process was stopped for
 * too long), the others are released and the call begins again, within the same
 * time; with max_wait_ms 0 that is -EAGAIN.
 *
 * Cluster keys come first, whatever their names.  This host's rights to all of
 * them are requested together; a try that does not get all of these keeps none.
 *
 * Errors as lh_acquire(); -EINVAL: n out of range, or a key twice.  After an
 * error none is held, and leases[] is unchanged (G8); tokens may have been used
 * up.
 *
 * opts->more applies to each of them.  One request id is for the whole: the
 * same items with the same id again get the same leases, or the same error, as
 * lh_acquire() says.  Ids that differ only in the last numbers (request[1]) are
 * not different enough: leave 2^20 between two, or take random ones.  A repeat
 * that fails leaves alone the leases of another call.  These are the keys of a
 * call that still waits, when the repeat gives up first; and the remaining ones
 * of a call that was granted all and has lost one since (-ESTALE). Only in
 * these cases keys stay held after an error: they belong to that call.
 */
int lh_acquire_many(struct lh *lh, const struct lh_item *items, size_t n,
    const struct lh_acquire_opts *opts, struct lh_lease *leases);

/*
 * Releases every one of them, even if one fails.  Returns 0: all are free now,
 * or had been released by these structs (G10); otherwise the first error, as
 * lh_release(): -ESTALE, it was lost; -EPERM, -EINVAL (also for n 0).
 */
int lh_release_many(struct lh *lh, struct lh_lease *leases, size_t n);

/*
 * Makes one live handle over n keys.  They are acquired together as above, by
 * lh_lock_acquire(), renewed together and released together.  The loss of one
 * is the loss of all: the others are released before it is reported.  Events
 * and lh_lock_state() describe the item that matters (lost; not renewed;
 * otherwise the one with the earliest deadline) and name it by its index.  The
 * keys are copied.  Errors as lh_lock_open(), and -EINVAL as above.
 */
int lh_lock_open_many(struct lh *lh, const struct lh_item *items, size_t n,
    const struct lh_lock_opts *opts, struct lh_lock **out);

/*
 * Returns the last lease of a live handle's i-th key, counted from 0; for an
 * ordinary handle, of its only one.  Returns 0; -EINVAL (no such key), -EPERM.
 */
int lh_lock_lease(struct lh_lock *lock, size_t i, struct lh_lease *lease);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
