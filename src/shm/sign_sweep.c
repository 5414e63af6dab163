/* SPDX-License-Identifier: MIT */
/*
 * Removes the files of second signs of life that nobody asks for any more
 * (session_sign.c).
 *
 * Of a dead session.  The process that reclaims its record holds the record's
 * recycle byte, and the state is DEAD, so nobody asks for the sign, and no
 * session of that record begins.  It removes the file if the directory is its
 * own user's, or if it is root's.  Otherwise the file stays until the record's
 * next session of that user, or the sweep.
 *	SB1	the file is unlinked
 *	SB2	the record says that there is no sign
 * A crash after SB1 leaves a record that names a file that is gone.  The record
 * is DEAD, so nothing is concluded from that, and the next reclaimer repeats
 * both.
 *
 * Of a table that is gone.  A table's removal sweeps the directory that the
 * table stood in.  A table that was removed by hand leaves its signs, and so
 * does a table of the machine in its users' directories.  So a user's directory
 * is swept when the user creates a table, and at every 64th sign of a record.
 * A sign is removed if no live file has its table's id, among the user's tables
 * and those of the machine, and no socket is bound to it.  A table's live file
 * is named before its first session begins, and the signs are listed before the
 * live files.  So a sign that somebody may still ask for is never removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "shm/outer_uid.h"
#include "shm/session_sign.h"
#include "shm/sign_sweep.h"

#define PLACE "/dev/shm/leasehold.%u"
#define SYSTEM_PLACE "/dev/shm/leasehold.system"
#define NAMES_MAX 100000	/* looked at in a directory */
#define SIGNS_MAX 4096		/* removed in one sweep, at most */
#define LEAF_MAX 40
#define ID_DIGITS 16
#define LIVE ".live."

struct sign {
	char leaf[LEAF_MAX];
	uint64_t id;
	bool is_used;
};

struct sweep {
	struct sign *list;
	size_t n, room;
};

/* Opens a directory of signs.  -1 if it is not that user's own. */
static int
open_place(const char *place, uid_t uid)
{
	struct stat st;
	int dir = lhi_fd_open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);

	if (dir < 0 || (fstat(dir, &st) == 0 &&
	    lhi_outer_uid(st.st_uid) == uid && lhi_owner_is_sure(dir, &st) &&
	    (st.st_mode & 022) == 0))
		return dir;
	(void)close(dir);
	errno = EACCES;
	return -1;
}

void
lhi_sign_bury(const struct lhi_view *v, uint32_t idx)
{
	struct shm_session *se = &v->sessions[idx];
	uint32_t uid = lhi_sign_user(v, idx);
	char place[LEAF_MAX], leaf[LEAF_MAX];
	int dir;

	if (sess_st(sh64_load(&se->state)) != SESS_DEAD ||
	    !lhi_sign_is_promised(v, idx) ||
	    (geteuid() != 0 && uid != lhi_outer_uid(geteuid())))
		return;
	(void)snprintf(place, sizeof(place), PLACE, (unsigned)uid);
	(void)snprintf(leaf, sizeof(leaf), "%016" PRIx64 "-%u.sign",
	    v->uuid[0], idx);
	dir = open_place(place, uid);
	if (dir >= 0) {
		(void)unlinkat(dir, leaf, 0);			/* SB1 */
		(void)close(dir);
	}
	lhi_point("sign.buried");
	lhi_sign_note(se, 0);					/* SB2 */
}

/* Reads an id at the beginning of text.  False: there is none. */
static bool
parse_id(const char *text, uint64_t *id)
{
	char digits[ID_DIGITS + 1] = "";

	if (strspn(text, "0123456789abcdef") < ID_DIGITS)
		return false;
	memcpy(digits, text, ID_DIGITS);
	*id = strtoull(digits, NULL, 16);
	return true;
}

/* Adds the sign of that name, if it is one.  False: no memory, or no room. */
static bool
add_sign(struct sweep *s, const char *name)
{
	const char *end = name + strspn(name, "0123456789abcdef");
	struct sign *more;
	uint64_t id;

	if (end - name != ID_DIGITS || *end != '-' || !parse_id(name, &id) ||
	    strlen(name) >= LEAF_MAX)
		return true;
	end += 1 + strspn(end + 1, "0123456789");
	if (strcmp(end, ".sign") != 0 && strcmp(end, ".sign~") != 0)
		return true;
	if (s->n == s->room) {
		if (s->room == SIGNS_MAX)
			return false;
		s->room = s->room == 0 ? 16 : 2 * s->room;
		more = reallocarray(s->list, s->room, sizeof(*more));
		if (more == NULL)
			return false;
		s->list = more;
	}
	s->list[s->n].id = id;
	s->list[s->n].is_used = false;
	strcpy(s->list[s->n++].leaf, name);
	return true;
}

/* Marks the signs of the table whose live file has that name. */
static bool
mark_used(struct sweep *s, const char *name)
{
	const char *live = strstr(name, LIVE);
	uint64_t id;

	if (live == NULL || !parse_id(live + strlen(LIVE), &id))
		return true;
	for (size_t i = 0; i < s->n; i++)
		s->list[i].is_used |= s->list[i].id == id;
	return true;
}

/* Calls fn for each name.  False: not all of them were seen. */
static bool
for_each_name(int dir, struct sweep *s,
    bool (*fn)(struct sweep *s, const char *name))
{
	int fd = lhi_fd_openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e = NULL;
	bool more = true;

	errno = 0;
	for (int i = 0; list != NULL && more && i < NAMES_MAX &&
	    (e = readdir(list)) != NULL; i++)
		more = fn(s, e->d_name);
	more = list != NULL && e == NULL && errno == 0;
	if (list != NULL)
		(void)closedir(list);
	else if (fd >= 0)
		(void)close(fd);
	return more;
}

/* Marks what tables of the machine use.  False: nobody knows. */
static bool
mark_system(struct sweep *s)
{
	int dir = open_place(SYSTEM_PLACE, 0);
	bool known = dir >= 0 ? for_each_name(dir, s, mark_used) :
	    errno == ENOENT;

	if (dir >= 0)
		(void)close(dir);
	return known;
}

void
lhi_sign_sweep_own(void)
{
	struct sweep s = { .list = NULL };
	int saved = errno, dir;
	char place[LEAF_MAX];

	(void)snprintf(place, sizeof(place), PLACE,
	    (unsigned)lhi_outer_uid(geteuid()));
	dir = open_place(place, lhi_outer_uid(geteuid()));
	/* (that there are more signs than room is no harm) */
	if (dir >= 0)
		(void)for_each_name(dir, &s, add_sign);
	lhi_point("sign.listed");
	if (s.n > 0 && for_each_name(dir, &s, mark_used) && mark_system(&s)) {
		for (size_t i = 0; i < s.n; i++)
			if (!s.list[i].is_used &&
			    lhi_sign_is_bound(dir, s.list[i].leaf) == 0)
				(void)unlinkat(dir, s.list[i].leaf, 0);
	}
	if (dir >= 0)
		(void)close(dir);
	free(s.list);
	errno = saved;
}
