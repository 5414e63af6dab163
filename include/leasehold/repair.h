/* SPDX-License-Identifier: MIT */
/*
 * Making a damaged table sound again.
 *
 * A table can be damaged by whoever may write to it: a wild pointer of a
 * member, an operator's tool, bad memory.  lh_check() finds that while the
 * table is in use; repaired it can be only when nobody uses it.
 */
#ifndef LEASEHOLD_REPAIR_H
#define LEASEHOLD_REPAIR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Flags, besides LH_SYSTEM and LH_FORCE. */
#define LH_DRY_RUN	0x200u	/* change nothing */

/*
 * Repair table `name` (NULL: as lh_open()).  fn (may be NULL) is called with a
 * sentence for each thing that was found wrong, and at the end for what was (or
 * with LH_DRY_RUN: would be) done; it must not call the library.
 *
 * Only if no process is attached, this one included, and, where anything is
 * wrong, no named session lives; in that time nobody can attach.  What killed
 * processes left behind is cleared away in any case; a table that is found
 * sound, and has never been found damaged, is left as it is otherwise.
 *
 * With LH_FORCE it first declares dead the sessions that nobody can prove dead,
 * if their process is not seen to live.  Such a session is left if a member
 * removes the file of its second sign of life (lh_liveness_fd()), or locks
 * bytes that are not its own.  That is done even if it is -EBUSY then because
 * others live.  It goes by the caller's word: what such a process started may
 * still use what it held.
 *
 * What is kept: every key whose name can still be read, whether it is to stay,
 * and the note on how its last lease ended.  Tokens go on above all that were
 * ever given (G2), by a step of 2^32 or more.  Killed at any moment, it leaves
 * a table that is refused (-EUCLEAN) until it has been repaired again.
 *
 * The number of things found wrong (with LH_DRY_RUN none of them is mended);
 * -ENOENT: no such table; -EBUSY: in use (lh_error_detail() names by whom), or
 * being removed or repaired; -EUCLEAN, -EPROTO: beyond repair: the header,
 * which says what the table is, is damaged or another version's: remove the
 * table with LH_FORCE; -EXDEV: of another time namespace or boot; -EACCES: not
 * yours; -EIO: its fence directory cannot be used: lh_error_detail() says why,
 * and that the table is sound, or is damaged and was not repaired; -ENOSPC: no
 * memory for what it should have; -EINVAL, -ENAMETOOLONG, -ENOMEM, -EMFILE,
 * -ENFILE.
 */
int lh_table_repair(const char *name, uint32_t flags,
    void (*fn)(const char *what, void *arg), void *arg);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
