/* SPDX-License-Identifier: MIT */
/*
 * Locks of this project, the C library and the kernel, for the curves.
 *
 *   opened	lh_key_acquire() and lh_release() of an opened key
 *   named	lh_acquire() and lh_release() by name
 *   mutex	a process-shared robust mutex a key, a cache line each
 *   rwlock	a process-shared rwlock a key, likewise; survives nobody's death
 *   flock	a file a key, on tmpfs
 *
 * The call of pair() through a pointer is in every figure, 1 to 2 ns.  Curves
 * show how a cost grows; `make bench` measures the cost.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <leasehold.h>

#include "locks.h"

#define LINE 64

void curve_name(char name[CURVE_NAME_MAX], uint32_t key)
{
	memcpy(name, "curve/k00000000", 16);
	for (int i = 14; key > 0; i--, key /= 10)
		name[i] = (char)('0' + key % 10);
}

static char table[sizeof(bench.table) + 24];
static struct lh *lh;
static struct lh_key *opened[OPENED_MAX];
static uint32_t n_keys;

static struct lh *open_table(void)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	struct lh *to;

	opts.max_keys = n_keys + n_keys / 8 + 1000;
	bench_need(lh_open(&to, table, &opts), "lh_open");
	return to;
}

static const char *ours_prepare(uint32_t keys)
{
	(void)snprintf(table, sizeof(table), "%s.curve", bench.table);
	n_keys = keys;
	return NULL;
}

static void opened_attach(void)
{
	lh = open_table();
	memset(opened, 0, sizeof(opened));
}

static void pair_with(struct lh_lease *lease, int error)
{
	bench_need(error, "acquire");
	bench_need(lh_release(lh, lease), "release");
}

static void opened_pair(uint32_t key, bool shared)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	char name[CURVE_NAME_MAX];
	struct lh_lease lease;

	if (!opened[key]) {
		curve_name(name, key);
		bench_need(lh_key_open(lh, name, 0, &opened[key]), "key_open");
	}
	if (!shared) {
		pair_with(&lease, lh_key_acquire(opened[key], NULL, &lease));
		return;
	}
	opts.mode = LH_SHARED;
	pair_with(&lease, lh_key_acquire(opened[key], &opts, &lease));
}

/* Makes all keys, so that none is made while it is timed. */
static void named_attach(void)
{
	char name[CURVE_NAME_MAX];
	struct lh_lease lease;

	lh = open_table();
	for (uint32_t i = 0; i < n_keys; i++) {
		curve_name(name, i);
		pair_with(&lease, lh_acquire(lh, name, NULL, &lease));
	}
}

static void named_pair(uint32_t key, bool shared)
{
	char name[CURVE_NAME_MAX];
	struct lh_lease lease;

	(void)shared;
	curve_name(name, key);
	pair_with(&lease, lh_acquire(lh, name, NULL, &lease));
}

static void ours_detach(void)
{
	bench_need(lh_close(lh), "lh_close");
}

static void ours_finish(void)
{
	bench_need(lh_table_remove(table, LH_FORCE | LH_FORGET_TOKENS),
	    "lh_table_remove");
}

const struct lock lock_opened = { "leasehold", ours_prepare, opened_attach,
	opened_pair, ours_detach, ours_finish };
const struct lock lock_named = { "leasehold, by name", ours_prepare,
	named_attach, named_pair, ours_detach, ours_finish };

/* Memory of the C library's locks, one a line; a curve has one kind of them. */
static unsigned char *lines;
static size_t lines_size;

static void nothing(void)
{
}

static pthread_mutex_t *mutex_of(uint32_t key)
{
	return (pthread_mutex_t *)(void *)(lines + (size_t)key * LINE);
}

static pthread_rwlock_t *rwlock_of(uint32_t key)
{
	return (pthread_rwlock_t *)(void *)(lines + (size_t)key * LINE);
}

static const char *mutex_prepare(uint32_t keys)
{
	pthread_mutexattr_t attr;

	lines_size = (size_t)keys * LINE;
	lines = bench_shared(lines_size);
	bench_need(pthread_mutexattr_init(&attr), "mutexattr_init");
	bench_need(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED),
	    "mutexattr_setpshared");
	bench_need(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST),
	    "mutexattr_setrobust");
	for (uint32_t i = 0; i < keys; i++)
		bench_need(pthread_mutex_init(mutex_of(i), &attr),
		    "mutex_init");
	pthread_mutexattr_destroy(&attr);
	return NULL;
}

static void mutex_pair(uint32_t key, bool shared)
{
	(void)shared;
	bench_need(pthread_mutex_lock(mutex_of(key)), "mutex_lock");
	bench_need(pthread_mutex_unlock(mutex_of(key)), "mutex_unlock");
}

static const char *rwlock_prepare(uint32_t keys)
{
	pthread_rwlockattr_t attr;

	lines_size = (size_t)keys * LINE;
	lines = bench_shared(lines_size);
	bench_need(pthread_rwlockattr_init(&attr), "rwlockattr_init");
	bench_need(pthread_rwlockattr_setpshared(&attr,
	    PTHREAD_PROCESS_SHARED), "rwlockattr_setpshared");
	for (uint32_t i = 0; i < keys; i++)
		bench_need(pthread_rwlock_init(rwlock_of(i), &attr),
		    "rwlock_init");
	pthread_rwlockattr_destroy(&attr);
	return NULL;
}

static void rwlock_pair(uint32_t key, bool shared)
{
	bench_need(shared ? pthread_rwlock_rdlock(rwlock_of(key)) :
	    pthread_rwlock_wrlock(rwlock_of(key)), "rwlock");
	bench_need(pthread_rwlock_unlock(rwlock_of(key)), "rwlock_unlock");
}

static void lines_finish(void)
{
	munmap(lines, lines_size);
}

const struct lock lock_mutex = { "robust mutex", mutex_prepare, nothing,
	mutex_pair, nothing, lines_finish };
const struct lock lock_rwlock = { "pthread_rwlock", rwlock_prepare, nothing,
	rwlock_pair, nothing, lines_finish };

static int files[OPENED_MAX];

static const char *flock_prepare(uint32_t keys)
{
	return keys <= OPENED_MAX ? NULL : "a file a key is too many";
}

static void flock_attach(void)
{
	for (unsigned int i = 0; i < OPENED_MAX; i++)
		files[i] = -1;
}

static void flock_pair(uint32_t key, bool shared)
{
	char path[sizeof(bench.scratch) + 32];

	if (files[key] < 0) {
		(void)snprintf(path, sizeof(path), "%s/flock.%u",
		    bench.scratch, key);
		files[key] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (files[key] < 0)
			bench_die("%s: %s", path, strerror(errno));
	}
	if (flock(files[key], shared ? LOCK_SH : LOCK_EX) < 0 ||
	    flock(files[key], LOCK_UN) < 0)
		bench_die("flock: %s", strerror(errno));
}

static void flock_detach(void)
{
	for (unsigned int i = 0; i < OPENED_MAX; i++)
		if (files[i] >= 0)
			close(files[i]);
}

const struct lock lock_flock = { "flock", flock_prepare, flock_attach,
	flock_pair, flock_detach, nothing };
