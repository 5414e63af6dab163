/* SPDX-License-Identifier: MIT */
/*
 * Damage: marks a table as damaged, and describes it.
 *
 * Every file that reads shared memory may find a value that no process of this
 * build writes, so this is below all of them and needs the view alone.  A user
 * of the table never clears the flag in the header; a repair clears it
 * (offline/repair.c).
 *
 * If the header is not a table's, it is reported without the numbers that
 * followed from it, and nothing is written: the memory may be another program's
 * by now.
 *
 * A header that is no table was truncated or overwritten, and the object is
 * to be removed; or it was erased by a removal (table_erase.c).  Then the name
 * is gone, or a new table's, which is not to be touched.  The name tells.
 *
 * Reporting damage changes nothing else.  A crash before the flag is set leaves
 * the table as it was: the next process that reads the same value reports it.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/table_words.h"
#include "shm/view.h"

int
lhi_damaged(struct lhi_view *v, const char *what, uint64_t a, uint64_t b)
{
	if (!lhi_view_sound(v))
		return lhi_damaged_or(v, 0);
	(void)sh32_fetch_or(&v->hdr->flags, SHM_DAMAGED);
	return lhi_fail(-EUCLEAN, "the table %s is damaged: %s (%llu, %llu). "
	    "Stop its users, repair it (leasehold fsck --repair%s), and start "
	    "them again", v->path, what, (unsigned long long)a,
	    (unsigned long long)b, TABLE_WORDS(v->path));
}

int
lhi_damaged_restless(struct lhi_view *v, const char *word, uint64_t index)
{
	char what[80];

	(void)snprintf(what, sizeof(what), "%s keeps changing", word);
	return lhi_damaged(v, what, index, LHI_SWAPS_MAX);
}

/* True if the table's name is gone, or another object's by now.  By name, since
 * the application may have closed the descriptor. */
static bool
is_name_gone(const struct lhi_view *v)
{
	int saved = errno;
	struct stat st;
	bool gone = stat(v->path, &st) != 0 ? errno == ENOENT :
	    st.st_dev != v->dev || st.st_ino != v->ino;

	errno = saved;
	return gone;
}

int
lhi_damaged_or(struct lhi_view *v, int error)
{
	if (lhi_view_sound(v))
		return error;
	/* a table that has the name now is not this one: leave it alone */
	if (is_name_gone(v))
		return lhi_fail(-EUCLEAN, "the table %s was removed by force "
		    "while it was used, and nothing is held in it any more: "
		    "start its users again, which then use a new table",
		    v->path);
	/* erased, and about to lose its name; or truncated, and stays */
	return lhi_fail(-EUCLEAN, "the table %s is not there any more: its "
	    "object was truncated or overwritten, or is being removed by "
	    "force, and nothing is held in it. Start its users again; only if "
	    "the table is refused then, remove it (leasehold rm --force%s)",
	    v->path, TABLE_WORDS(v->path));
}
