/* SPDX-License-Identifier: MIT */
/*
 * Removing a table: answers "how can its name be had again without a token
 * being given twice?"
 *
 * Beside the object /dev/shm/leasehold.X there is, once a table X has been
 * removed, a symbolic link /dev/shm/leasehold-floor.X whose text is a number,
 * the floor: no table of that name, but the present one, has given or will ever
 * give a token that is not below it.  (A link's text takes no memory and is
 * replaced whole, so a full tmpfs cannot keep a table from being removed, and a
 * kill cannot leave half a number.)
 *
 * Removal, holding the object's removal byte, the name being that object's, and
 * name and floor ours to replace:
 *	R1	header flag RETIRED set: it is not taken back
 *	R2	ceiling raised by a step, by an exact swap; and before it, where
 *		there is a fence file, the durable ceiling lowered by one token
 *	R3	floor raised to that ceiling
 *	R4	the name unlinked
 *
 * Invariants.
 *  I1	After R2 both ceilings stay.  Who raises one loads it, then sees the
 *	flag missing, then swaps exactly what it loaded (op/token_ceiling.c);
 *	what was loaded before R1 is not there any more after R2.  (The durable
 *	one is a multiple of a range's width; one token less is none, and never
 *	comes back.)
 *  I2	A table without the flag whose base is not below the floor is its
 *	name's latest.  A creator may read the floor before R3 and link its
 *	table after R4, with a base too low; but everyone who opens that by name
 *	reads the floor later, sees it (lhi_table_remove_due()), and removes it
 *	before it has granted anything.
 *  I3	Only holders of its removal byte unlink a table, after looking whether
 *	the name is its still.
 *
 * A crash after R1, R2 or R3 leaves a table with the flag under the name:
 * whoever opens the name next completes it.  A remover that is stopped there
 * keeps the name from being opened until it goes on or dies; who has the table
 * open is not in its way.
 *
 * Not guaranteed: anything once somebody has removed the link, or the object by
 * other means than this, or with the machine's next start.  Then the tokens of
 * a new table start anew, unless it has a fence file (durable.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "fence/durable.h"
#include "fence/range.h"
#include "prim/sigbus.h"
#include "shm/session_bytes.h"
#include "shm/table_remove.h"

#define PREFIX		"/dev/shm/leasehold"	/* .X, -floor.X */
#define STEP		lhi_range_width()
#define LEAST		STEP			/* of a first table */
#define MOST		(UINT64_C(1) << 62)	/* more is no ceiling */
#define UNKNOWN		(UINT64_C(1) << 40)	/* grants of a key at most */
#define FLOOR_PATH_MAX	192

static void
floor_path(char to[FLOOR_PATH_MAX], const char *kind, const char *path)
{
	(void)snprintf(to, FLOOR_PATH_MAX, PREFIX "-%s%s", kind,
	    path + strlen(PREFIX));
}

/* A floor that was put there by whom we trust with the table itself. */
static bool
is_trusted_floor(const char *path, const char *link)
{
	struct stat st;

	return strncmp(path, PREFIX ".system.", strlen(PREFIX) + 8) == 0 ||
	    lstat(link, &st) != 0 || st.st_uid == 0 || st.st_uid == geteuid();
}

int
lhi_table_remove_floor(const char *path, uint64_t *floor)
{
	char link[FLOOR_PATH_MAX], text[24], *end = text;
	uint64_t n = 0;
	ssize_t len;

	floor_path(link, "floor", path);
	len = readlink(link, text, sizeof(text) - 1);
	if (len < 0 && errno == ENOENT) {
		*floor = LEAST;
		return 0;
	}
	if (len > 0) {
		text[len] = '\0';
		n = strtoull(text, &end, 10);
	}
	if (!is_trusted_floor(path, link))
		return lhi_fail(-EACCES, "%s is not yours: somebody took the "
		    "place where removed tables leave how far their tokens "
		    "had got; remove it, or use another name", link);
	if (len <= 0 || *end != '\0' || n < LEAST || n > MOST)
		return lhi_fail(-EUCLEAN, "%s is not what a removed table "
		    "leaves: remove it (then tokens may repeat), or use "
		    "another name", link);
	*floor = n;
	return 0;
}

/* Under the object's removal byte: nobody else is at it for this name. */
static int
raise_floor(const char *path, uint64_t to)
{
	char link[FLOOR_PATH_MAX], fresh[FLOOR_PATH_MAX], text[24];
	uint64_t now;
	int error = lhi_table_remove_floor(path, &now);

	if (error != 0 || now >= to)
		return error;
	floor_path(link, "floor", path);
	floor_path(fresh, "floor~", path);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)to);
	(void)unlink(fresh);		/* of one who was killed */
	if (symlink(text, fresh) != 0 || rename(fresh, link) != 0)
		return lhi_fail(-errno, "cannot write down in %s how far the "
		    "table's tokens have got: %s", link, strerror(errno));
	return 0;
}

int
lhi_table_remove_due(const char *path, const struct shm_header *h)
{
	uint64_t floor;
	int error = lhi_table_remove_floor(path, &floor);

	return error != 0 ? error : ((sh32_load(&h->flags) & SHM_RETIRED) &&
	    !lhi_mutant_on(removal_unfinished)) ||
	    sh64_load(&h->token_base) < floor;
}

/* Is the name that object's, and may we remove it?  0, or why not. */
static int
check_name_removable(const char *path, int fd)
{
	struct stat named, opened;

	if (fstat(fd, &opened) != 0 || lstat(path, &named) != 0 ||
	    named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
		return lhi_fail(-ENOENT, "%s was removed already", path);
	/* before anything is changed: /dev/shm is sticky */
	if (geteuid() != 0 && named.st_uid != geteuid())
		return lhi_fail(-EACCES, "%s belongs to user %u: only that "
		    "user and root can remove it", path,
		    (unsigned)named.st_uid);
	return 0;
}

/*
 * Can the floor be raised to that?  Also before anything is changed: or the
 * name would be left to a table that nobody can open, nor remove.
 */
static int
check_floor_writable(const char *path, uint64_t to)
{
	char link[FLOOR_PATH_MAX];
	struct stat st;
	uint64_t now;
	int error = lhi_table_remove_floor(path, &now);

	if (error != 0 || now >= to || geteuid() == 0)
		return error;
	for (int i = 0; i < 2; i++) {
		floor_path(link, i == 0 ? "floor" : "floor~", path);
		if (lstat(link, &st) == 0 && st.st_uid != geteuid())
			return lhi_fail(-EACCES, "%s, where removed tables "
			    "leave how far their tokens had got, belongs to "
			    "user %u: so only root can remove %s", link,
			    (unsigned)st.st_uid, path);
	}
	return 0;
}

static int
unlink_name(const char *path)
{
	if (unlink(path) != 0 && errno != ENOENT)
		return lhi_fail(-errno, "cannot remove %s: %s", path,
		    strerror(errno));
	return 0;
}

/* Of R2.  Done once, however often a removal is begun again. */
static void
freeze_durable(struct shm_header *h)
{
	uint64_t d;

	do {
		d = sh64_load(&h->durable_ceiling);
		if (d == 0 || (d & (STEP - 1)) != 0)
			return;
	} while (!sh64_cas(&h->durable_ceiling, d, d - 1));
}

static bool
is_ceiling(const struct shm_header *h, uint64_t n)
{
	return n > sh64_load(&h->token_base) && n < MOST;
}

int
lhi_table_remove_carry_out(const char *path, int fd, struct shm_header *h)
{
	uint64_t ceiling = sh64_load(&h->ceiling);
	int error = check_name_removable(path, fd);

	if (error == 0)
		error = check_floor_writable(path, is_ceiling(h, ceiling) ?
		    ceiling + STEP : UINT64_MAX);
	if (error != 0)
		return error;
	(void)sh32_fetch_or(&h->flags, SHM_RETIRED);			/* R1 */
	lhi_point("retire.flagged");
	freeze_durable(h);
	lhi_point("retire.frozen");
	do {
		ceiling = sh64_load(&h->ceiling);
		if (!is_ceiling(h, ceiling))
			return lhi_table_remove_foreign(path, fd); /* nonsense
			    */
	} while (!lhi_mutant_on(ceiling_left) &&
	    !sh64_cas(&h->ceiling, ceiling, ceiling + STEP));		/* R2 */
	lhi_point("retire.ceiling");
	error = raise_floor(path, lhi_mutant_on(ceiling_left) ? ceiling :
	    ceiling + STEP);						/* R3 */
	lhi_point("retire.floor");
	return error != 0 ? error : unlink_name(path);			/* R4 */
}

int
lhi_table_remove_foreign(const char *path, int fd)
{
	uint64_t clock = lhi_durable_clock(), floor;
	int error = check_name_removable(path, fd);

	if (error == 0)
		error = check_floor_writable(path, UINT64_MAX);
	if (error == 0)
		error = lhi_table_remove_floor(path, &floor);
	/* it was made with that base or a lower one; or, with a fence file,
	 * about where the wall clock was (durable.c) */
	if (error == 0)
		error = raise_floor(path, (floor > clock ? floor : clock) +
		    UNKNOWN);
	return error != 0 ? error : unlink_name(path);
}

int
lhi_table_remove_finish(const char *path, int fd)
{
	int error = lhi_session_lock_removal(fd);
	struct shm_header *h;

	if (error != 0)
		return error;
	h = lhi_sigbus_map(sizeof(*h), MAP_SHARED, fd);
	if (h == MAP_FAILED) {
		error = lhi_fail(-ENOMEM, "cannot map the header of %s", path);
	} else {
		error = lhi_table_remove_carry_out(path, fd, h);
		lhi_sigbus_unmap(h, sizeof(*h));
	}
	/* a child that was forked meanwhile may have the description, too */
	lhi_session_unlock_removal(fd);
	return error == -ENOENT ? 0 : error;
}
