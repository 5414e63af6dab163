/* SPDX-License-Identifier: MIT */
/*
 * Gates: the largest token that has been shown, remembered on disk.
 *
 * A holder that was stopped past its deadline does not know that it has lost
 * the key.  The resource behind the key must refuse it: show the gate the token
 * before the first read and after the write, and fail if the gate refuses it.
 *
 *	lh_gate_open(&gate, "/srv/data/ledger.gate", NULL, 0);
 *	if (lh_gate_check(gate, lease.token, lease.mode) == 0 && update() == 0)
 *		done = lh_gate_check(gate, lease.token, lease.mode) == 0;
 *
 * A gate needs no table: any process with a token can ask, also in another
 * container, as another user, or without the library's leases.  One gate guards
 * the resource of one key.  Do not show it tokens of different keys, or of
 * unrelated tables.
 *
 * A gate has a limit: a write comes after a check, and the writer may be
 * stopped in between.  So write to a file with the token in its name, of which
 * the largest counts, or compare in a database.  doc/gate.md shows both.
 *
 * The file must be on a file system of this machine, because mappings are not
 * coherent over a network.  Do not restore it from an older copy, and do not
 * truncate it (a process inside a check then gets SIGBUS).
 *
 * Legal: use by any number of threads and processes, and in forked children.
 * Illegal: use after lh_gate_close(), or closing while another thread is inside
 * a call.
 */
#ifndef LEASEHOLD_GATE_H
#define LEASEHOLD_GATE_H

#include <stdint.h>
#include <leasehold/lease.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct lh_gate;

/*
 * Writes a token's mark to the disk before the token passes, so that after a
 * power loss no older one passes.  Costs one disk write for each new token.
 * Without this flag marks outlive every process, but not a loss of power.
 */
#define LH_GATE_DURABLE	0x100u

/*
 * Opens a gate, creating it if it does not exist.
 *
 * path		the gate's file; or, with a resource, a directory of gates
 * resource	1..80 bytes, any but NUL: a gate of its own in that directory,
 *		in a file named after it (bytes other than letters, digits,
 *		dot, hyphen and underscore as %XX); or NULL
 * flags	LH_GATE_DURABLE; LH_NO_CREATE: it must exist (a gate that is
 *		created again by mistake lets every token pass)
 *
 * A new file has mode 0666 less the umask.  It appears whole or not at all.
 *
 * Returns 0; -ENOENT (LH_NO_CREATE, or no such directory), -EACCES (reading and
 * writing it must be allowed), -EROFS, -ELOOP (a symbolic link), -ENOSPC,
 * -EDQUOT, -EPROTO (not a gate: other length, other content, not a regular
 * file), -EUCLEAN (damaged), -EIO, -EMFILE, -ENFILE, -ENOMEM, -EINVAL,
 * -ENAMETOOLONG, and other errors of open(2).
 */
int lh_gate_open(struct lh_gate **out, const char *path, const char *resource,
    uint32_t flags);

/* Closes the gate; its marks stay. Returns 0; -EINVAL (NULL, closed). */
int lh_gate_close(struct lh_gate *gate);

/*
 * Checks whether the holder of this token may pass, and remembers the token.
 * mode is that of its lease (enum lh_mode).
 *
 * An exclusive token passes unless a larger one of either mode, or a shared one
 * as large, was shown before.  A shared token passes unless a larger exclusive
 * one was shown: readers do not block each other (G2). The same token passes
 * any number of times.
 *
 * Returns 0 if it may pass, and then no older one will (with LH_GATE_DURABLE
 * not even after a power loss). Returns -ESTALE if it may not.  All other
 * errors mean "not known, do not write".  They are: -EINVAL (token 0 or above
 * 2^63 - 1, unknown mode), -ENOENT (the gate's file was removed), -EUCLEAN
 * (damaged or truncated), -EIO (the mark could not be written to the disk;
 * trying again is safe).
 */
int lh_gate_check(struct lh_gate *gate, uint64_t token, uint32_t mode);

/*
 * Returns the largest exclusive and the largest shared token that have been
 * shown, or 0. Either pointer may be NULL. Returns 0; -EINVAL, -ENOENT,
 * -EUCLEAN.
 */
int lh_gate_marks(struct lh_gate *gate, uint64_t *exclusive, uint64_t *shared);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
