/* SPDX-License-Identifier: MIT */
/*
 * Removing a table: answers "how can its name be used again without a token
 * being given twice?"
 *
 * Once a table has been removed, there is a symbolic link NAME.floor next to
 * the object's name.  Its text is a number, the floor.  No table of that name,
 * except the present one, has given or will ever give a token that is not below
 * it (table_floor.c).
 *
 * Removal, holding the lock of removal_lock.c, the name being that object's,
 * and the directory ours.  It is checked first that the names can be removed
 * (table_removable.c), because RM1 is not undone:
 *	RM0	the object marked by its owner (removal_mark.c)
 *	RM1	the note `removal`, then header flag RETIRED, which counts with
 *		it only: it is not taken back
 *	RM2	ceiling raised by a step, by an exact swap; and before it, where
 *		there is a fence file, the durable ceiling lowered by one token
 *	RV1, RV2	what the straight paths rely on revoked, key by key
 *		(table_revoke.c): from here on the table grants nothing
 *	RM3	floor raised to that ceiling
 *	RM4	the name unlinked
 *	RM5	its live file unlinked (live_file.c)
 *
 * Of an object that this build cannot read, RM0 to RV2 are not possible.  It is
 * removed by force only: RM3 with a floor that is far enough, then the whole
 * object is erased (ER1 to ER3: table_erase.c), then RM4 and RM5.
 *
 * Invariants.
 *  I1	After RM2 both ceilings stay.  Raising one loads it, then sees the flag
 *	missing, then swaps exactly the loaded value (op/token_ceiling.c);
 *	a value loaded before RM1 is not there any more after RM2.  (The durable
 *	one is a multiple of a range's width; one token less is none, and never
 *	comes back.)
 *  I2	A table without the flag whose base is not below the floor is its
 *	name's latest.  A creator may read the floor before RM3 and link its
 *	table after RM4, with a base too low; but a process that opens that by
 *	name reads the floor later, sees it (lhi_table_remove_due()), and
 *	removes it before it has granted anything.
 *  I3	Only a holder of that lock unlinks a table, after looking whether the
 *	name is its still.
 *  I4	A floor alone never removes a table that may have granted anything.  A
 *	table as I2 has it never had a session, because its first opener met
 *	the floor as well.  So the removal of I2 asks for that: all of the
 *	table's session records are as they were made, and so is the mode of
 *	its live file, which only the owner can have changed (live_file.c).
 *	A table that has had a
 *	session and lies below the floor cannot come about by a removal.  It is
 *	refused (-EUCLEAN) and left alone: somebody changed the floor, or put
 *	an older table back.
 *  I5	A process completes a removal only with the owner's mark (RM0), which it
 *	reads again under the lock.  Words that a member wrote remove nothing.
 *
 * A crash after RM0 leaves the mark; the next opener that may do so clears it.
 * A crash after RM1, RM2 or RM3 leaves a table with the flag under the name:
 * the next opener that may do so, and may make the table, completes it.  A
 * process that only looks never does.  A remover that is stopped there
 * keeps the name from being opened until it goes on or dies; it does not delay
 * processes that have the table open.
 *
 * The owner that root's configuration names for a table of the machine cannot
 * write to root's directory.  It does RM0 to RV2, and the rest is left to
 * root's next opener, as after a crash there.  No other process can make a
 * table of that name before.  To all others the table is gone (-ENOENT).
 *
 * Not guaranteed: anything once the link is gone (lh_table_remove() with
 * LH_FORGET_TOKENS, or by hand), or the object by other means than this, or
 * with the machine's next start.  Then the tokens of a new table start anew,
 * unless it has a fence file (durable.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold/error.h>
#include "base/error.h"
#include "fence/range.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "prim/sigbus.h"
#include "shm/backing.h"
#include "shm/live_file.h"
#include "shm/removal_lock.h"
#include "shm/removal_mark.h"
#include "shm/table_dir.h"
#include "shm/table_erase.h"
#include "shm/table_floor.h"
#include "shm/table_removable.h"
#include "shm/table_remove.h"
#include "shm/table_revoke.h"

#define STEP		lhi_range_width()

/* True if no session ever began in the table: no record was ever taken. */
static bool
is_never_used(int fd, const struct lhi_geometry *g)
{
	for (uint32_t i = 0; i < g->max_sessions; i++) {
		uint64_t state;
		off_t at = (off_t)(g->sessions_off + i *
		    sizeof(struct shm_session) +
		    offsetof(struct shm_session, state));

		if (pread(fd, &state, sizeof(state), at) != sizeof(state) ||
		    state != 0)
			return false;
	}
	return true;
}

/* Its flag and its note as they are now, in the object itself. */
static bool
is_retired_now(int fd)
{
	struct shm_header h = { .flags = 0 };

	return pread(fd, &h.flags, sizeof(h.flags),
	    offsetof(struct shm_header, flags)) == sizeof(h.flags) &&
	    pread(fd, &h.removal, sizeof(h.removal),
	    offsetof(struct shm_header, removal)) == sizeof(h.removal) &&
	    lhi_header_is_retired(&h);
}

/* Judges by the owner's mark the words of a removal, which were read first. */
static enum lhi_removal
judge_words(int fd)
{
	return lhi_removal_mark_is_set(fd) || lhi_mutant_on(retired_by_words) ?
	    LHI_REMOVAL_BEGUN : LHI_REMOVAL_CLAIMED;
}

int
lhi_table_remove_due(const char *path, int fd, const struct shm_header *h,
    const struct lhi_geometry *g)
{
	uint64_t floor;
	bool is_new;
	int error = lhi_table_floor_read(path, &floor);

	if (error != 0)
		return error;
	/* (the note may have been read before the flag was set) */
	if ((sh32_load(&h->flags) & SHM_RETIRED) && is_retired_now(fd) &&
	    !lhi_mutant_on(removal_unfinished))
		return judge_words(fd);
	if (sh64_load(&h->token_base) >= floor)
		return lhi_removal_mark_is_set(fd) ? LHI_REMOVAL_MARKED :
		    LHI_REMOVAL_NONE;
	/* `h` was read before the floor: RM1 and RM3 may lie between them; and
	 * RM5 comes after RM1 */
	is_new = lhi_live_file_is_new(path, fd) || lhi_mutant_on(new_by_words);
	if (is_retired_now(fd))
		return judge_words(fd);
	return is_new && is_never_used(fd, g) ? LHI_REMOVAL_BEGUN :
	    LHI_REMOVAL_BELOW;
}

/* True if this process may give and take names in the table's directory. */
static bool
owns_names(int dir)
{
	struct stat st;

	return geteuid() == 0 || (fstat(dir, &st) == 0 &&
	    lhi_owner_is_self(dir, &st));
}

/* Is the name that object's, and can it be removed?  0, or why not. */
static int
check_name_removable(int dir, const char *path, int fd)
{
	struct stat named, opened;

	if (fstat(fd, &opened) != 0 || fstatat(dir, lhi_table_dir_leaf(path),
	    &named, AT_SYMLINK_NOFOLLOW) != 0 ||
	    named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
		return lhi_fail(-ENOENT, "%s was removed already", path);
	return owns_names(dir) ? lhi_table_removable_check(dir, path, fd) : 0;
}

/* RM3 or RM4 has failed, and the table is retired. */
static int
fail_retired(const char *path)
{
	char why[256];

	(void)strlcpy(why, lh_error_detail(), sizeof(why));
	return lhi_fail(-EINPROGRESS, "%s is retired, which cannot be undone: "
	    "no key in it is granted any more, and its leases end as they "
	    "would have; but it still has its name, because its removal "
	    "failed: %s; remove that cause, then the next process that uses "
	    "or removes the table completes the removal", path, why);
}

/* RM4 and RM5. */
static int
unlink_names(int dir, const char *path, int fd)
{
	if (unlinkat(dir, lhi_table_dir_leaf(path), 0) != 0 && errno != ENOENT)
		return lhi_fail(-errno, "cannot remove %s: %s", path,
		    strerror(errno));
	lhi_point("retire.unlinked");
	lhi_live_file_retire(dir, path, fd);
	return 0;
}

/* Of RM2.  Done once, however often a removal is begun again. */
static bool
freeze_durable(struct shm_header *h)
{
	uint32_t n = 0;
	uint64_t d;

	do {
		d = sh64_load(&h->durable_ceiling);
		if (d == 0 || (d & (STEP - 1)) != 0)
			return true;
	} while (!sh64_cas(&h->durable_ceiling, d, d - 1) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	return !LHI_REACHED(n, LHI_SWAPS_MAX);
}

/* The table goes on being used, and its flags stay: remove it once more. */
static int
fail_restless(const char *path, struct shm_header *h)
{
	(void)sh32_fetch_or(&h->flags, SHM_DAMAGED);
	return lhi_fail(-EUCLEAN, "the table %s is damaged: a word of it keeps "
	    "changing while it is retired; stop its users, and remove it again",
	    path);
}

static bool
is_ceiling(const struct shm_header *h, uint64_t n)
{
	return n > sh64_load(&h->token_base) &&
	    lhi_table_floor_fits(n + STEP);
}

static int
remove_foreign(int dir, const char *path, int fd)
{
	int error = check_name_removable(dir, path, fd);

	if (error == 0)
		error = lhi_table_floor_pass(dir, path);	/* RM3 */
	lhi_point("foreign.floor");
	if (error == 0)
		error = lhi_table_erase(path, fd);	/* ER1 to ER3 */
	lhi_point("foreign.erased");
	return error != 0 ? error : unlink_names(dir, path, fd); /* RM4 */
}

static int
carry_out(int dir, const char *path, int fd, struct lhi_view *v)
{
	struct shm_header *h = v->hdr;
	uint64_t ceiling, floor;
	bool is_nonsense;
	uint32_t n = 0;
	int error = check_name_removable(dir, path, fd);

	if (error == 0)		/* before anything is changed */
		error = lhi_table_floor_in(dir, path, &floor);
	if (error == 0)
		error = lhi_table_floor_check(path, floor);
	if (error == 0 && !lhi_mutant_on(removal_unmarked))
		error = lhi_removal_mark_set(fd, path);		/* RM0 */
	if (error != 0)
		return error;
	lhi_point("retire.marked");
	if (!lhi_mutant_on(removal_unnoted))
		sh64_store(&h->removal, SHM_REMOVAL_NOTE);	/* RM1 */
	lhi_point("retire.noted");
	(void)sh32_fetch_or(&h->flags, SHM_RETIRED);
	lhi_point("retire.flagged");
	if (!freeze_durable(h))
		return fail_restless(path, h);
	lhi_point("retire.frozen");
	do {
		ceiling = sh64_load(&h->ceiling);
	} while (is_ceiling(h, ceiling) && !lhi_mutant_on(ceiling_left) &&
	    !sh64_cas(&h->ceiling, ceiling, ceiling + STEP) &&	/* RM2 */
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		return fail_restless(path, h);
	is_nonsense = !is_ceiling(h, ceiling);
	lhi_point("retire.ceiling");
	if (!lhi_table_revoke(v, fd))				/* RV1, RV2 */
		return fail_restless(path, h);
	lhi_point("retire.revoked");
	if (!owns_names(dir))
		return 0;
	error = is_nonsense ? lhi_table_floor_pass(dir, path) :
	    lhi_table_floor_raise(dir, path, lhi_mutant_on(ceiling_left) ?
	    ceiling : ceiling + STEP);				/* RM3 */
	lhi_point("retire.floor");
	if (error == 0)
		error = unlink_names(dir, path, fd);		/* RM4 */
	return error == 0 ? 0 : fail_retired(path);
}

int
lhi_table_remove_carry_out(const char *path, int fd, struct lhi_view *v)
{
	int dir = lhi_table_dir_open(path, false), error;

	if (dir < 0)
		return dir;
	error = carry_out(dir, path, fd, v);
	(void)close(dir);
	return error;
}

int
lhi_table_remove_foreign(const char *path, int fd)
{
	int dir = lhi_table_dir_open(path, false), error;

	if (dir < 0)
		return dir;
	error = remove_foreign(dir, path, fd);
	(void)close(dir);
	return error;
}

int
lhi_table_remove_settle(const char *path, int fd)
{
	int lock = lhi_removal_lock(path), error = 0;

	if (lock < 0)
		return lock;
	/* if it is retired now, the next look finds both */
	if (!is_retired_now(fd) && !lhi_mutant_on(mark_stays))
		error = lhi_removal_mark_clear(fd, path);
	lhi_removal_unlock(path, lock);
	return error;
}

/* Under the removal lock: 0 if the table is still to be removed, or was.  The
 * owner may have settled it meanwhile. */
static int
check_still_begun(const char *path, int fd, const struct lhi_view *v)
{
	struct stat st;
	int due;

	if (fstat(fd, &st) == 0 && st.st_nlink == 0)
		return 0;
	due = lhi_table_remove_due(path, fd, v->hdr, &v->geo);
	return due < 0 ? due : due == LHI_REMOVAL_BEGUN ? 0 : -EAGAIN;
}

int
lhi_table_remove_finish(const char *path, int fd, const struct lhi_geometry *g)
{
	int lock = lhi_removal_lock(path), error;
	struct lhi_view v = { .object_fd = -1, .probe_fd = -1 };
	void *base;

	if (lock < 0)
		return lock;
	base = lhi_sigbus_map(g->object_len, MAP_SHARED, fd);
	if (base == MAP_FAILED) {
		error = lhi_backing_fail_map(path, g->object_len);
	} else {
		lhi_view_point(&v, base, g);
		v.t0_ns = (int64_t)sh64_load(&v.hdr->t0_ns);
		v.order = sh32_load(&v.hdr->order);
		v.clock = (clockid_t)sh32_load(&v.hdr->clock_id);
		(void)strlcpy(v.path, path, sizeof(v.path));
		error = check_still_begun(path, fd, &v);
		if (error == 0)
			error = lhi_table_remove_carry_out(path, fd, &v);
		lhi_sigbus_unmap(base, g->object_len);
	}
	lhi_removal_unlock(path, lock);
	return error == -ENOENT ? 0 : error;
}
