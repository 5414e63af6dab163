/* SPDX-License-Identifier: MIT */
/*
 * Repairs damaged tables.
 *
 * Any process that may write to a table can damage it: a wild pointer of a
 * member, an operator's tool; and so can bad memory.  lh_check() finds damage
 * while the table is in use.  A repair needs the table to be unused.
 */
#ifndef LEASEHOLD_REPAIR_H
#define LEASEHOLD_REPAIR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Flags, in addition to LH_SYSTEM and LH_FORCE. */
#define LH_DRY_RUN	0x200u	/* change nothing */

/*
 * Repairs table `name` (NULL: as lh_open()). fn (may be NULL) is called with a
 * sentence for each thing that was found wrong, and at the end for what was (or
 * with LH_DRY_RUN: would be) done; it must not call the library.
 *
 * It works only if no process is attached, this one included, and, if anything
 * is wrong, no named session lives; meanwhile no process can attach.  State
 * left by killed processes is reclaimed in any case.  A table that is found
 * sound, and has never been found damaged, is otherwise left as it is.
 *
 * With LH_FORCE it first declares dead the sessions that cannot be proved dead,
 * if their process is not seen to live.  Such a session remains if a member
 * removes the file of its second sign of life (lh_liveness_fd()), or locks
 * bytes that are not its own.  This step is done even if the result is -EBUSY
 * because others live.  It trusts the caller: descendants of such a process may
 * still use what its leases guard.
 *
 * Kept are every key whose name can still be read, whether it is permanent, and
 * the note on how its last lease ended.  Tokens continue above all that were
 * ever given (G2), by a step of 2^32 or more.  A repair killed at any moment
 * leaves a table that is refused (-EUCLEAN) until it has been repaired again.
 *
 * Returns the number of things found wrong (with LH_DRY_RUN none of them is
 * repaired), or
 *	-ENOENT: no such table;
 *	-EBUSY: in use (lh_error_detail() names by which process), or being
 *	removed or repaired;
 *	-EUCLEAN, -EPROTO: beyond repair, because the header is damaged or
 *	another version's: remove the table with LH_FORCE;
 *	-EXDEV: of another time namespace or boot; -EACCES: not yours;
 *	-EIO: its fence directory cannot be used.  lh_error_detail() says why,
 *	and whether the table is sound, or is damaged and was not repaired;
 *	-ENOSPC: no memory for what it should have;
 *	-EINVAL, -ENAMETOOLONG, -ENOMEM, -EMFILE, -ENFILE.
 */
int lh_table_repair(const char *name, uint32_t flags,
    void (*fn)(const char *what, void *arg), void *arg);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
