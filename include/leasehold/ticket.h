/* SPDX-License-Identifier: MIT */
/*
 * Tickets: waiting for a key without a thread that waits.
 *
 *	lh_acquire_start(lh, "nightly-report", NULL, &ticket);
 *	poll(lh_ticket_fd(ticket), ...);	beside all else
 *	if (lh_ticket_finish(ticket, &lease) == 0)
 *		do_it();
 *
 * A ticket is in the key's queue like any waiter, in the same order (G7), and
 * is granted the key by the same steps.  They are taken by the one thread of
 * the process that also serves live handles, and by your own calls.
 *
 * The lease of a ticket begins with the grant, not with lh_ticket_finish():
 * from then on its ttl runs, and others wait.  Choose a ttl that leaves you
 * time, or LH_KEEP: then it is renewed every third of the ttl until you have
 * it.
 *
 * The options of opts->more apply to tickets, too.  A ticket has its own copies
 * of them:
 *	session	granted, the lease is handed over to it; the ticket has a
 *		handle of its own, so that yours may be closed
 *	request	a repeat is answered as lh_acquire() answers it (G10); one that
 *		finds the first still waiting waits for its result, within its
 *		own time, then -ETIMEDOUT; an answer of -EAGAIN is given as
 *		-ETIMEDOUT.  A ticket that is cancelled is a request that failed
 *		with -ECANCELED, or whose lease was released; one that repeats a
 *		request that was granted before leaves its lease
 *	holder	counted re-entry; a ticket next to one of the same holder is
 *		granted when that is
 *	value	set right after the grant
 *
 * Each waiting ticket takes one of the table's leases.  Thousands are fine; a
 * descriptor is created only for tickets whose lh_ticket_fd() is called.  A
 * ticket for a cluster key that this host does not have yet also has a
 * connection to the shim: some hundreds are fine.
 *
 * Legal: use by any number of threads, except for the call that ends a ticket.
 * Illegal: use of a ticket after lh_ticket_finish() has returned anything but
 * -EAGAIN (or -EINVAL, -EPERM), or after lh_ticket_cancel(): -EINVAL (error.h).
 *
 * fork	Calls of a child with an inherited ticket are -EPERM.
 * lh_close()  Ends the waits and leases of tickets.  Each must still be
 *	finished or cancelled, also after it.
 * SIGSTOP, suspend  A stopped process is passed over by waiters behind it, and
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
 * Requests the key; if it is not free, joins its queue.  opts as for
 * lh_acquire(), where max_wait_ms (or deadline_ns) limits the time in the
 * queue; NULL: the defaults.  Returns without waiting.
 *
 * Returns 0: *out is yours to finish or cancel, granted already or not.  Errors
 * as lh_acquire(), and then there is no ticket; -EINVAL: max_wait_ms 0 (use
 * lh_acquire()) or a cancel switch (use lh_ticket_cancel()); -ENOMEM: also if
 * the thread cannot be started.
 */
int lh_acquire_start(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_ticket **out);

/*
 * Returns a descriptor for poll(), readable from the moment when
 * lh_ticket_finish() no longer returns -EAGAIN. Do not read from it or close
 * it: it is closed with the ticket.  -EMFILE, -ENFILE, -ENOMEM, -EPERM
 * (inherited over fork), -EINVAL.
 */
int lh_ticket_fd(struct lh_ticket *ticket);

/*
 * Returns its place in the queue, 1 is the first; also if it has no place of
 * its own, because it waits for the result of another call (request, holder),
 * or is just being handed over.  0: granted, or it has failed.  -EPERM,
 * -EINVAL.
 */
int lh_ticket_rank(struct lh_ticket *ticket);

/*
 * Returns the result, after checking the key itself.  -EAGAIN: not yet; -EINVAL
 * (no lease to fill), -EPERM: nothing has changed.  With every other answer the
 * ticket is closed:
 *
 * 0, *lease filled: the key is yours until lease->expires_ns (G1, G3). -ESTALE:
 * it was granted, and then lost (its ttl was over; broken by an operator), or
 * its named session has ended, or the table was removed.  -ECANCELED:
 * lh_close(). -ETIMEDOUT, -EIO, -EUCLEAN, -ENOENT, -ENOSPC, -EDEADLK (its
 * holder has the key in the other mode): as lh_acquire().
 */
int lh_ticket_finish(struct lh_ticket *ticket, struct lh_lease *lease);

/* Cancels it: it leaves the queue without a trace, and a grant that came first
 * is released.  The ticket is closed.  Returns 0; -EINVAL, -EPERM. */
int lh_ticket_cancel(struct lh_ticket *ticket);

/*
 * Waits until the key is free: it was free at a moment before the return.
 * Nothing is acquired.  The caller is not queued and blocks no one; it polls at
 * least every 5 ms, so that a moment between two holders may be missed.  Of
 * opts it uses max_wait_ms, deadline_ns and cancel; NULL: up to an hour.  An
 * unknown key is free, and is not made.  As with lh_acquire(), pthread_cancel()
 * does not end the wait.
 *
 * Returns 0; -EAGAIN (max_wait_ms 0: held), -ETIMEDOUT, -ECANCELED; -EINVAL,
 * -ENAMETOOLONG, -ESTALE (table removed), -EUCLEAN, -EPERM.
 */
int lh_wait_free(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
