/* SPDX-License-Identifier: MIT */
/*
 * leasehold: named locks with leases and fencing tokens for the processes of
 * one Linux box.
 *
 *	struct lh *lh;
 *	struct lh_lease lease;
 *
 *	lh_open(&lh, NULL, NULL);			// table "default"
 *	if (lh_acquire(lh, "nightly-report", NULL, &lease) == 0) {
 *		write_report(lease.token);		// fence your writes
 *		lh_release(lh, &lease);
 *	}
 *	lh_close(lh);
 *
 * Conventions.  Functions that can fail return 0 or a negative errno value and
 * leave errno alone; outputs are written on success only.  lh_strerror() names
 * a code, lh_error_detail() says in words what happened to this thread's last
 * failed call: what, why, and what to do.  Times are in the unit their name
 * ends in; points in time are nanoseconds of the table's clock (lh_clock_ns(),
 * CLOCK_MONOTONIC unless the table was created otherwise).  Every function is
 * thread-safe, none is async-signal-safe.  The library installs no signal
 * handler, never prints, and starts no thread unless you use live handles
 * (lock.h), which share one.
 *
 * Guarantee letters G1..G12 are defined in doc/protocol.md.
 *
 * Caveats for operators
 *   fork	The child owns nothing.  Inherited handles and leases are
 *		refused in it (-EPERM); it may lh_open() for itself.
 *   exec	Is the death of the session: its leases are freed.
 *   threads	A lease may be used and released by any thread of the
 *		attachment that acquired it.  lh_close() wants the others out.
 *   suspend	CLOCK_MONOTONIC stands still, and leases last on; in a table
 *		made with LH_CLOCK_BOOTTIME they expire meanwhile.
 *   containers	Share the table's object (/dev/shm) and the time namespace; pid
 *		namespaces may differ.
 *   SIGSTOP	A stopped holder keeps its lease to the deadline, not longer;
 *		fence what it guards with the token.
 */
#ifndef LEASEHOLD_H
#define LEASEHOLD_H

#include <leasehold/version.h>
#include <leasehold/error.h>
#include <leasehold/table.h>
#include <leasehold/lease.h>
#include <leasehold/key.h>
#include <leasehold/session.h>
#include <leasehold/lock.h>
#include <leasehold/many.h>
#include <leasehold/ticket.h>
#include <leasehold/sem.h>
#include <leasehold/value.h>
#include <leasehold/inspect.h>
#include <leasehold/gate.h>
#include <leasehold/dump.h>
#include <leasehold/repair.h>
#include <leasehold/log.h>

#endif
