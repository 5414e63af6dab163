/* SPDX-License-Identifier: MIT */
/*
 * The second sign of life: answers "does anything live that this session was
 * passed on to?"
 *
 * A session is alive while its byte is locked (session_bytes.c).  That lock is
 * never inherited: a process that had its description could unlock it under its
 * owner, or truncate the file.  A session that is to outlive its process
 * (lh_liveness_fd(), the job of `leasehold run`) has a second sign beside it,
 * which is inherited and is of use for nothing else: a listening socket.  It
 * lives as long as any copy of its descriptor is open.  To connect to it
 * succeeds, or says that the queue is full (EAGAIN), while it lives; afterwards
 * it is refused.  A process that was given a copy can end this sign alone
 * (shutdown()), and nothing of the table or the live file is to be reached from
 * it.
 *
 * Place.  /dev/shm/leasehold.<euid>/ID-IDX.sign, euid the maker's, ID the first
 * half of the table's id, IDX the record.  Nobody else can make a file in that
 * directory (table_dir.c), so nobody can keep a dead session alive by a socket
 * of theirs.  An abstract name would be anybody's once its owner is dead: a
 * stranger could take it, fill its queue, and so hide whose it is.  And it
 * would not be seen from another network namespace, while a file is found by
 * all who have the same /dev/shm.  The file may be connected to by everybody,
 * and the directory searched, for members of the machine's tables.
 *
 * The record's field `sign` is the maker's euid + 1; 0: there is none.
 *
 * Made by the process that begins the session, while the record is RESERVED and
 * its bytes are locked:
 *	G1	a socket at ID-IDX.sign~
 *	G2	it listens
 *	G3	renamed to ID-IDX.sign, in place of what an earlier session of
 *		that record left
 *	G4	`sign` is set; then the state is ALIVE
 *
 * Invariants.
 *  I1	While a session is ALIVE or CLOSING and `sign` is not 0, the file is its
 *	own, or was removed by hand.
 *
 * Asked only when the byte was seen free, after the state was loaded (I1 is of
 * that incarnation, or the swap to DEAD fails).  "Refused" is the only answer
 * that means that nobody is left.  No file, a directory that is another user's
 * or may not be searched, another file system at /dev/shm: cannot tell.
 *
 * A crash leaves a file that refuses.  The next session of that record and user
 * takes its place; a session that is closed removes its own; the removal of a
 * table those that stand beside it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/error.h"
#include "prim/descriptor.h"
#include "shm/session_sign.h"
#include "shm/table_dir.h"

#define PLACE "/dev/shm/leasehold.%u"
#define QUEUE 64
#define SWEEP_MAX 100000	/* names looked at in a directory */
#define SIGN_MODE 0666
#define SEARCH 0011
#define SIGN_OF_UID 0x5a3c96e1u	/* no user's word is nearly 0 */

/* Of that user, for record idx. */
static void
address_of(struct sockaddr_un *a, const struct lhi_view *v, uint32_t idx,
    unsigned uid, const char *suffix)
{
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	(void)snprintf(a->sun_path, sizeof(a->sun_path), PLACE "/%016" PRIx64
	    "-%u.sign%s", uid, v->uuid[0], idx, suffix);
}

void
lhi_sign_note(struct shm_session *se, bool made)
{
	uint32_t word = made ? (uint32_t)geteuid() ^ SIGN_OF_UID : 0;

	sh32_store(&se->sign, word);
	sh32_store(&se->sum, word);
}

/* G1 to G3. */
static int
publish(const struct lhi_view *v, uint32_t idx, int fd)
{
	struct sockaddr_un fresh, named;

	address_of(&fresh, v, idx, (unsigned)geteuid(), "~");
	address_of(&named, v, idx, (unsigned)geteuid(), "");
	(void)unlink(fresh.sun_path);		/* of one that was killed */
	if (bind(fd, (struct sockaddr *)&fresh, sizeof(fresh)) != 0 ||
	    chmod(fresh.sun_path, SIGN_MODE) != 0)
		return -errno;
	lhi_point("sign.bound");
	if (listen(fd, QUEUE) != 0 ||
	    rename(fresh.sun_path, named.sun_path) != 0)
		return -errno;
	lhi_point("sign.named");
	return 0;
}

int
lhi_sign_make(const struct lhi_view *v, uint32_t idx)
{
	char own[sizeof(v->path)];
	struct stat st;
	int dir, fd, error = 0;

	(void)snprintf(own, sizeof(own), PLACE "/sign", (unsigned)geteuid());
	dir = lhi_table_dir_open(own, true);
	if (dir < 0)
		return dir;
	/* others than its owner look there as well */
	if (lhi_table_dir_is_system(v->path) && (fstat(dir, &st) != 0 ||
	    ((st.st_mode & SEARCH) != SEARCH &&
	    fchmod(dir, (st.st_mode & 0777) | SEARCH) != 0)))
		error = -errno;
	(void)close(dir);
	fd = error != 0 ? error : lhi_fd_socket(SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK);
	if (fd == -1)
		error = -errno;
	else if (fd >= 0)
		error = publish(v, idx, fd);
	if (error == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return lhi_fail(error, "cannot make the second sign of life in " PLACE
	    ": %s", (unsigned)geteuid(), strerror(-error));
}

void
lhi_sign_remove(const struct lhi_view *v, uint32_t idx)
{
	struct sockaddr_un a;

	address_of(&a, v, idx, (unsigned)geteuid(), "");
	(void)unlink(a.sun_path);
}

void
lhi_sign_sweep(int dir, uint64_t uuid)
{
	int fd = lhi_fd_openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	char prefix[24];
	size_t n;

	n = (size_t)snprintf(prefix, sizeof(prefix), "%016" PRIx64 "-", uuid);
	for (int i = 0; list != NULL && i < SWEEP_MAX &&
	    (e = readdir(list)) != NULL; i++)
		if (strncmp(e->d_name, prefix, n) == 0)
			(void)unlinkat(dir, e->d_name, 0);
	if (list != NULL)
		(void)closedir(list);
	else if (fd >= 0)
		(void)close(fd);
}

bool
lhi_sign_is_promised(const struct lhi_view *v, uint32_t idx)
{
	const struct shm_session *se = &v->sessions[idx];
	uint64_t s = sh64_load(&se->state);

	if (sess_st(s) == SESS_NAMED || (sess_flags(s) & SESS_WAS_NAMED))
		return false;
	/* both are 0, or neither: one bit that was changed is no promise */
	return __builtin_popcount(sh32_load(&se->sign)) +
	    __builtin_popcount(sh32_load(&se->sum)) > 1 &&
	    !lhi_mutant_on(sign_unasked);
}

/* True if the directory is that user's, and of the file system that the table
 * is in.  False: errno says why. */
static bool
is_place(const struct lhi_view *v, unsigned uid)
{
	char place[40];
	struct stat st;

	(void)snprintf(place, sizeof(place), PLACE, uid);
	if (lstat(place, &st) != 0)
		return false;
	errno = EXDEV;
	if (st.st_dev != v->live_dev)
		return false;
	errno = EACCES;
	return S_ISDIR(st.st_mode) && st.st_uid == uid &&
	    (st.st_mode & 022) == 0;
}

int
lhi_sign_held(const struct lhi_view *v, uint32_t idx)
{
	const struct shm_session *se = &v->sessions[idx];
	unsigned uid = sh32_load(&se->sign) ^ SIGN_OF_UID;
	unsigned again = sh32_load(&se->sum) ^ SIGN_OF_UID;
	struct sockaddr_un a;
	int fd, error;

	/* one of them was changed: most have their own for effective user */
	if (uid != again && uid != sh32_load_rlx(&se->uid))
		uid = again;
	if (!is_place(v, uid))
		return -errno;
	fd = lhi_fd_socket(SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return -errno;
	address_of(&a, v, idx, uid, "");
	error = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 ? 0 : errno;
	(void)close(fd);
	if (error == 0 || error == EAGAIN)
		return 1;
	return error == ECONNREFUSED ||
	    (error == ENOENT && lhi_mutant_on(sign_missing)) ? 0 : -error;
}
