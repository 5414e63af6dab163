/* SPDX-License-Identifier: MIT */
/*
 * Gates: the largest token that has been here, remembered on disk.
 *
 * A holder that was stopped past its deadline does not know that it has lost
 * the key.  What the key guards must refuse it: show the gate the token before
 * the first read and after the write, and fail when it says no.
 *
 *	lh_gate_open(&gate, "/srv/data/ledger.gate", NULL, 0);
 *	if (lh_gate_check(gate, lease.token, lease.mode) == 0 && update() == 0)
 *		done = lh_gate_check(gate, lease.token, lease.mode) == 0;
 *
 * A gate needs no table: whoever has a token can ask, also in another
 * container, another user's process, or a process that knows no leases.  One
 * gate guards the resource of one key; tokens of different keys, or of tables
 * that do not know of each other, must not be shown to the same gate.
 *
 * What a gate cannot do: a write comes after a check, and its author may be
 * stopped in between: write to a file with the token in its name, of which the
 * largest counts, or compare in a database; doc/gate.md shows both.
 *
 * The file must be on a file system of this machine: mappings are not coherent
 * over a network.  Never restore it from an older copy, nor truncate it (who is
 * inside a check then gets SIGBUS).
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
 * Before a token is let pass, its mark is on the disk: no power loss lets an
 * older one pass afterwards.  Costs one disk write for each new token; without
 * this flag marks outlive every process, but not a loss of power.
 */
#define LH_GATE_DURABLE	0x100u

/*
 * Open a gate, creating it if it is not there.
 *
 * path		the gate's file; or, with a resource, a directory of gates
 * resource	1..80 bytes, any but NUL: one gate each in that directory, in a
 *		file that is named after it (what is no letter, digit, dot,
 *		hyphen or underscore as %XX); or NULL
 * flags	LH_GATE_DURABLE; LH_NO_CREATE: it must exist (a gate that is
 *		made anew by mistake lets everyone pass)
 *
 * A new file has mode 0666 less the umask.  It appears whole or not at all.
 *
 * 0; -ENOENT (LH_NO_CREATE, or no such directory), -EACCES (reading and writing
 * it must be allowed), -EROFS, -ELOOP (a symbolic link), -ENOSPC, -EDQUOT,
 * -EPROTO (not a gate: other length, other content, not a regular file),
 * -EUCLEAN (damaged), -EIO, -EMFILE, -ENFILE, -ENOMEM, -EINVAL, -ENAMETOOLONG,
 * and what else open(2) says.
 */
int lh_gate_open(struct lh_gate **out, const char *path, const char *resource,
    uint32_t flags);

/* 0; -EINVAL (NULL, closed).  The marks stay. */
int lh_gate_close(struct lh_gate *gate);

/*
 * May the holder of this token pass?  mode: that of its lease (enum lh_mode).
 *
 * An exclusive token passes unless a larger one of either mode has been here,
 * or a shared one as large.  A shared token passes unless a larger exclusive
 * one has been here: readers do not shut each other out (G2).  The same token
 * passes any number of times.
 *
 * 0: it may, and no older one will from now on (with LH_GATE_DURABLE: whatever
 * happens to this machine).  -ESTALE: no.  Everything else means "not known,
 * keep off": -EINVAL (token 0 or above 2^63 - 1, unknown mode), -ENOENT (the
 * gate's file was removed), -EUCLEAN (damaged or truncated), -EIO (the mark
 * could not be written to the disk; trying again is safe).
 */
int lh_gate_check(struct lh_gate *gate, uint64_t token, uint32_t mode);

/*
 * The largest exclusive and the largest shared token that have been shown;
 * 0: none.  Either pointer may be NULL.  0; -EINVAL, -ENOENT, -EUCLEAN.
 */
int lh_gate_marks(struct lh_gate *gate, uint64_t *exclusive, uint64_t *shared);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
