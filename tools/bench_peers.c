/* SPDX-License-Identifier: MIT */
/*
 * The peers that every machine has, each set up as its users do.
 *
 *   mutex	pthread_mutex_t, process-shared and robust, in MAP_SHARED
 *		memory; trylock is its failing try.
 *   rwlock	pthread_rwlock_t, process-shared, write lock; it cannot be made
 *		robust.
 *   flock	flock(2) LOCK_EX and LOCK_UN on an open file.
 *   ofd	fcntl(2) F_OFD_SETLKW, write lock of one byte and unlock.
 *
 * The files are in memory and have no name, so no disk is in any figure and
 * nothing is left behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench_peers.h"
#include "bench_process.h"

int bench_memory_file(void)
{
	int fd = memfd_create("leasehold-bench", MFD_CLOEXEC);

	if (fd < 0)
		bench_die("memfd_create: %s", strerror(errno));
	return fd;
}

static pthread_mutex_t *mutex;
static pthread_mutex_t *held_mutex;

static const char *mutex_set_up(void)
{
	mutex = bench_robust_mutex();
	return NULL;
}

static void mutex_run(uint64_t n)
{
	for (; n > 0; n--) {
		bench_need(pthread_mutex_lock(mutex), "mutex_lock");
		bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
	}
}

const struct side bench_peer_mutex = {
	.name = "mutex",
	.set_up = mutex_set_up,
	.run = mutex_run
};

static const char *trylock_set_up(void)
{
	held_mutex = bench_robust_mutex();
	bench_need(pthread_mutex_lock(held_mutex), "mutex_lock");
	return NULL;
}

static void trylock_run(uint64_t n)
{
	int error;

	for (; n > 0; n--) {
		error = pthread_mutex_trylock(held_mutex);
		if (error != EBUSY)
			bench_die("mutex_trylock gave %d", error);
	}
}

static void trylock_tear_down(void)
{
	bench_need(pthread_mutex_unlock(held_mutex), "mutex_unlock");
}

const struct side bench_peer_trylock = {
	.name = "trylock",
	.set_up = trylock_set_up,
	.run = trylock_run,
	.tear_down = trylock_tear_down
};

static pthread_rwlock_t *rwlock;

static const char *rwlock_set_up(void)
{
	rwlock = bench_pshared_rwlock();
	return NULL;
}

static void rwlock_run(uint64_t n)
{
	for (; n > 0; n--) {
		bench_need(pthread_rwlock_wrlock(rwlock), "rwlock_wrlock");
		bench_need(pthread_rwlock_unlock(rwlock), "rwlock_unlock");
	}
}

const struct side bench_peer_rwlock = {
	.name = "rwlock",
	.set_up = rwlock_set_up,
	.run = rwlock_run
};

static int flock_fd;

static const char *flock_set_up(void)
{
	flock_fd = bench_memory_file();
	return NULL;
}

static void flock_run(uint64_t n)
{
	for (; n > 0; n--)
		if (flock(flock_fd, LOCK_EX) < 0 ||
		    flock(flock_fd, LOCK_UN) < 0)
			bench_die("flock: %s", strerror(errno));
}

static void flock_tear_down(void)
{
	close(flock_fd);
}

const struct side bench_peer_flock = {
	.name = "flock",
	.set_up = flock_set_up,
	.run = flock_run,
	.tear_down = flock_tear_down
};

static int ofd_fd;

static const char *ofd_set_up(void)
{
	ofd_fd = bench_memory_file();
	return NULL;
}

static void ofd_run(uint64_t n)
{
	struct flock lock = { .l_whence = SEEK_SET, .l_len = 1 };

	for (; n > 0; n--) {
		lock.l_type = F_WRLCK;
		if (fcntl(ofd_fd, F_OFD_SETLKW, &lock) < 0)
			bench_die("F_OFD_SETLKW: %s", strerror(errno));
		lock.l_type = F_UNLCK;
		if (fcntl(ofd_fd, F_OFD_SETLKW, &lock) < 0)
			bench_die("F_OFD_SETLKW: %s", strerror(errno));
	}
}

static void ofd_tear_down(void)
{
	close(ofd_fd);
}

const struct side bench_peer_ofd = {
	.name = "ofd",
	.set_up = ofd_set_up,
	.run = ofd_run,
	.tear_down = ofd_tear_down
};
