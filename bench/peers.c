/* SPDX-License-Identifier: MIT */
/*
 * Peers that are libraries, each set up as its users do.  tools/bench_peers.c
 * has those that every machine has.
 *
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
 * Their files live in bench.scratch, which is on tmpfs: no disk is in any
 * figure.
 */
#include <db.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

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
