/* SPDX-License-Identifier: MIT */
/*
 * Berkeley DB and tdb, for the curves, set up as in bench/peers.c: an
 * environment that several processes join, and robust mutexes in a file.  The
 * names are those of our keys.
 */
#include <db.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "locks.h"

#if __has_include(<tdb.h>)
#define HAVE_TDB 1
#include <tdb.h>
#else
#define HAVE_TDB 0
#endif

static char bdb_place[sizeof(bench.scratch) + 32];
static char tdb_place[sizeof(bench.scratch) + 32];

static void nothing(void)
{
}

static DB_ENV *env;
static uint32_t locker;

static void need_bdb(int error, const char *what)
{
	if (error)
		bench_die("Berkeley DB: %s: %s", what, db_strerror(error));
}

static void bdb_open(void)
{
	need_bdb(db_env_create(&env, 0), "db_env_create");
	need_bdb(env->open(env, bdb_place, DB_CREATE | DB_INIT_LOCK | DB_THREAD,
	    0600), "open");
}

static const char *bdb_prepare(uint32_t keys)
{
	(void)keys;
	(void)snprintf(bdb_place, sizeof(bdb_place), "%s/bdb.%d", bench.scratch,
	    (int)getpid());
	if (mkdir(bdb_place, 0700) < 0 && errno != EEXIST)
		bench_die("%s: %s", bdb_place, strerror(errno));
	bdb_open();
	need_bdb(env->close(env, 0), "close");
	return NULL;
}

static void bdb_attach(void)
{
	bdb_open();
	need_bdb(env->lock_id(env, &locker), "lock_id");
}

static void bdb_pair(uint32_t key, bool shared)
{
	char name[CURVE_NAME_MAX];
	DBT object = { .data = name };
	DB_LOCK lock;

	curve_name(name, key);
	object.size = (uint32_t)strlen(name);
	need_bdb(env->lock_get(env, locker, 0, &object, shared ? DB_LOCK_READ :
	    DB_LOCK_WRITE, &lock), "lock_get");
	need_bdb(env->lock_put(env, &lock), "lock_put");
}

static void bdb_detach(void)
{
	need_bdb(env->lock_id_free(env, locker), "lock_id_free");
	need_bdb(env->close(env, 0), "close");
}

const struct lock lock_bdb = { "Berkeley DB", bdb_prepare, bdb_attach,
	bdb_pair, bdb_detach, nothing };

#if HAVE_TDB
static struct tdb_context *tdb;

static const char *tdb_prepare(uint32_t keys)
{
	(void)keys;
	(void)snprintf(tdb_place, sizeof(tdb_place), "%s/tdb.%d", bench.scratch,
	    (int)getpid());
	return tdb_runtime_check_for_robust_mutexes() ? NULL :
	    "tdb finds no robust mutexes here";
}

static void tdb_attach(void)
{
	tdb = tdb_open(tdb_place, 0, TDB_MUTEX_LOCKING | TDB_CLEAR_IF_FIRST |
	    TDB_INCOMPATIBLE_HASH, O_RDWR | O_CREAT, 0600);
	if (!tdb)
		bench_die("tdb_open: %s", strerror(errno));
}

static void tdb_pair(uint32_t key, bool shared)
{
	char name[CURVE_NAME_MAX];
	TDB_DATA data = { .dptr = (unsigned char *)name };

	(void)shared;
	curve_name(name, key);
	data.dsize = strlen(name);
	if (tdb_chainlock(tdb, data) < 0 || tdb_chainunlock(tdb, data) < 0)
		bench_die("tdb: %s", tdb_errorstr(tdb));
}

static void tdb_detach(void)
{
	tdb_close(tdb);
}

const struct lock lock_tdb = { "tdb", tdb_prepare, tdb_attach, tdb_pair,
	tdb_detach, nothing };
#else
static const char *tdb_prepare(uint32_t keys)
{
	(void)keys;
	return "built without libtdb";
}

const struct lock lock_tdb = { "tdb", tdb_prepare, NULL, NULL, NULL, NULL };
#endif
