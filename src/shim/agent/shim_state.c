/* SPDX-License-Identifier: MIT */
/*
 * Keeps the state file: which cluster the shim belongs to, and the highest
 * revision seen there.  A store with a lower revision was restored from a
 * backup and would issue tokens twice.  So the engine refuses it, and refuses
 * another cluster, until an operator removes the file.
 *
 *	leasehold-shimd 1
 *	cluster 14841639068965178418
 *	revision 4711
 *	outlive 10111			longest life of a right without it, ms
 *	wait 10111			it was older: no key for so long
 *	sum 9ad3...			xxh3 of the lines before it
 *
 * Lines of 0 ms are left out.  The shim that reads the file begins the wait
 * again, because no clock goes on over a restart of the machine.
 *
 * The file is replaced by rename, so it is always whole.  It need not be the
 * latest version: an older one only detects less.  A damaged file is an error,
 * because then nothing is known.
 *
 * A disk may hang, and the loop must not.  So a thread writes the file, always
 * with the latest state.  The shim's end must not hang either: after END_NS the
 * shim ends without the thread.  The thread then keeps the table's byte until
 * it is done, so that no other shim of the table writes the file in the
 * meantime.  (When the process ends, the thread ends and the byte is free.)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bsd/string.h>
#include "base/hash.h"
#include "daemon/daemon_log.h"
#include "shim.h"

#define TEXT_MAX 256
#define END_NS NS_PER_SEC

struct state_saver {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t news, end;
	struct kv_mark mark;
	bool is_new, ending, told;
	bool ended;		/* the thread has ended and is to be joined */
	bool alone;		/* the shim is gone: the thread frees
				 * everything */
	int byte_fd;
	char path[PATH_MAX], beside[PATH_MAX];
};

static int
format_state(char text[TEXT_MAX], const struct kv_mark *m)
{
	int n = snprintf(text, TEXT_MAX, "leasehold-shimd 1\ncluster %" PRIu64
	    "\nrevision %" PRId64 "\n", m->cluster, m->revision);

	if (m->outlive_ms != 0)
		n += snprintf(text + n, TEXT_MAX - (size_t)n, "outlive %u\n",
		    m->outlive_ms);
	if (m->wait_ms != 0)
		n += snprintf(text + n, TEXT_MAX - (size_t)n, "wait %u\n",
		    m->wait_ms);
	return n + snprintf(text + n, TEXT_MAX - (size_t)n, "sum %016" PRIx64
	    "\n", lhi_hash(text, (size_t)n));
}

/* Reads a line that may be absent: 0. */
static unsigned
read_ms(const char *text, const char *line)
{
	const char *at = strstr(text, line);
	unsigned ms = 0;

	if (at != NULL)
		(void)sscanf(at + strlen(line), "%u", &ms);
	return ms;
}

int
shim_state_read(const char *path, struct kv_mark *m, char why[SHIM_WHY_MAX])
{
	char text[TEXT_MAX], want[TEXT_MAX];
	struct kv_mark r = { 0 };
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*m = r;
	if (fd < 0 && errno == ENOENT)
		return 0;
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0) {
		int e = errno;

		(void)snprintf(why, SHIM_WHY_MAX, "cannot read %.300s: %s",
		    path, strerror(e));
		if (fd >= 0)
			(void)close(fd);
		return -e;
	}
	(void)close(fd);
	text[n] = '\0';
	r.outlive_ms = read_ms(text, "\noutlive ");
	r.wait_ms = read_ms(text, "\nwait ");
	if (sscanf(text, "leasehold-shimd 1\ncluster %" SCNu64 "\nrevision %"
	    SCNd64, &r.cluster, &r.revision) == 2 && r.revision >= 0 &&
	    format_state(want, &r) == n && memcmp(want, text, (size_t)n) == 0) {
		*m = r;
		return 0;
	}
	(void)snprintf(why, SHIM_WHY_MAX, "%.300s is damaged, so the shim "
	    "cannot tell whether the cluster was restored from a backup; if "
	    "you are sure that it was not, remove the file", path);
	return -EUCLEAN;
}

static int
write_file(const struct state_saver *sv, const struct kv_mark *m)
{
	char text[TEXT_MAX];
	int n = format_state(text, m), e = 0;
	int fd = open(sv->beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
	    O_NOFOLLOW, 0644);

	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)n) != n)
		e = errno != 0 ? -errno : -EIO;
	if (e == 0 && fdatasync(fd) != 0)
		e = -errno;
	if (close(fd) != 0 && e == 0)
		e = -errno;
	if (e == 0 && rename(sv->beside, sv->path) != 0)
		e = -errno;
	return e;
}

static void
destroy_saver(struct state_saver *sv)
{
	(void)pthread_cond_destroy(&sv->end);
	(void)pthread_cond_destroy(&sv->news);
	(void)pthread_mutex_destroy(&sv->lock);
	free(sv);
}

/* The thread: writes each new state until the saver is freed. */
static void *
run_saver(void *arg)
{
	struct state_saver *sv = arg;
	struct kv_mark m;
	bool alone;
	int e;

	(void)pthread_mutex_lock(&sv->lock);
	for (;;) {
		while (!sv->is_new && !sv->ending)
			(void)pthread_cond_wait(&sv->news, &sv->lock);
		if (!sv->is_new)
			break;
		m = sv->mark;
		sv->is_new = false;
		(void)pthread_mutex_unlock(&sv->lock);
		e = write_file(sv, &m);
		if (e != 0 && !sv->told)
			log_line(LOG_ERR, "cannot write %s: %s", sv->path,
			    strerror(-e));
		sv->told = e != 0;
		(void)pthread_mutex_lock(&sv->lock);
	}
	sv->ended = true;
	alone = sv->alone;
	(void)pthread_cond_signal(&sv->end);
	(void)pthread_mutex_unlock(&sv->lock);
	if (alone) {
		(void)close(sv->byte_fd);
		destroy_saver(sv);
	}
	return NULL;
}

static void
init_saver(struct state_saver *sv)
{
	pthread_condattr_t attr;

	(void)pthread_mutex_init(&sv->lock, NULL);
	(void)pthread_cond_init(&sv->news, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&sv->end, &attr);
	(void)pthread_condattr_destroy(&attr);
}

struct state_saver *
state_saver_new(const char *path)
{
	struct state_saver *sv = calloc(1, sizeof(*sv));
	sigset_t all, before;
	int e;

	if (sv == NULL)
		return NULL;
	(void)strlcpy(sv->path, path, sizeof(sv->path));
	(void)strlcpy(sv->beside, path, sizeof(sv->beside));
	(void)strlcat(sv->beside, ".new", sizeof(sv->beside));
	init_saver(sv);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&sv->thread, NULL, run_saver, sv);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e == 0)
		return sv;
	destroy_saver(sv);
	return NULL;
}

void
state_saver_save(struct state_saver *sv, const struct kv_mark *m)
{
	(void)pthread_mutex_lock(&sv->lock);
	sv->mark = *m;
	sv->is_new = true;
	(void)pthread_cond_signal(&sv->news);
	(void)pthread_mutex_unlock(&sv->lock);
}

bool
state_saver_free(struct state_saver *sv, int byte_fd)
{
	int64_t end_ns = shim_now_ns() + END_NS;
	struct timespec end = { (time_t)(end_ns / NS_PER_SEC),
		(long)(end_ns % NS_PER_SEC) };
	bool ended;
	int e = 0;

	if (sv == NULL)
		return true;
	(void)pthread_mutex_lock(&sv->lock);
	sv->ending = true;
	(void)pthread_cond_signal(&sv->news);
	while (!sv->ended && e == 0)
		e = pthread_cond_timedwait(&sv->end, &sv->lock, &end);
	ended = sv->ended;
	if (!ended) {
		log_line(LOG_ERR, "%s was not written: the disk does not "
		    "respond",
		    sv->path);
		(void)pthread_detach(sv->thread);
		sv->byte_fd = byte_fd;
		sv->alone = true;
	}
	(void)pthread_mutex_unlock(&sv->lock);
	if (ended) {
		(void)pthread_join(sv->thread, NULL);
		destroy_saver(sv);
	}
	return ended;
}
