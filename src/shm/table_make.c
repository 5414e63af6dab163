/* SPDX-License-Identifier: MIT */
/*
 * Making a table.
 *
 * A table is prepared without a name (O_TMPFILE) and made as long as it may
 * ever become.  It gets its initial memory (fallocate: a full tmpfs is an error
 * here, not a SIGBUS later; more as it grows, backing_grow.c), is initialised,
 * and gets its live file (live_file.c). Then it is linked to its name in its
 * directory (table_dir.c). A process that sees the name sees a whole table.  A
 * creator that is killed leaves nothing, a stopped one delays no other process,
 * and of two creators the second finds the first one's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "prim/descriptor.h"
#include "prim/sigbus.h"
#include "fence/durable.h"
#include "shm/backing.h"
#include "shm/backing_grow.h"
#include "shm/live_file.h"
#include "shm/removal_lock.h"
#include "shm/sign_sweep.h"
#include "shm/table_access.h"
#include "shm/table_conf.h"
#include "shm/table_dir.h"
#include "shm/table_object.h"
#include "shm/table_place.h"
#include "shm/table_floor.h"

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
	sh64_store_rlx(&h->timens_ino, lhi_process_time_ns());
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

/* Sets the object's length, and gives it its initial memory. */
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
	for (int i = 0; i < LHI_SPANS; i++)
		len += s[i].len;
	for (int i = 0; error == 0 && i < LHI_SPANS; i++)
		error = lhi_grow_back(fd, NULL, s[i].off, s[i].len);
	if (error == -ENOSPC || error == -EOPNOTSUPP)
		return lhi_fail(-ENOSPC, SHM_DIR " has no room for the %llu "
		    "bytes of table %s, or cannot reserve it (%s): free some, "
		    "or enlarge it, or make the table smaller", (unsigned long
		    long)len, path, strerror(-error));
	return error == 0 ? 0 : lhi_fail(error, "cannot reserve %llu bytes in "
	    SHM_DIR ": %s", (unsigned long long)len, strerror(-error));
}

static int
fill_object(int fd, int live, const char *path, const struct lh_open_opts *opts,
    uid_t owner)
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
	error = lhi_table_floor_read(path, &floor);
	if (error == 0)
		error = reserve_object(fd, path, &g);
	if (error == 0)
		error = lhi_durable_begin(path, opts, floor, &b);
	if (error != 0)
		return error;
	/* all of it: a table that its maker cannot map gets no name */
	base = lhi_sigbus_map(g.object_len, MAP_SHARED, fd);
	if (base == MAP_FAILED)
		return lhi_backing_fail_map(path, g.object_len);
	error = lhi_place_set(base, fd);
	if (error == 0)
		error = lhi_place_set_live(base, live);
	if (error == 0)
		initialise_header(base, &g, opts, &b);
	lhi_sigbus_unmap(base, g.object_len);
	if (error != 0)
		return error;
	if ((opts->group != LH_GROUP_USUAL || owner != geteuid()) &&
	    fchown(fd, owner == geteuid() ? (uid_t)-1 : owner,
	    opts->group == LH_GROUP_USUAL ? (gid_t)-1 : (gid_t)opts->group)
	    != 0)
		return lhi_fail(-errno, "cannot give %s to user %u and group "
		    "%u: %s (one has to be a member of it, or root)", path,
		    (unsigned)owner, opts->group, strerror(errno));
	if (fchmod(fd, (mode_t)opts->mode) != 0)
		return lhi_fail(-errno, "cannot set the mode of %s: %s", path,
		    strerror(errno));
	return 0;
}

static int
link_object(int dir, int fd, const char *path)
{
	char self[40];

	(void)snprintf(self, sizeof(self), "/proc/thread-self/fd/%d", fd);
	if (linkat(AT_FDCWD, self, dir, lhi_table_dir_leaf(path),
	    AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return errno == EEXIST ? -EEXIST : lhi_fail(-errno, "cannot give the "
	    "new table its name %s: %s%s", path, strerror(errno), errno ==
	    ENOENT ? " (is /proc mounted?)" : lhi_table_dir_room(errno));
}

static int
create_in(int dir, const char *path, const struct lh_open_opts *opts,
    uid_t owner)
{
	gid_t group = opts->group == LH_GROUP_USUAL ? getegid() :
	    (gid_t)opts->group;
	int fd, live, error;

	fd = lhi_fd_openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EROFS ? lhi_table_dir_fail_read_only(path) :
		    lhi_fail(-errno, "cannot make a file beside %s: %s%s",
		    path, strerror(errno), lhi_table_dir_room(errno));
	live = lhi_live_file_make(dir, path);
	error = live < 0 ? live : lhi_live_probe_try(path, live);
	if (error == 0)
		error = fill_object(fd, live, path, opts, owner);
	if (error == 0) {
		lhi_point("object.filled");
		error = lhi_live_file_name(dir, path, fd, live);
	}
	if (error == 0 && owner != geteuid())
		error = lhi_removal_give(path, owner);
	if (error == 0) {
		error = link_object(dir, fd, path);
		if (error != 0)
			lhi_live_file_drop(dir, path, fd);
	}
	if (live >= 0)
		(void)close(live);
	if (error == 0)
		lhi_live_file_sweep(dir, path);	/* older ones */
	if (error == 0)
		lhi_sign_sweep_own();
	if (error == 0 && lhi_table_dir_admit(path, dir, (mode_t)opts->mode,
	    group) != 0)
		error = lhi_fail(-errno, "cannot let others of mode %03o reach "
		    "%s: %s", opts->mode, path, strerror(errno));
	(void)close(fd);
	return error;
}

int
lhi_object_create(const char *path, const struct lh_open_opts *opts)
{
	struct lh_open_opts configured;
	uid_t owner = geteuid();
	int dir, error;

	if (lhi_table_dir_is_system(path)) {
		if (owner != 0)
			return lhi_table_access_fail_missing(path);
		error = lhi_table_conf_apply(path, opts, &configured, &owner);
		if (error != 0)
			return error;
		opts = &configured;
	}
	dir = lhi_table_dir_open(path, true);
	if (dir < 0)
		return dir;
	error = create_in(dir, path, opts, owner);
	(void)close(dir);
	return error;
}
