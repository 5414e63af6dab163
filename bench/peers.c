/* SPDX-License-Identifier: MIT */
/*
 * The peers: locks in use today, each set up as its users do.
 *
 *   mutex	pthread_mutex_t, process-shared and robust, in MAP_SHARED
 *		memory; trylock is its failing try.
 *   rwlock	pthread_rwlock_t, process-shared, write lock; it cannot be made
 *		robust.
 *   flock	flock(2) LOCK_EX and LOCK_UN on an open file.
 *   ofd	fcntl(2) F_OFD_SETLKW, write lock of one byte and unlock.
 *   bdb-5.3	DB_ENV->lock_get(DB_LOCK_WRITE) and lock_put by name, one
 *		locker.  The environment is one that several processes join:
 *		DB_CREATE | DB_INIT_LOCK | DB_THREAD, shared regions in files
 *		(not DB_PRIVATE), default sizes and partitions, no deadlock
 *		detector.  DB_THREAD because our handle is free-threaded too;
 *		without it the pair takes the same time within 2 %.
 *		A variant walks over 64 names.
 *   tdb	tdb_chainlock and tdb_chainunlock with TDB_MUTEX_LOCKING, which
 *		are robust mutexes; TDB_CLEAR_IF_FIRST and
 *		TDB_INCOMPATIBLE_HASH are what that flag demands.  One key
 *		again and again, as for bdb-5.3: a chain is one of 131 mutexes
 *		whatever the names are, and none needs a record to be there.
 *		Built in if tdb.h is there, unless HAVE_TDB is defined to 0.
 *
 * All files live in bench.scratch, which is on tmpfs: no disk is in any figure.
 */
#include <db.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef HAVE_TDB
#define HAVE_TDB __has_include(<tdb.h>)
#endif
#if HAVE_TDB
#include <tdb.h>
#endif

#include "bench.h"

/* The names are as long as HOT_KEY. */
void bench_key_name(char name[32], unsigned int i)
{
	snprintf(name, 32, "bench/key-%07u", i);
}

static int open_file(const char *name)
{
	char path[sizeof(bench.scratch) + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", bench.scratch, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		bench_die("%s: %s", path, strerror(errno));
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
	flock_fd = open_file("flock");
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
	ofd_fd = open_file("ofd");
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

/* One environment serves both Berkeley DB sides. */
static DB_ENV *env;
static unsigned int env_users;
static uint32_t locker;
static DBT bdb_hot;
static DBT bdb_many[MANY_KEYS];
static char bdb_names[MANY_KEYS][32];

static void need_bdb(int error, const char *what)
{
	if (error)
		bench_die("Berkeley DB: %s: %s", what, db_strerror(error));
}

static const char *bdb_set_up(void)
{
	unsigned int i;

	if (env_users++ > 0)
		return NULL;
	need_bdb(db_env_create(&env, 0), "db_env_create");
	need_bdb(env->open(env, bench.scratch,
	    DB_CREATE | DB_INIT_LOCK | DB_THREAD, 0600), "open");
	need_bdb(env->lock_id(env, &locker), "lock_id");
	bdb_hot.data = (void *)HOT_KEY;
	bdb_hot.size = sizeof(HOT_KEY) - 1;
	for (i = 0; i < MANY_KEYS; i++) {
		bench_key_name(bdb_names[i], i);
		bdb_many[i].data = bdb_names[i];
		bdb_many[i].size = (uint32_t)strlen(bdb_names[i]);
	}
	return NULL;
}

static void bdb_pair(DBT *name)
{
	DB_LOCK lock;

	need_bdb(env->lock_get(env, locker, 0, name, DB_LOCK_WRITE, &lock),
	    "lock_get");
	need_bdb(env->lock_put(env, &lock), "lock_put");
}

static void bdb_run(uint64_t n)
{
	for (; n > 0; n--)
		bdb_pair(&bdb_hot);
}

static void bdb_many_run(uint64_t n)
{
	for (; n > 0; n--)
		bdb_pair(&bdb_many[n % MANY_KEYS]);
}

static void bdb_new_run(uint64_t n)
{
	static unsigned int next;
	char name[32];
	DBT key = { .data = name };

	for (; n > 0; n--) {
		bench_key_name(name, FIRST_NEW_NAME + next++);
		key.size = (uint32_t)strlen(name);
		bdb_pair(&key);
	}
}

static void bdb_tear_down(void)
{
	if (--env_users > 0)
		return;
	need_bdb(env->lock_id_free(env, locker), "lock_id_free");
	need_bdb(env->close(env, 0), "close");
}

const struct side bench_peer_bdb = {
	.name = "bdb",
	.set_up = bdb_set_up,
	.run = bdb_run,
	.tear_down = bdb_tear_down
};

const struct side bench_peer_bdb_many = {
	.name = "bdb_many",
	.set_up = bdb_set_up,
	.run = bdb_many_run,
	.tear_down = bdb_tear_down
};

const struct side bench_peer_bdb_new = {
	.name = "bdb_new",
	.set_up = bdb_set_up,
	.run = bdb_new_run,
	.tear_down = bdb_tear_down
};

#if HAVE_TDB
static struct tdb_context *tdb;
static TDB_DATA tdb_key;

static const char *tdb_set_up(void)
{
	char path[sizeof(bench.scratch) + 32];

	if (!tdb_runtime_check_for_robust_mutexes())
		return "tdb finds no robust mutexes here";
	snprintf(path, sizeof(path), "%s/tdb", bench.scratch);
	tdb = tdb_open(path, 0, TDB_MUTEX_LOCKING | TDB_CLEAR_IF_FIRST |
	    TDB_INCOMPATIBLE_HASH, O_RDWR | O_CREAT, 0600);
	if (!tdb)
		bench_die("tdb_open: %s", strerror(errno));
	tdb_key.dptr = (unsigned char *)HOT_KEY;
	tdb_key.dsize = sizeof(HOT_KEY) - 1;
	return NULL;
}

static void tdb_run(uint64_t n)
{
	for (; n > 0; n--)
		if (tdb_chainlock(tdb, tdb_key) < 0 ||
		    tdb_chainunlock(tdb, tdb_key) < 0)
			bench_die("tdb: %s", tdb_errorstr(tdb));
}

static void tdb_tear_down(void)
{
	tdb_close(tdb);
}
#else
static const char *tdb_set_up(void)
{
	return "built without libtdb";
}

static void tdb_run(uint64_t n)
{
	bench_die("tdb: built without it, asked for %llu",
	    (unsigned long long)n);
}

static void tdb_tear_down(void)
{
}
#endif

const struct side bench_peer_tdb = {
	.name = "tdb",
	.set_up = tdb_set_up,
	.run = tdb_run,
	.tear_down = tdb_tear_down
};
