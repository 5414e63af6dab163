/* SPDX-License-Identifier: MIT */
/*
 * The second sign of life: answers "does anything live that this session was
 * passed on to?"
 *
 * A session is alive while its byte is locked (session_bytes.c).  That lock is
 * never inherited: a process that had its description could unlock it under its
 * owner, or truncate the file.  A session that is to outlive its process
 * (lh_liveness_fd(), the job of `leasehold run`) has a second sign beside it,
 * which is inherited and is of use for nothing else: the read end of a FIFO.
 * Nobody reads from it.  The kernel counts its readers: while any copy of that
 * descriptor is open, anywhere, the FIFO can be opened for writing.  Afterwards
 * open() fails with ENXIO.  A process that was given a copy can close it, and
 * nothing else that it does changes that count: the copies of others stay.
 * (A listening socket, which this was, can be shut down for all who have it.)
 *
 * Place.  /dev/shm/leasehold.<euid>/ID-IDX.sign, euid the maker's, ID the first
 * half of the table's id, IDX the record.  Nobody else can make a file in that
 * directory (table_dir.c).  It can be searched by all if the table is one of
 * the machine's, for its members.
 *
 * Mode.  A user who may open the live file may open the sign for writing, and
 * so judge: the sign has the live file's group and its writing bits.  If the
 * maker is root, it has the live file's owner, too.  A stranger may not even
 * write, because the kernel locks a FIFO while it copies from the writer's
 * memory: a writer with slow memory (FUSE) holds up everybody who opens it.
 * Only the owner may read, because a reader keeps the session alive.  If the
 * maker is not in the table's group, members of the group cannot judge: "cannot
 * tell".
 *
 * The record says which file it is: `sign` is the maker's euid, changed by a
 * constant (0: there is no sign), and `sign_file` the file's inode.  Each is
 * there twice, so that one changed bit is nothing.
 *
 * Made by the process that begins the session, while the record is RESERVED and
 * its bytes are locked, so by one process at a time:
 *	G1	what one that was killed has left as ID-IDX.sign~ is unlinked,
 *		and a FIFO made there
 *	G2	it is opened for reading; its mode is set
 *	G3	it is renamed to ID-IDX.sign, in place of what an earlier
 *		session of that record left
 *	G4	the record says so; then the state is ALIVE
 * Ended by the owner, in state CLOSING:
 *	E1	the record says that there is none
 *	E2	the file is unlinked
 *	E3	the state is UNUSED, and the descriptor closed
 *
 * Asked only when the byte was seen free, after the state was loaded:
 *	J1	the file of that name is a FIFO, of that owner and inode
 *	J2	it is opened for writing, not through a link, without waiting
 *	J3	if that says ENXIO: as J1, again
 * A socket or a device says ENXIO as well, and a FIFO that was put there by
 * hand has no reader.  Neither passes J1.  Between J1 and J3 only the
 * directory's owner could exchange the file twice; the owner is a member, who
 * can change the session's state as well.
 *
 * Invariants.
 *  I1	While a session is ALIVE, and in CLOSING until E1, the file that its
 *	record names is there, unless its owner or root has removed it.
 *  I2	Before the state is ALIVE nobody but the owner has a copy.  So the FIFO
 *	has a reader from G2 until the last copy is closed, and ENXIO means
 *	that no process is left to whom this session was passed on.  A process
 *	gets a copy only from one that has it.
 *  I3	The answer is of the incarnation whose state was loaded, or the swap to
 *	DEAD fails.
 *
 * Anything but "open" and ENXIO is "cannot tell": no file, another file, a
 * directory that is another user's or may not be searched, another file system
 * at /dev/shm, no descriptor left.
 *
 * A crash or stop leaves
 *	after G1, G2	ID-IDX.sign~, of no use; unlinked by the next session of
 *			that record and user that makes a sign
 *	after G3	ID-IDX.sign, which no record names; the next session
 *			of that record and user puts its own in its place
 *	after G4, E1	as session_record.c; the file stays.  The next session
 *			of that record, if it is the same user's, removes it
 *	after E2	nothing
 *	J1 to J3	nothing; the open write end is closed with the process,
 *			and keeps nobody alive
 * The removal of a table removes those that stand beside it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "prim/descriptor.h"
#include "shm/session_sign.h"
#include "shm/table_dir.h"

#define PLACE "/dev/shm/leasehold.%u"
#define SWEEP_MAX 100000	/* names looked at in a directory */
#define LEAF_MAX 40
#define SIGN_PATH_MAX 96
#define SEARCH 0011
#define SIGN_OF_UID 0x5a3c96e1u	/* no user's word is nearly 0 */
#define SMALLEST 4096		/* bytes that a FIFO can hold */

static void
name_leaf(char leaf[LEAF_MAX], const struct lhi_view *v, uint32_t idx,
    const char *suffix)
{
	(void)snprintf(leaf, LEAF_MAX, "%016" PRIx64 "-%u.sign%s", v->uuid[0],
	    idx, suffix);
}

/* Of that user, for record idx. */
static void
name_sign(char path[SIGN_PATH_MAX], const struct lhi_view *v, uint32_t idx,
    unsigned uid)
{
	char leaf[LEAF_MAX];

	name_leaf(leaf, v, idx, "");
	(void)snprintf(path, SIGN_PATH_MAX, PLACE "/%s", uid, leaf);
}

void
lhi_sign_note(struct shm_session *se, int fd)
{
	uint32_t word = 0;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0) {
		word = (uint32_t)geteuid() ^ SIGN_OF_UID;
		sh64_store(&se->sign_file, st.st_ino);
		sh64_store(&se->sign_copy, st.st_ino);
	}
	sh32_store(&se->sign, word);
	sh32_store(&se->sum, word);
}

/* Lets users who may open the live file write to fd: see above. */
static int
admit_judges(const struct lhi_view *v, int fd)
{
	struct stat live, st;
	mode_t mode;

	if (fstat(atomic_load(&v->probe_fd), &live) != 0 ||
	    fstat(fd, &st) != 0)
		return -errno;
	mode = 0600 | (live.st_mode & 0022);
	if (st.st_gid != live.st_gid &&
	    fchown(fd, (uid_t)-1, live.st_gid) != 0)
		mode &= (mode_t)~0020;
	if (fchmod(fd, mode) != 0)
		return -errno;
	/* only root can; another maker is the owner, or says who it is */
	if (st.st_uid != live.st_uid)
		(void)!fchown(fd, live.st_uid, (gid_t)-1);
	return 0;
}

/* G1 to G3.  The descriptor; -errno. */
static int
publish(const struct lhi_view *v, uint32_t idx, int dir)
{
	char fresh[LEAF_MAX], named[LEAF_MAX];
	int fd = -1, error;

	name_leaf(fresh, v, idx, "~");
	name_leaf(named, v, idx, "");
	if (!lhi_mutant_on(sign_leftover))
		(void)unlinkat(dir, fresh, 0);
	if (mkfifoat(dir, fresh, 0600) != 0)
		return -errno;
	lhi_point("sign.made");
	/* whatever the umask was */
	if (fchmodat(dir, fresh, 0600, 0) == 0)
		fd = lhi_fd_openat(dir, fresh, O_RDONLY | O_NONBLOCK |
		    O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0);
	error = fd < 0 ? -errno : admit_judges(v, fd);
	if (error == 0) {
		(void)fcntl(fd, F_SETPIPE_SZ, SMALLEST);
		lhi_point("sign.open");
		if (renameat(dir, fresh, dir, named) == 0) {
			lhi_point("sign.named");
			return fd;
		}
		error = -errno;
	}
	(void)unlinkat(dir, fresh, 0);
	if (fd >= 0)
		(void)close(fd);
	return error;
}

int
lhi_sign_make(const struct lhi_view *v, uint32_t idx)
{
	char own[sizeof(v->path)];
	struct stat st;
	int dir, fd;

	(void)snprintf(own, sizeof(own), PLACE "/sign", (unsigned)geteuid());
	dir = lhi_table_dir_open(own, true);
	if (dir < 0)
		return dir;
	/* others than its owner look there as well */
	if (lhi_table_dir_is_system(v->path) && (fstat(dir, &st) != 0 ||
	    ((st.st_mode & SEARCH) != SEARCH &&
	    fchmod(dir, (st.st_mode & 0777) | SEARCH) != 0)))
		fd = -errno;
	else
		fd = publish(v, idx, dir);
	(void)close(dir);
	return fd >= 0 ? fd : lhi_fail(fd, "cannot make the second sign of "
	    "life in " PLACE ": %s", (unsigned)geteuid(), strerror(-fd));
}

void
lhi_sign_remove(const struct lhi_view *v, uint32_t idx)
{
	char path[SIGN_PATH_MAX];

	name_sign(path, v, idx, (unsigned)geteuid());
	(void)unlink(path);
}

void
lhi_sign_begin(const struct lhi_view *v, uint32_t idx)
{
	struct shm_session *se = &v->sessions[idx];

	if ((sh32_load(&se->sign) ^ SIGN_OF_UID) == (uint32_t)geteuid())
		lhi_sign_remove(v, idx);
	lhi_sign_note(se, -1);
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
	if (st.st_dev != v->live.device)
		return false;
	errno = EACCES;
	return S_ISDIR(st.st_mode) && st.st_uid == uid &&
	    (st.st_mode & 022) == 0;
}

/* J1: True if that is the file that the record names. */
static bool
is_sign(const struct lhi_view *v, const struct shm_session *se, unsigned uid,
    const struct stat *st)
{
	if (lhi_mutant_on(sign_any_file))
		return true;
	return S_ISFIFO(st->st_mode) && st->st_dev == v->live.device &&
	    (st->st_uid == uid || st->st_uid == v->live_uid) &&
	    (st->st_ino == sh64_load(&se->sign_file) ||
	    st->st_ino == sh64_load(&se->sign_copy));
}

uint32_t
lhi_sign_user(const struct lhi_view *v, uint32_t idx)
{
	const struct shm_session *se = &v->sessions[idx];
	unsigned uid = sh32_load(&se->sign) ^ SIGN_OF_UID;
	unsigned again = sh32_load(&se->sum) ^ SIGN_OF_UID;

	/* one of them was changed: most have their own for effective user */
	return uid != again && uid != sh32_load_rlx(&se->uid) ? again : uid;
}

int
lhi_sign_held(const struct lhi_view *v, uint32_t idx)
{
	const struct shm_session *se = &v->sessions[idx];
	unsigned uid = lhi_sign_user(v, idx);
	char path[SIGN_PATH_MAX];
	struct stat st;
	bool is;
	int fd;

	if (!is_place(v, uid))
		return -errno;
	name_sign(path, v, idx, uid);
	if (lstat(path, &st) != 0)
		return errno == ENOENT && lhi_mutant_on(sign_missing) ? 0 :
		    -errno;
	if (!is_sign(v, se, uid, &st))
		return -ESTALE;
	lhi_point("sign.asking");
	fd = lhi_fd_open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC |
	    O_NOCTTY);
	if (fd < 0 && errno != ENXIO)
		return -errno;
	is = (fd < 0 ? lstat(path, &st) : fstat(fd, &st)) == 0 &&
	    is_sign(v, se, uid, &st);
	if (fd >= 0)
		(void)close(fd);
	return !is ? -ESTALE : fd >= 0;
}
