/* SPDX-License-Identifier: MIT */
/*
 * The table's object: answers "is this file a table I may use?", and makes one.
 *
 * A table is prepared without a name (O_TMPFILE), made as long as it may ever
 * become, given the memory that it begins with (fallocate: a full tmpfs is an
 * error here, not a SIGBUS later; more as it grows, backing_grow.c),
 * initialised, and then linked to its name.  Whoever sees the name sees a whole
 * table; a creator that is killed leaves nothing, one that is stopped is in
 * nobody's way, and of two creators the second finds the first one's.
 *
 * Opening trusts nothing: the header is read once into private memory and
 * everything is compared with what this build would have made.  How far the
 * table has grown is not among what is read once; it must make sense, and the
 * file must have that much memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "prim/descriptor.h"
#include "prim/sigbus.h"
#include "fence/durable.h"
#include "shm/backing.h"
#include "shm/backing_grow.h"
#include "shm/session_bytes.h"
#include "shm/table_object.h"
#include "shm/table_remove.h"

#define SHM_DIR "/dev/shm"
#define CLUSTER_PREFIX "cluster:"

static int
set_geometry(const struct lh_open_opts *o, struct lhi_geometry *g)
{
	uint32_t keys = o->max_keys;

	memset(g, 0, sizeof(*g));
	if (keys < 1 || keys >= SLINK_BUCKET || o->max_sessions < 2 ||
	    o->max_sessions > 4096 || o->max_leases < 2 * SHM_CHUNK ||
	    o->max_leases > CLAIMS_MAX - SHM_CHUNK ||
	    o->order > LH_ORDER_BARGE || o->clock > LH_CLOCK_BOOTTIME)
		return lhi_fail(-EINVAL, "no such table can be made: max_keys "
		    "is %u (1 to 2^26 - 1), max_sessions %u (2 to 4096), "
		    "max_leases %u (128 to %u), order %u (0 to 2), clock %u (0 "
		    "or 1)", keys,
		    o->max_sessions, o->max_leases, CLAIMS_MAX - SHM_CHUNK,
		    o->order, o->clock);
	g->max_sessions = o->max_sessions;
	g->n_chunks = (o->max_leases + SHM_CHUNK - 1) / SHM_CHUNK + 1;
	g->n_slots = keys + 1;
	g->n_long = keys / 4 + 16;
	for (g->n_buckets = 1; g->n_buckets < keys; g->n_buckets *= 2)
		;
	return lhi_geometry_place(g);
}

/* Over every field that is written once, in the order of the layout. */
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
	};

	return lhi_hash(facts, sizeof(facts));
}

static void
initialise_header(struct shm_header *h, const struct lhi_geometry *g,
    const struct lh_open_opts *o, const struct lhi_beginning *b)
{
	clockid_t clock = o->clock == LH_CLOCK_BOOTTIME ? CLOCK_BOOTTIME :
	    CLOCK_MONOTONIC;
	struct lhi_backing e = lhi_backing_first(g);
	struct timespec wall;

	(void)clock_gettime(CLOCK_REALTIME, &wall);
	sh32_store_rlx(&h->header_len, sizeof(*h));
	sh64_store_rlx(&h->object_len, g->object_len);
	sh64_store_rlx(&h->timens_ino, lhi_timens_ino());
	sh64_store_rlx(&h->t0_ns, (uint64_t)lhi_clock_ns(clock));
	sh64_store_rlx(&h->uuid[0], b->uuid[0]);
	sh64_store_rlx(&h->uuid[1], b->uuid[1]);
	sh32_store_rlx(&h->max_sessions, g->max_sessions);
	sh32_store_rlx(&h->n_chunks, g->n_chunks);
	sh32_store_rlx(&h->n_buckets, g->n_buckets);
	sh32_store_rlx(&h->n_slots, g->n_slots);
	sh32_store_rlx(&h->n_long, g->n_long);
	sh32_store_rlx(&h->order, o->order);
	sh32_store_rlx(&h->clock_id, (uint32_t)clock);
	sh32_store_rlx(&h->options,
	    (o->flags & LH_HOLD_TIMES ? SHM_OPT_HOLD_TIMES : 0) |
	    (o->flags & LH_TOKENS_GLOBAL ? SHM_OPT_GLOBAL : 0));
	if (o->flags & LH_TOKENS_GLOBAL)
		sh64_store_rlx(&h->last_token, b->base);
	sh32_store_rlx(&h->creator_pid, (uint32_t)getpid());
	sh32_store_rlx(&h->ready_slots, e.slots);
	sh32_store_rlx(&h->ready_chunks, e.chunks);
	sh32_store_rlx(&h->ready_longs, e.longs);
	sh32_store_rlx(&h->bucket_level, e.level);
	sh64_store_rlx(&h->created_epoch_ms,
	    (uint64_t)(lhi_timespec_ns(&wall) / NS_PER_MS));
	sh64_store_rlx(&h->token_base, b->base);
	sh64_store_rlx(&h->ceiling, b->end);
	memcpy(h->fence_dir, b->fence_dir, sizeof(h->fence_dir));
	(void)strlcpy(h->cluster_prefix, o->cluster_prefix != NULL ?
	    o->cluster_prefix : CLUSTER_PREFIX, sizeof(h->cluster_prefix));
	if (b->fence_dir[0] != '\0')
		sh64_store_rlx(&h->durable_ceiling, b->end);
	for (unsigned i = 0; i < SHM_SHARDS; i++)
		sh64_store_rlx(&h->floor[i], b->base);
	sh32_store_rlx(&h->slot_next, 1);
	sh32_store_rlx(&h->chunk_next, 1);
	sh32_store_rlx(&h->long_next, 1);
	sh64_store_rlx(&h->fingerprint, lhi_geometry_fingerprint());
	sh32_store_rlx(&h->format, SHM_FORMAT);
	sh64_store(&h->magic, SHM_MAGIC);
	sh64_store(&h->header_sum, lhi_object_sum(h));
}

/* The object's length, and memory for what it begins with. */
static int
reserve_object(int fd, const char *path, const struct lhi_geometry *g)
{
	struct lhi_backing e = lhi_backing_first(g);
	struct lhi_span s[LHI_SPANS];
	struct rlimit most;
	uint64_t len = 0;
	int error = 0;

	/* ftruncate() beyond it would be a signal */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 &&
	    most.rlim_cur < g->object_len)
		return lhi_fail(-ENOSPC, "a table of that size can have files "
		    "of up to %llu bytes, and this process is limited to %llu "
		    "(ulimit -f): raise that, or make the table smaller "
		    "(fewer keys)", (unsigned long long)g->object_len,
		    (unsigned long long)most.rlim_cur);
	if (ftruncate(fd, (off_t)g->object_len) != 0)
		error = -errno;
	lhi_backing_spans(g, &e, s);
	for (int i = 0; error == 0 && i < LHI_SPANS; i++) {
		error = lhi_grow_back(fd, NULL, s[i].off, s[i].len);
		len += s[i].len;
	}
	if (error == -ENOSPC || error == -EOPNOTSUPP)
		return lhi_fail(-ENOSPC, SHM_DIR " has no room for the %llu "
		    "bytes of table %s, or cannot reserve it (%s): free some, "
		    "or enlarge it, or make the table smaller", (unsigned long
		    long)len, path, strerror(-error));
	return error == 0 ? 0 : lhi_fail(error, "cannot reserve %llu bytes in "
	    SHM_DIR ": %s", (unsigned long long)len, strerror(-error));
}

static int
fill_object(int fd, const char *path, const struct lh_open_opts *opts)
{
	struct lhi_beginning b;
	struct lhi_geometry g;
	uint64_t floor;
	void *base;
	int error = set_geometry(opts, &g);

	if (error != 0)
		return error;
	if (opts->mode & ~0777u)
		return lhi_fail(-EINVAL, "mode 0%o: only permission bits make "
		    "sense", opts->mode);
	if (opts->cluster_prefix != NULL &&
	    strlen(opts->cluster_prefix) >= SHM_PREFIX)
		return lhi_fail(-EINVAL, "the prefix of cluster keys is longer "
		    "than %u bytes", SHM_PREFIX - 1);
	error = lhi_table_remove_floor(path, &floor);
	if (error == 0)
		error = reserve_object(fd, path, &g);
	if (error == 0)
		error = lhi_durable_begin(path, opts, floor, &b);
	if (error != 0)
		return error;
	base = lhi_sigbus_map(sizeof(struct shm_header), MAP_SHARED, fd);
	if (base == MAP_FAILED)
		return lhi_fail(-errno, "cannot map the new table: %s",
		    strerror(errno));
	initialise_header(base, &g, opts, &b);
	lhi_sigbus_unmap(base, sizeof(struct shm_header));
	if (opts->group != LH_GROUP_USUAL &&
	    fchown(fd, (uid_t)-1, (gid_t)opts->group) != 0)
		return lhi_fail(-errno, "cannot give %s to group %u: %s (one "
		    "has to be a member of it, or root)", path, opts->group,
		    strerror(errno));
	if (fchmod(fd, (mode_t)opts->mode) != 0)
		return lhi_fail(-errno, "cannot set the mode of %s: %s", path,
		    strerror(errno));
	return 0;
}

int
lhi_object_create(const char *path, const struct lh_open_opts *opts)
{
	char self[40];
	int fd, error;

	fd = lhi_fd_openat(AT_FDCWD, SHM_DIR, O_TMPFILE | O_RDWR | O_CLOEXEC,
	    0600);
	if (fd < 0)
		return lhi_fail(-errno, "cannot make a file in " SHM_DIR ": %s",
		    strerror(errno));
	error = fill_object(fd, path, opts);
	if (error == 0) {
		lhi_point("object.filled");
		(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		if (linkat(AT_FDCWD, self, AT_FDCWD, path,
		    AT_SYMLINK_FOLLOW) != 0)
			error = errno == EEXIST ? -EEXIST : lhi_fail(-errno,
			    "cannot give the new table its name %s: %s (is "
			    "/proc mounted?)", path, strerror(errno));
	}
	(void)close(fd);
	return error;
}

int
lhi_object_identify(const struct shm_header *h, const char *path, off_t len,
    struct lhi_geometry *g)
{
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
	    "(leasehold fsck --repair)", path);
}

static int
check_time_and_clock(const struct shm_header *h, const char *path)
{
	uint64_t theirs = sh64_load(&h->timens_ino), ours = lhi_timens_ino();

	if (theirs != 0 && ours != 0 && theirs != ours)
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

/* A table that was removed halfway, or too late to know of a removal. */
static int
check_not_removed(const struct shm_header *h, const char *path, int fd)
{
	int due = lhi_table_remove_due(path, h), error;

	if (due <= 0)
		return due;
	error = lhi_table_remove_finish(path, fd);
	if (error == -EAGAIN)
		return lhi_fail(error, "%s is being removed by a process that "
		    "does not go on: end it, or let it run", path);
	return error != 0 ? error :
	    lhi_fail(-ENOENT, "%s was removed", path);
}

/* Being repaired, or left in the midst of that? */
static int
check_not_repairing(const struct shm_header *h, const char *path, int fd)
{
	if (!(sh32_load(&h->flags) & SHM_REPAIRING))
		return 0;
	if (lhi_session_removal_held(fd))
		return lhi_fail(-EAGAIN, "%s is being repaired", path);
	return lhi_fail(-EUCLEAN, "the repair of %s did not come to its end: "
	    "repair it again (leasehold fsck --repair)", path);
}

static int
open_object(const char *path, struct stat *st)
{
	int fd = lhi_fd_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK | O_NOCTTY);
	int error = errno;

	if (fd >= 0 && fstat(fd, st) == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	switch (error) {
	case ELOOP:
		return lhi_fail(-EPROTO, "%s is a symbolic link: a table is "
		    "never reached through one; remove it", path);
	case EISDIR:
	case ENXIO:
	case ENODEV:
		return lhi_fail(-EPROTO, "%s is not a regular file", path);
	case EACCES:
	case EPERM:
		return lhi_fail(-EACCES, "no permission to open %s for reading "
		    "and writing", path);
	default:
		return lhi_fail(-error, "cannot open %s: %s", path,
		    strerror(error));
	}
}

/* With `mend`, also what is damaged behind the facts of its header. */
static int
open_table(const char *path, bool system_wide, bool mend,
    struct lhi_geometry *geo, struct lhi_object_id *id)
{
	struct shm_header h;
	struct stat st;
	int error, fd = open_object(path, &st);
	ssize_t got;

	if (fd < 0)
		return fd;
	got = S_ISREG(st.st_mode) ? pread(fd, &h, sizeof(h), 0) : -1;
	if (!S_ISREG(st.st_mode))
		error = lhi_fail(-EPROTO, "%s is not a regular file", path);
	else if (!system_wide && st.st_uid != geteuid())
		error = lhi_fail(-EACCES, "%s belongs to user %u, not to you: "
		    "somebody took the name of your table; remove it, or use "
		    "another name", path, (unsigned)st.st_uid);
	else if (got != (ssize_t)sizeof(h))
		error = lhi_fail(-EPROTO, "%s has %lld bytes: too short for a "
		    "table; remove it, or use another table name", path,
		    (long long)st.st_size);
	else
		error = mend ?
		    lhi_object_identify(&h, path, st.st_size, geo) :
		    lhi_object_check(&h, path, st.st_size, geo);
	if (error == 0 && !mend && !lhi_backing_backed(fd, &h, geo))
		error = lhi_fail(-EPROTO, "%s is not backed by memory as far "
		    "as it should be (it was copied or punched): remove it",
		    path);
	if (error == 0)
		error = check_time_and_clock(&h, path);
	if (error == 0)
		error = check_not_removed(&h, path, fd);
	if (error == 0 && !mend)
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
	id->t0_ns = (int64_t)sh64_load(&h.t0_ns);
	id->clock = (clockid_t)sh32_load(&h.clock_id);
	id->order = sh32_load(&h.order);
	return fd;
}

int
lhi_object_open(const char *path, bool system_wide,
    struct lhi_geometry *geo, struct lhi_object_id *id)
{
	return open_table(path, system_wide, false, geo, id);
}

int
lhi_object_open_to_repair(const char *path, bool system_wide,
    struct lhi_geometry *geo, struct lhi_object_id *id)
{
	return open_table(path, system_wide, true, geo, id);
}

int
lhi_object_reopen(const char *path, const struct lhi_object_id *id)
{
	struct stat st;
	int fd = open_object(path, &st);

	if (fd >= 0 && (st.st_dev != id->dev || st.st_ino != id->ino)) {
		(void)close(fd);
		return lhi_fail(-ESTALE, "%s was replaced just now: try again",
		    path);
	}
	return fd;
}

int
lhi_object_open_any(const char *path)
{
	struct stat st;
	int fd = open_object(path, &st);

	if (fd >= 0 && !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return lhi_fail(-EPROTO, "%s is not a regular file", path);
	}
	return fd;
}
