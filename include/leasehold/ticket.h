/* SPDX-License-Identifier: MIT */
/*
 * Tickets: waiting for a key without a thread that waits.
 *
 *	lh_acquire_start(lh, "nightly-report", NULL, &ticket);
 *	poll(lh_ticket_fd(ticket), ...);	beside all else
 *	if (lh_ticket_finish(ticket, &lease) == 0)
 *		do_it();
 *
 * A ticket stands in the key's queue like any waiter, in the same order (G7),
 * and is granted the key by the same steps.  They are taken by the one thread
 * of the process that also serves live handles, and by your own calls.
 *
 * The lease of a ticket begins with the grant, and not when you come for it:
 * from then on its ttl runs, and others wait.  Choose a ttl that leaves you
 * time for that, or LH_KEEP: then it is renewed, every third of the ttl, until
 * you have it.
 *
 * What a lease can be asked for beside (opts->more), a ticket can be, too, and
 * it has its own copies of it:
 *	session	granted, the lease is handed over to it; the ticket has a
 *		handle of its own, so that yours may be closed
 *	request	a repeat is answered as lh_acquire() answers it (G10); one that
 *		finds the first waiting still waits for what comes of that,
 *		within its own time, then -ETIMEDOUT; an answer of -EAGAIN is
 *		given as -ETIMEDOUT.  A ticket that is cancelled is a request
 *		that failed with -ECANCELED, or whose lease was released; one
 *		that repeats a request that was granted before leaves its lease
 *	holder	counted re-entry; a ticket beside one of the same holder is
 *		granted when that is
 *	value	set right after the grant
 *
 * Each waiting ticket takes one of the table's leases.  Thousands are fine; a
 * descriptor is made for those alone that are asked for one.  One for a cluster
 * key that this host has not got yet has a connection to the shim, too: some
 * hundreds are fine.
 *
 * Legal: use by any number of threads, but for the call that ends a ticket.
 * Illegal: use of a ticket after lh_ticket_finish() has returned anything but
 * -EAGAIN (or -EINVAL, -EPERM), or after lh_ticket_cancel(): -EINVAL (error.h).
 *
 * fork	What a child does with an inherited ticket is -EPERM.
 * lh_close()  Ends the waits and leases of tickets: what remains is to finish
 *	or cancel them, which may be done after it.
 * SIGSTOP, suspend  A stopped process is passed over by those behind it, and
 *	keeps its place; a lease that was granted runs on (G5).
 */
#ifndef LEASEHOLD_TICKET_H
#define LEASEHOLD_TICKET_H

#include <leasehold/lease.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct lh_ticket;		/* one wait for a key */

/* lh_acquire_opts.flags, of tickets only: renew until it is finished. */
#define LH_KEEP		0x400u

/*
 * Ask for the key: if it is not to be had at once, stand in its queue.  opts as
 * for lh_acquire(), where max_wait_ms (or deadline_ns) says how long to stand
 * there; NULL: the defaults.  Returns without waiting.
 *
 * 0: *out is yours to finish or cancel, granted already or not.  Errors as
 * lh_acquire(), and then there is no ticket; -EINVAL: max_wait_ms 0 (use
 * lh_acquire()) or a cancel switch (use lh_ticket_cancel()); -ENOMEM: also if
 * the thread cannot be started.
 */
int lh_acquire_start(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_ticket **out);

/*
 * A descriptor for poll(), readable from the moment when lh_ticket_finish() no
 * longer says -EAGAIN.  Not to be read from, nor closed: it goes with the
 * ticket.  -EMFILE, -ENFILE, -ENOMEM, -EPERM (inherited over fork), -EINVAL.
 */
int lh_ticket_fd(struct lh_ticket *ticket);

/*
 * Its place in the queue, 1 is the first; also of one that has no place of its
 * own, since it waits for what comes of another call (request, holder), or is
 * just being handed over.  0: granted, or it has failed.  -EPERM, -EINVAL.
 */
int lh_ticket_rank(struct lh_ticket *ticket);

/*
 * Is it granted?  (Looks for itself, too.)  -EAGAIN: not yet; -EINVAL (no lease
 * to fill), -EPERM: nothing has changed.  With every other answer the ticket is
 * gone:
 *
 * 0, *lease filled: the key is yours until lease->expires_ns (G1, G3).
 * -ESTALE: it was granted, and lost before you came (its ttl was up; broken by
 * an operator), or its named session has ended, or the table was removed.
 * -ECANCELED: lh_close().
 * -ETIMEDOUT, -EIO, -EUCLEAN, -ENOENT, -ENOSPC, -EDEADLK (its holder has the
 * key in the other mode): as lh_acquire().
 */
int lh_ticket_finish(struct lh_ticket *ticket, struct lh_lease *lease);

/*
 * Give it up: it leaves the queue without a trace, and a grant that came first
 * is released.  The ticket is gone.  0; -EINVAL, -EPERM.
 */
int lh_ticket_cancel(struct lh_ticket *ticket);

/*
 * Wait until nobody holds the key: it was free at a moment before the return.
 * Nothing is acquired, and nobody's way is stood in: there is no place in the
 * queue for it, and it looks every 5 ms at the latest, so that a moment between
 * two holders may be missed.  Of opts count max_wait_ms, deadline_ns and
 * cancel; NULL: up to an hour.  An unknown key is free, and is not made.
 *
 * 0; -EAGAIN (max_wait_ms 0: held), -ETIMEDOUT, -ECANCELED; -EINVAL,
 * -ENAMETOOLONG, -ESTALE (table removed), -EUCLEAN, -EPERM.
 */
int lh_wait_free(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
