/* SPDX-License-Identifier: MIT */
/*
 * The table's object: whether this file is a table that this process may use.
 * Objects are made in table_make.c.
 *
 * Opening trusts nothing.  The file is reached from its directory
 * (table_dir.c), the header is read once into private memory, and everything is
 * compared with this build.  How far the table has grown is not read once; it
 * must be possible, and the file must have that much memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/process.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "shm/backing.h"
#include "shm/live_file.h"
#include "shm/removal_lock.h"
#include "shm/session_bytes.h"
#include "shm/table_access.h"
#include "shm/table_conf.h"
#include "shm/table_dir.h"
#include "shm/table_object.h"
#include "shm/table_place.h"
#include "shm/table_remove.h"
#include "shm/table_words.h"

/* A sum over every field that is written once, in the order of the layout. */
uint64_t
lhi_object_sum(const struct shm_header *h)
{
	const uint64_t facts[] = {
		sh64_load(&h->magic), sh32_load(&h->format),
		sh32_load(&h->header_len), sh64_load(&h->fingerprint),
		sh64_load(&h->object_len), sh64_load(&h->uuid[0]),
		sh64_load(&h->uuid[1]), sh64_load(&h->timens_ino),
		sh64_load(&h->t0_ns), sh32_load(&h->max_sessions),
		sh32_load(&h->n_chunks), sh32_load(&h->n_buckets),
		sh32_load(&h->n_slots), sh32_load(&h->n_long),
		sh32_load(&h->order), sh32_load(&h->clock_id),
		sh32_load(&h->creator_pid), sh64_load(&h->created_epoch_ms),
		sh64_load(&h->token_base), sh32_load(&h->options),
		lhi_hash(h->fence_dir, sizeof(h->fence_dir)),
		lhi_hash(h->cluster_prefix, sizeof(h->cluster_prefix)),
		sh64_load(&h->device), sh64_load(&h->inode),
		sh64_load(&h->boot), sh64_load(&h->born),
		sh64_load(&h->handle), sh64_load(&h->live_device),
		sh64_load(&h->live_inode), sh64_load(&h->live_born),
		sh64_load(&h->live_handle),
	};

	return lhi_hash(facts, sizeof(facts));
}

/* The range of the facts: from .. to. */
static const struct {
	size_t from, to;
} facts[] = {
	{ 0, offsetof(struct shm_header, reserved1) },
	{ offsetof(struct shm_header, created_epoch_ms),
	    offsetof(struct shm_header, flags) },
	{ offsetof(struct shm_header, fence_dir),
	    offsetof(struct shm_header, gone) },
	{ offsetof(struct shm_header, cluster_prefix),
	    offsetof(struct shm_header, shim_socket) },
	{ offsetof(struct shm_header, device),
	    offsetof(struct shm_header, reserved9) },
};

int
lhi_object_correct(struct shm_header *h, size_t *off)
{
	unsigned char *byte = (unsigned char *)h;

	if (lhi_object_sum(h) == sh64_load(&h->header_sum))
		return 0;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		for (size_t bit = 8 * facts[i].from; bit < 8 * facts[i].to;
		    bit++) {
			byte[bit / 8] ^= (unsigned char)(1u << bit % 8);
			if (lhi_object_sum(h) == sh64_load(&h->header_sum)) {
				*off = bit / 64 * 8;
				return 1;
			}
			byte[bit / 8] ^= (unsigned char)(1u << bit % 8);
		}
	}
	return -EUCLEAN;
}

/* True if a bit of the header was flipped, and the rest says which. */
static bool
is_correctable(const struct shm_header *h)
{
	struct shm_header copy = *h;
	size_t off;

	return lhi_object_correct(&copy, &off) == 1;
}

int
lhi_object_identify(const struct shm_header *h, const char *path, off_t len,
    struct lhi_geometry *g)
{
	if (is_correctable(h))
		return lhi_fail(-EUCLEAN, "the header of %s is damaged: a bit "
		    "was changed, and the others say which; stop its users and "
		    "repair it (leasehold fsck --repair%s)", path,
		    TABLE_WORDS(path));
	if (sh64_load(&h->magic) != SHM_MAGIC)
		return lhi_fail(-EPROTO, "%s is not a leasehold table: remove "
		    "it, or use another table name", path);
	if (sh32_load(&h->format) != SHM_FORMAT)
		return lhi_fail(-EPROTO, "%s has format %u and this build "
		    "wants %u: end the processes that use it, remove it, and "
		    "start them again with one version", path,
		    sh32_load(&h->format), SHM_FORMAT);
	if (sh32_load(&h->header_len) != sizeof(*h) ||
	    sh64_load(&h->fingerprint) != lhi_geometry_fingerprint())
		return lhi_fail(-EPROTO, "%s was made by a build with another "
		    "layout: end the processes that use it, remove it, and "
		    "start them again with one build", path);
	memset(g, 0, sizeof(*g));
	g->max_sessions = sh32_load(&h->max_sessions);
	g->n_chunks = sh32_load(&h->n_chunks);
	g->n_buckets = sh32_load(&h->n_buckets);
	g->n_slots = sh32_load(&h->n_slots);
	g->n_long = sh32_load(&h->n_long);
	if (sh64_load(&h->header_sum) != lhi_object_sum(h) ||
	    lhi_geometry_place(g) != 0 ||
	    g->object_len != sh64_load(&h->object_len) ||
	    sh32_load(&h->order) > LH_ORDER_BARGE ||
	    (sh32_load(&h->clock_id) != CLOCK_MONOTONIC &&
	    sh32_load(&h->clock_id) != CLOCK_BOOTTIME) ||
	    sh64_load(&h->t0_ns) > INT64_MAX / 2 ||
	    memchr(h->fence_dir, 0, sizeof(h->fence_dir)) == NULL ||
	    (h->fence_dir[0] != '\0' && h->fence_dir[0] != '/') ||
	    memchr(h->cluster_prefix, 0, sizeof(h->cluster_prefix)) == NULL)
		return lhi_fail(-EUCLEAN, "the header of %s is damaged: stop "
		    "its users, remove it, and start them again", path);
	if ((uint64_t)len != g->object_len)
		return lhi_fail(-EPROTO, "%s has %lld bytes and should have "
		    "%llu: it was truncated or overwritten; stop its users and "
		    "remove it", path, (long long)len,
		    (unsigned long long)g->object_len);
	return 0;
}

int
lhi_object_check(const struct shm_header *h, const char *path, off_t len,
    struct lhi_geometry *g)
{
	struct lhi_backing e;
	int error = lhi_object_identify(h, path, len, g);

	return error != 0 || lhi_backing_of(h, g, &e) ? error :
	    lhi_fail(-EUCLEAN, "the header of %s is damaged: it has grown to "
	    "a size that makes no sense; stop its users and repair it "
	    "(leasehold fsck --repair%s)", path, TABLE_WORDS(path));
}

static int
check_time_and_clock(const struct shm_header *h, const char *path)
{
	uint64_t theirs = sh64_load(&h->timens_ino);
	uint64_t ours = lhi_process_time_ns();

	if (ours == 0)
		return lhi_fail(-EXDEV, "cannot tell whether this process has "
		    "the clock of %s: /proc/thread-self/ns/time cannot be "
		    "read; mount /proc", path);
	if (theirs != ours)
		return lhi_fail(-EXDEV, "%s was made in another time "
		    "namespace: its deadlines mean nothing here; use a table "
		    "of your own",
		    path);
	if ((int64_t)sh64_load(&h->t0_ns) >
	    lhi_clock_ns((clockid_t)sh32_load(&h->clock_id)))
		return lhi_fail(-EXDEV, "%s was made in the future of this "
		    "clock (another boot or time namespace): remove it", path);
	return 0;
}

/* Completes the removal of a table, or only says that it is gone. */
static int
end_removed(const char *path, int fd, enum lhi_purpose purpose,
    const struct lhi_geometry *geo)
{
	int error = -EACCES;

	if (purpose != LHI_TO_FIND && purpose != LHI_TO_LOOK)
		error = lhi_table_remove_finish(path, fd, geo);
	else if (lhi_removal_is_at_work(path) == 1)
		error = -EAGAIN;
	if (error == -EAGAIN)
		return lhi_removal_fail_stuck(path);
	if (error == -EINPROGRESS)	/* to whoever opens it */
		return -EBUSY;
	/* -EACCES: root completes it, and until then there is no other */
	return error != 0 && error != -EACCES ? error :
	    lhi_fail(-ENOENT, "%s was removed", path);
}

/* Clears the mark of a removal that was not begun, or refuses. */
static int
settle_marked(const char *path, int fd)
{
	int error = lhi_mutant_on(mark_unsettled) ? -EACCES :
	    lhi_table_remove_settle(path, fd);

	return error == -EAGAIN || error == -EACCES ?
	    lhi_removal_fail_stuck(path) : error;
}

/* Checks that the table was not removed halfway, nor made too late to know of
 * a removal. */
static int
check_not_removed(const struct shm_header *h, const struct lhi_geometry *geo,
    const char *path, int fd, enum lhi_purpose purpose)
{
	bool trusts = purpose == LHI_TO_USE || purpose == LHI_TO_FIND;
	int due = lhi_table_remove_due(path, fd, h, geo);

	switch (due) {
	case LHI_REMOVAL_BEGUN:
		return end_removed(path, fd, purpose, geo);
	case LHI_REMOVAL_MARKED:
		return purpose == LHI_TO_LOOK ? 0 : settle_marked(path, fd);
	case LHI_REMOVAL_CLAIMED:
		return !trusts ? 0 : lhi_fail(-EUCLEAN, "%s is damaged: its "
		    "words say that it was removed, but neither its owner nor "
		    "root has begun that, so a process that may write to it "
		    "has written them; stop its users and repair it (leasehold "
		    "fsck --repair%s)", path, TABLE_WORDS(path));
	case LHI_REMOVAL_BELOW:
		return !trusts && purpose != LHI_TO_REPAIR ? 0 :
		    lhi_fail(-EUCLEAN, "the tokens of %s begin below what "
		    "tables of that name have given already, and it was in "
		    "use: it was put back, or the mark beside it was changed; "
		    "stop its users and remove it (leasehold rm --force%s)",
		    path, TABLE_WORDS(path));
	default:
		return due;
	}
}

/* Checks that it is not being repaired, and no repair was left unfinished. */
static int
check_not_repairing(const struct shm_header *h, const char *path, int fd)
{
	struct lhi_place place = lhi_place_live(h);
	bool held;
	int live;

	if (!lhi_header_is_repairing(h))
		return 0;
	live = lhi_live_file_open(path, fd, sh64_load(&h->uuid[0]), &place);
	if (live < 0)
		return live;
	held = lhi_session_removal_held(live);
	(void)close(live);
	if (held)
		return lhi_fail(-EAGAIN, "%s is being repaired", path);
	return lhi_fail(-EUCLEAN, "the repair of %s did not come to its end: "
	    "repair it again (leasehold fsck --repair%s)", path,
	    TABLE_WORDS(path));
}

/* Checks fd: the object is its user's; or one of the machine's, and root's or
 * its configured owner's. */
static int
check_owner(const char *path, int fd, const struct stat *st)
{
	bool sure = lhi_owner_is_sure(fd, st);
	int error;

	if (!sure)
		error = lhi_fail(-EACCES, "%s belongs to user %u, which in "
		    "this user namespace is each user without a number here, "
		    "so it is not trusted: map its owner here (/etc/subuid)",
		    path, (unsigned)st->st_uid);
	else if (lhi_table_dir_is_system(path))
		error = lhi_table_conf_check_owner(path, st->st_uid);
	else
		error = st->st_uid == geteuid() ? 0 : lhi_fail(-EACCES, "%s "
		    "belongs to user %u, not to you: remove it, or use another "
		    "name", path, (unsigned)st->st_uid);
	if (error == 0)
		return fd;
	(void)close(fd);
	return error;
}

/* Opens it for `access`, O_RDWR or O_RDONLY, from its directory; `any`: ignores
 * the owner of one of the machine's. */
static int
open_object(const char *path, int access, bool any, struct stat *st)
{
	int dir = lhi_table_dir_open(path, false), fd, error;

	if (dir < 0)
		return dir;
	fd = lhi_fd_openat(dir, lhi_table_dir_leaf(path), access | O_CLOEXEC |
	    O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	error = errno;
	if (fd < 0 && (error == EACCES || error == EPERM))
		error = lhi_table_access_fail(dir, lhi_table_dir_leaf(path),
		    path, access == O_RDWR);
	(void)close(dir);
	if (fd < 0 && error < 0)
		return error;
	if (fd >= 0 && fstat(fd, st) == 0)
		return any && lhi_table_dir_is_system(path) ? fd :
		    check_owner(path, fd, st);
	if (fd >= 0)
		(void)close(fd);
	switch (error) {
	case ELOOP:
		return lhi_fail(-EPROTO, "%s is a symbolic link: a table is "
		    "never reached through one; remove it", path);
	case EISDIR:
	case ENXIO:
	case ENODEV:
		return lhi_fail(-EPROTO, "%s is not a regular file: "
		    "remove it", path);
	case EROFS:
		return lhi_table_dir_fail_read_only(path);
	default:
		return lhi_fail(-error, "cannot open %s: %s", path,
		    strerror(error));
	}
}

int
lhi_object_open(const char *path, enum lhi_purpose purpose,
    struct lhi_geometry *geo, struct lhi_object_id *id)
{
	const bool mend = purpose == LHI_TO_REPAIR;
	struct shm_header h;
	struct stat st;
	int error = 0, fd = open_object(path, O_RDWR, false, &st);
	size_t corrected;
	ssize_t got;

	if (fd < 0)
		return fd;
	got = S_ISREG(st.st_mode) ? pread(fd, &h, sizeof(h), 0) : -1;
	if (!S_ISREG(st.st_mode))
		error = lhi_fail(-EPROTO, "%s is not a regular file: "
		    "remove it", path);
	else if (got != (ssize_t)sizeof(h))
		error = lhi_fail(-EPROTO, "%s has %lld bytes: too short for a "
		    "table; remove it, or use another table name", path,
		    (long long)st.st_size);
	else if (mend)
		(void)lhi_object_correct(&h, &corrected);
	if (error == 0)
		error = mend ?
		    lhi_object_identify(&h, path, st.st_size, geo) :
		    lhi_object_check(&h, path, st.st_size, geo);
	if (error == 0 && !mend && !lhi_backing_backed(fd, &h, geo))
		error = lhi_fail(-EPROTO, "%s is not backed by memory as far "
		    "as it should be (it was copied or punched): remove it",
		    path);
	if (error == 0)
		error = lhi_place_check(&h, fd, path);
	/* (a removal by force judges no deadline) */
	if (error == 0 && purpose != LHI_TO_REMOVE)
		error = check_time_and_clock(&h, path);
	if (error == 0)
		error = check_not_removed(&h, geo, path, fd, purpose);
	if (error == 0 && (purpose == LHI_TO_USE || purpose == LHI_TO_FIND))
		error = check_not_repairing(&h, path, fd);
	if (error != 0) {
		(void)close(fd);
		return error;
	}
	id->ranges[0] = '\0';
	if (h.fence_dir[0] != '\0')	/* it was of such a length once */
		(void)lhi_range_dir(id->ranges, h.fence_dir, path);
	id->uuid[0] = sh64_load(&h.uuid[0]);
	id->uuid[1] = sh64_load(&h.uuid[1]);
	id->dev = st.st_dev;
	id->ino = st.st_ino;
	id->live = lhi_place_live(&h);
	id->t0_ns = (int64_t)sh64_load(&h.t0_ns);
	id->clock = (clockid_t)sh32_load(&h.clock_id);
	id->order = sh32_load(&h.order);
	return fd;
}

int
lhi_object_open_any(const char *path, int access)
{
	struct stat st;
	int fd = open_object(path, access, geteuid() == 0, &st);

	if (fd >= 0 && !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return lhi_fail(-EPROTO, "%s is not a regular file: "
		    "remove it", path);
	}
	return fd;
}
