/* SPDX-License-Identifier: MIT */
/*
 * The view of a table: whether this mapping still is the table of that name,
 * and this process's clock the table's.  view.h describes its fields, and has
 * the helpers that need no system call.
 *
 * A view has one descriptor of the object (object_fd), to get memory for it and
 * to check its name.  Questions about sessions go through another file
 * (live_probe.c). The application may close it (closefrom), and its number may
 * then be another file, so each use compares device and inode with those of the
 * table.  If they differ, the object is opened again by name, if the name still
 * is this object.  Several threads may do that at once: one of them stores its
 * descriptor, the others close theirs.
 *
 * Nothing here writes to shared memory, so a crash leaves nothing behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "prim/descriptor.h"
#include "shm/damaged.h"
#include "shm/removal_mark.h"
#include "shm/view.h"

#define FRESH_NS ((uint64_t)(20 * NS_PER_MS))

void
lhi_view_point(struct lhi_view *v, char *base, const struct lhi_geometry *g)
{
	v->geo = *g;
	v->hdr = (struct shm_header *)base;
	v->sessions = (struct shm_session *)(base + g->sessions_off);
	v->chunks = (struct shm_chunk *)(base + g->chunks_off);
	v->claims = (struct shm_claim *)(base + g->claims_off);
	v->buckets = (shm_u64 *)(base + g->buckets_off);
	v->slots = (struct shm_slot *)(base + g->slots_off);
	v->longs = (struct shm_long *)(base + g->long_off);
	v->rings = (struct shm_ring *)(base + g->rings_off);
	v->requests = (struct shm_request *)(base + g->requests_off);
	v->values = (struct shm_value *)(base + g->values_off);
	v->asides = (struct shm_claim_note *)(base + g->asides_off);
	v->rights = (struct shm_right *)(base + g->rights_off);
}

bool
lhi_view_is(const struct lhi_view *v, int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 &&
	       (lhi_mutant_on(object_unchecked) ||
		   (st.st_dev == v->dev && st.st_ino == v->ino));
}

int
lhi_view_fd(struct lhi_view *v)
{
	int fd = atomic_load(&v->object_fd), again;

	if (lhi_view_is(v, fd))
		return fd;
	again = lhi_fd_open(v->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (again < 0)
		return -1;
	if (!lhi_view_is(v, again) ||
	    !atomic_compare_exchange_strong(&v->object_fd, &fd, again)) {
		(void)close(again);
		fd = atomic_load(&v->object_fd);
		errno = ESTALE;
		return lhi_view_is(v, fd) ? fd : -1;
	}
	return again;
}

int
lhi_view_no_fd(const struct lhi_view *v, int error, const char *what)
{
	return lhi_fail(error == -ENOENT ? -ESTALE : error, "the descriptor of "
	    "%s was closed, and it cannot be opened again to %s: %s", v->path,
	    what, strerror(-error));
}

bool
lhi_view_same_time(const struct lhi_view *v)
{
	uint64_t theirs = sh64_load(&v->hdr->timens_ino);
	uint64_t ours = lhi_process_time_ns();

	return ours != 0 && theirs == ours;
}

/* True if the object has no name any more; with `marked`, also if its owner has
 * marked its removal. */
static bool
is_nameless(struct lhi_view *v, bool marked)
{
	int saved = errno;
	int fd = atomic_load(&v->object_fd);
	struct stat st;
	bool gone;

	/* usually one question says that it is the object, and has a name */
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == v->dev &&
	    st.st_ino == v->ino) {
		gone = st.st_nlink == 0;
	} else {
		fd = lhi_view_fd(v);
		/* that it cannot be opened says nothing */
		gone = fd < 0 ? errno == ENOENT || errno == ESTALE :
		    fstat(fd, &st) == 0 && st.st_nlink == 0;
	}
	gone = gone || (marked && fd >= 0 && lhi_removal_mark_is_set(fd));
	errno = saved;
	return gone;
}

bool
lhi_view_removed(struct lhi_view *v)
{
	return is_nameless(v, true);
}

bool
lhi_view_gone(struct lhi_view *v)
{
	return is_nameless(v, false) || lhi_view_retired(v);
}

/*
 * As lhi_view_same_time(), which costs microseconds, but asked again only when
 * the clock is not within FRESH_NS after the last time.  A namespace whose
 * clock differs by more is noticed at once, another one after that time.
 */
static bool
is_same_time_lately(struct lhi_view *v)
{
	uint64_t now = (uint64_t)lhi_now_ns(v);
	uint64_t asked = atomic_load_explicit(&v->fresh_ns,
	    memory_order_relaxed);

	if (asked != 0 && now - asked < FRESH_NS)
		return true;
	if (!lhi_view_same_time(v))
		return false;
	atomic_store_explicit(&v->fresh_ns, now, memory_order_relaxed);
	return true;
}

int
lhi_view_fresh(struct lhi_view *v)
{
	bool gone = lhi_view_gone(v);

	if (!is_same_time_lately(v))
		return lhi_damaged_or(v, lhi_fail(-EXDEV, "this process has "
		    "entered another time namespace: the deadlines of %s mean "
		    "nothing here", v->path));
	if (gone)
		return lhi_fail(-ESTALE, "the table's object %s was removed or "
		    "replaced: close this attachment and open the table again",
		    v->path);
	return lhi_damaged_or(v, 0);
}
