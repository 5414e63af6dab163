/* SPDX-License-Identifier: MIT */
/*
 * The second sign of life: answers "does anything live that this session was
 * passed on to?"
 *
 * A session is alive while its byte is locked (session_bytes.c).  That lock is
 * never inherited: a process that had its description could unlock it under its
 * owner, or truncate the file.  A session that is to outlive its process
 * (lh_liveness_fd(), the job of `leasehold run`) has a second sign beside it,
 * which is inherited and is of use for nothing else: a datagram socket that is
 * bound to a file.  Nothing is sent to it.  While any copy of that descriptor
 * is open, anywhere, another socket can be connected to the file, or is refused
 * with EPERM where a holder has connected the sign to a peer.  Once the last
 * copy is closed, connect() fails with ECONNREFUSED.  A process that was given
 * a copy can close it, and nothing else that it does changes that: there is no
 * way to unbind a socket, and connect() does not look whether a datagram socket
 * was shut down.  (It does look at a listening one.)  The kernel holds no lock
 * on it while it waits for a process's memory, so nobody can delay a judge.
 * (It does for a FIFO.)
 *
 * Place.  /dev/shm/leasehold.<euid>/ID-IDX.sign, euid the maker's (as it is
 * outside of its user namespace: outer_uid.c), ID the first
 * half of the table's id, IDX the record.  Nobody else can make a file in that
 * directory (table_dir.c).  It can be searched by all if the table is one of
 * the machine's, for its members.
 *
 * Mode 0666, because connecting needs the right to write.  A stranger who
 * connects gains and changes nothing.  Nobody can open the file: a copy of the
 * descriptor comes only from a process that has one.
 *
 * The record says which file it is: `sign` is the maker's euid, changed by a
 * constant (0: there is no sign), and `sign_file` the file's inode.  Each is
 * there twice, so that one changed bit is nothing.
 *
 * Made by the process that begins the session, while the record is RESERVED and
 * its bytes are locked, so by one process at a time:
 *	SM1	what one that was killed has left as ID-IDX.sign~ is unlinked,
 *		and a socket bound there
 *	SM2	it is shut down for reading, so that nothing can be sent to it;
 *		the file's mode is set
 *	SM3	it is renamed to ID-IDX.sign, in place of what an earlier
 *		session of that record left
 *	SM4	the record says so; then the state is ALIVE
 * Ended by the owner, in state CLOSING:
 *	SX1	the record says that there is none
 *	SX2	the file is unlinked
 *	SX3	the state is UNUSED, and the descriptor closed
 *
 * Asked only when the byte was seen free, after the state was loaded:
 *	JD1	the file of that name is opened as a place (O_PATH), not through
 *		a link: it is a socket, of that owner and inode
 *	JD2	a socket is connected to what was opened, through /proc
 * The file cannot be exchanged between JD1 and JD2, because both are about the
 * same descriptor.
 *
 * Invariants.
 *  I1	While a session is ALIVE, and in CLOSING until SX1, the file that its
 *	record names is there, unless its owner or root has removed it.
 *  I2	Before the state is ALIVE nobody but the owner has a copy.  So the
 *	file has a socket from SM1 until the last copy is closed, and
 *	ECONNREFUSED means that no process is left to whom this session was
 *	passed on.  A process gets a copy only from one that has it.
 *  I3	The answer is of the incarnation whose state was loaded, or the swap to
 *	DEAD fails.
 *
 * Anything but "connected", EPERM and ECONNREFUSED is "cannot tell": no file,
 * another file, a directory that is another user's or may not be searched,
 * another file system at /dev/shm, no /proc, no descriptor left.
 *
 * A crash or stop leaves
 *	after SM1, SM2	ID-IDX.sign~, of no use; unlinked by the next session of
 *			that record and user that makes a sign
 *	after SM3	ID-IDX.sign, which no record names; the next session
 *			of that record and user puts its own in its place
 *	after SM4, SX1	as session_record.c; the file stays until the record is
 *			reclaimed, or begins another session (sign_sweep.c)
 *	after SX2	nothing
 *	JD1, JD2		nothing
 * The removal of a table removes those that stand beside it.
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
#include "prim/file_owner.h"
#include "shm/outer_uid.h"
#include "shm/session_sign.h"
#include "shm/table_dir.h"

#define PLACE "/dev/shm/leasehold.%u"
#define SWEEP_MAX 100000	/* names looked at in a directory */
#define LEAF_MAX 40
#define SIGN_PATH_MAX 96
#define SEARCH 0011
#define SIGN_OF_UID 0x5a3c96e1u	/* no user's word is nearly 0 */
#define SIGN_MODE 0666
#define TO_DESCRIPTOR "/proc/thread-self/fd/%d"

/* Returns our effective user, as the record and the place name it. */
static unsigned
own_uid(void)
{
	return lhi_outer_uid(geteuid());
}

static void
name_leaf(char leaf[LEAF_MAX], const struct lhi_view *v, uint32_t idx,
    const char *suffix)
{
	(void)snprintf(leaf, LEAF_MAX, "%016" PRIx64 "-%u.sign%s", v->uuid[0],
	    idx, suffix);
}

/* Writes the path of that user's sign, for record idx. */
static void
name_sign(char path[SIGN_PATH_MAX], const struct lhi_view *v, uint32_t idx,
    unsigned uid)
{
	char leaf[LEAF_MAX];

	name_leaf(leaf, v, idx, "");
	(void)snprintf(path, SIGN_PATH_MAX, PLACE "/%s", uid, leaf);
}

void
lhi_sign_note(struct shm_session *se, uint64_t file)
{
	uint32_t word = 0;

	if (file != 0) {
		word = own_uid() ^ SIGN_OF_UID;
		sh64_store(&se->sign_file, file);
		sh64_store(&se->sign_copy, file);
	}
	sh32_store(&se->sign, word);
	sh32_store(&se->sum, word);
}

/* Does SM1 to SM3, with that socket.  Returns 0, and *file is its inode;
 * -errno. */
static int
publish(const struct lhi_view *v, uint32_t idx, int dir, int fd, uint64_t *file)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char fresh[LEAF_MAX], named[LEAF_MAX];
	struct stat st;
	int error;

	name_leaf(fresh, v, idx, "~");
	name_leaf(named, v, idx, "");
	(void)snprintf(a.sun_path, sizeof(a.sun_path), TO_DESCRIPTOR "/%s",
	    dir, fresh);
	if (!lhi_mutant_on(sign_leftover))
		(void)unlinkat(dir, fresh, 0);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		return errno == EADDRINUSE ? -EEXIST : -errno;
	lhi_point("sign.made");
	if (shutdown(fd, SHUT_RD) == 0 &&
	    fchmodat(dir, fresh, SIGN_MODE, 0) == 0 &&
	    fstatat(dir, fresh, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		*file = st.st_ino;
		lhi_point("sign.open");
		if (renameat(dir, fresh, dir, named) == 0) {
			lhi_point("sign.named");
			return 0;
		}
	}
	error = -errno;
	(void)unlinkat(dir, fresh, 0);
	return error;
}

int
lhi_sign_make(const struct lhi_view *v, uint32_t idx, uint64_t *file)
{
	char own[sizeof(v->path)];
	struct stat st;
	int dir, fd = -1, error = 0;

	(void)snprintf(own, sizeof(own), PLACE "/sign", own_uid());
	dir = lhi_table_dir_open(own, true);
	if (dir < 0)
		return dir;
	/* others than its owner look there as well */
	if (lhi_table_dir_is_system(v->path) && (fstat(dir, &st) != 0 ||
	    ((st.st_mode & SEARCH) != SEARCH &&
	    fchmod(dir, (st.st_mode & 0777) | SEARCH) != 0)))
		error = -errno;
	if (error == 0) {
		fd = lhi_fd_socket(SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
		error = fd < 0 ? -errno : publish(v, idx, dir, fd, file);
	}
	(void)close(dir);
	if (error == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return lhi_fail(error, "cannot make the second sign of life in " PLACE
	    ": %s%s", own_uid(), strerror(-error), lhi_table_dir_room(-error));
}

void
lhi_sign_remove(const struct lhi_view *v, uint32_t idx)
{
	char path[SIGN_PATH_MAX];

	name_sign(path, v, idx, own_uid());
	(void)unlink(path);
}

void
lhi_sign_begin(const struct lhi_view *v, uint32_t idx)
{
	struct shm_session *se = &v->sessions[idx];

	if ((sh32_load(&se->sign) ^ SIGN_OF_UID) == own_uid())
		lhi_sign_remove(v, idx);
	lhi_sign_note(se, 0);
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

/* True if the directory is that user's beyond doubt (file_owner.c), and of the
 * file system that the table is in.  Then only that user and root can have put
 * files there.  False: errno says why. */
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
	return S_ISDIR(st.st_mode) && lhi_outer_uid(st.st_uid) == uid &&
	    (st.st_mode & 022) == 0 && lhi_owner_is_sure_at(place, &st);
}

/* JD1: True if that is the file that the record names. */
static bool
is_sign(const struct lhi_view *v, const struct shm_session *se, unsigned uid,
    int file)
{
	struct stat st;

	if (lhi_mutant_on(sign_any_file))
		return true;
	return fstat(file, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    st.st_dev == v->live.device && lhi_outer_uid(st.st_uid) == uid &&
	    (st.st_ino == sh64_load(&se->sign_file) ||
	    st.st_ino == sh64_load(&se->sign_copy));
}

/* JD2: 1 if a socket is bound to that file, whose name is path; 0 if none is;
 * -errno. */
static int
is_bound(int file, const char *path)
{
	int fd = lhi_fd_socket(SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int error;

	if (fd < 0)
		return -errno;
	if (lhi_mutant_on(sign_asked_by_name))
		(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	else
		(void)snprintf(a.sun_path, sizeof(a.sun_path), TO_DESCRIPTOR,
		    file);
	error = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 ? 0 : errno;
	(void)close(fd);
	/* EPERM: it has a peer of its own */
	return error == 0 || error == EPERM ? 1 :
	    error == ECONNREFUSED ? 0 : -error;
}

int
lhi_sign_is_bound(int dir, const char *leaf)
{
	int file = lhi_fd_openat(dir, leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	int bound = file < 0 ? -errno : is_bound(file, leaf);

	if (file >= 0)
		(void)close(file);
	return bound;
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
	int file, held;

	if (!is_place(v, uid))
		return -errno;
	name_sign(path, v, idx, uid);
	file = lhi_fd_open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return errno == ENOENT && lhi_mutant_on(sign_missing) ? 0 :
		    -errno;
	lhi_point("sign.asking");
	held = is_sign(v, se, uid, file) ? is_bound(file, path) : -ESTALE;
	(void)close(file);
	return held;
}
