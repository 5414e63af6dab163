/* SPDX-License-Identifier: MIT */
/*
 * Error codes in words.  Every leasehold call returns 0 or one of these,
 * negated:
 *
 *   EAGAIN	busy: it is held and you asked not to wait
 *   ETIMEDOUT	busy until the time limit
 *   ECANCELED	lh_cancel() ended the wait
 *   EDEADLK	you would wait for each other for ever
 *   ESTALE	the lease is lost or superseded, or the table was retired
 *   EPERM	not yours: another session's lease, or inherited over fork
 *   EALREADY	this live handle holds it
 *   ENOLCK	this live handle never acquired it: there is nothing to release
 *   EBUSY	in use
 *   ENOENT	no such table, key or lease
 *   ESRCH	no such process (lh_session_opts.pid)
 *   EEXIST	there is such a table (LH_CREATE_ONLY)
 *   ENOSPC	table or memory full
 *   ENOMEM	this process is out of memory
 *   EINVAL	an argument makes no sense: NULL where something is needed, a
 *		struct whose size is not set, a handle that was closed (of the
 *		last 64 of its kind; with older ones nothing is promised)
 *   ENAMETOOLONG  key or table name too long
 *   EPROTO	the table has another layout or version
 *   EUCLEAN	the table is damaged
 *   EOVERFLOW	the table is more than nine years old, and grants nothing more
 *   EXDEV	it is of another time namespace, or /proc is not mounted
 *   EBADF	the application has closed a descriptor of the library's
 *   EINPROGRESS  a removal has retired the table, and did not end
 *   ENOTRECOVERABLE  a robust key is inconsistent: readers are refused
 *   EHOSTUNREACH	the cluster of a cluster key cannot be reached from this
 *		host, or no shim runs here: lh_error_detail() says which.  Not
 *		busy: it is not known whether the key is free
 *   EACCES	permission denied
 *   EOPNOTSUPP	this table or build cannot do that
 *   EIO		a gate's or a fence file cannot be written to its disk
 *   EROFS, EDQUOT, ELOOP, ENOTDIR  such a file cannot be made or opened
 *   EMFILE, ENFILE  no file descriptor left to open a table with (again, to
 *		let it grow, if the application has closed the library's)
 */
#ifndef LEASEHOLD_ERROR_H
#define LEASEHOLD_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * The code in a few words.  Takes the code with either sign; never NULL;
 * static text, valid for ever.
 */
const char *lh_strerror(int error);

/*
 * Describes the failure of this thread's last failed call in one or two
 * sentences: the fact, the blocker (for -EAGAIN and -ETIMEDOUT the holder and
 * its process), the remedy.  Empty before the first failure.  Valid until the
 * next leasehold call of this thread.  Names in it are printable: a control
 * byte is \xNN, and a backslash is doubled.
 */
const char *lh_error_detail(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
