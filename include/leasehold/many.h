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
 * There is no token of the set: each lease has its own, which fences what its
 * key guards.  Each lease may be extended, verified, converted and released by
 * itself, too.
 *
 * Order.  Keys are acquired in the order of their bytes, whatever the order of
 * the items: so those who acquire many keys in one call, and hold none before,
 * never wait for one another in a circle.  Whoever holds a key already while he
 * acquires others can still do so.
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
	uint32_t priority;	/* on this key: or the options', if higher */
};

/*
 * Acquire a lease on each of n keys (1 .. LH_MANY_MAX), no key twice.
 * opts->mode is not looked at; NULL: defaults as for lh_acquire().
 *
 * 0: leases[i] is that of items[i]; all are held, each with the whole ttl
 * before it (G1, G2, G3 for each).  There is one time to wait for all: keys
 * that are won already are renewed by this very call while it waits for the
 * rest (every third of the ttl; no thread is started, and no place in a queue
 * lost).  If one is lost all the same (an operator broke it, this process was
 * stopped for too long), the others are given back and all begins anew, within
 * the same time; with max_wait_ms 0 that is -EAGAIN.
 *
 * Keys of a cluster come first, whatever their names; this host's rights to all
 * of them are asked for together, and the cluster grants them all or none.
 *
 * Errors as lh_acquire(); -EINVAL: n out of range, or a key twice.  Whatever is
 * not 0: none is held, leases[] is as it was (G8); keys that were won may have
 * used up tokens.
 *
 * opts->more is for each of them.  One request id is for the whole: the same
 * items with the same id again get the same leases, or the same error, as
 * lh_acquire() says; ids that differ only in the last numbers (request[1]) are
 * not different enough: leave 2^20 between two, or take random ones.
 * A repeat that fails leaves alone what another call has: of a call that waits
 * still, and before which it gives up, the keys that are won; of one that was
 * granted all of them, and has lost one since (-ESTALE), the others.  In these
 * cases alone keys stay held after an error: they are that call's.
 */
int lh_acquire_many(struct lh *lh, const struct lh_item *items, size_t n,
    const struct lh_acquire_opts *opts, struct lh_lease *leases);

/*
 * Release every one of them, whatever becomes of the others.  0: all are free
 * now, or had been released by these structs (G10); otherwise what the first
 * that failed returned, as lh_release(): -ESTALE, it had been lost; -EPERM,
 * -EINVAL (also for n 0).
 */
int lh_release_many(struct lh *lh, struct lh_lease *leases, size_t n);

/*
 * One live handle over n keys: acquired together as above, by
 * lh_lock_acquire(), renewed together, released together.  The loss of one is
 * the loss of all: the others are released, which is done before it is told.
 * Events and lh_lock_state() speak of the item that matters (lost; not renewed;
 * otherwise the one whose deadline comes first) and name it by its index.
 * The keys are copied.  Errors as lh_lock_open(), and -EINVAL as above.
 */
int lh_lock_open_many(struct lh *lh, const struct lh_item *items, size_t n,
    const struct lh_lock_opts *opts, struct lh_lock **out);

/*
 * The last lease of a live handle's i-th key, counted from 0; of an ordinary
 * handle: of its only one.  0; -EINVAL (no such key), -EPERM.
 */
int lh_lock_lease(struct lh_lock *lock, size_t i, struct lh_lease *lease);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
