/* SPDX-License-Identifier: MIT */
/*
 * Measures a lock that nobody else wants.
 *
 * Every competitor is a side (bench.h): ours, through the public API, are here,
 * the peers in peers.c.  All sides that a row needs run in one circus, so that
 * a peer that several rows name is measured once, and against all of them in
 * the same rounds.
 *
 * The table holds OTHER_KEYS keys besides the hot ones, so that lookups walk a
 * table that is in use and not an empty one.  But the process holds no lease
 * besides the one that is measured, as it holds no other mutex: sides that need
 * another one take it at the beginning of a slice and release it at the end.
 * x_other_held has one, on purpose.
 */
#include <errno.h>

#include <leasehold.h>
#include <leasehold/pthread.h>

#include "bench.h"

#define OTHER_KEYS 1000
#define BUSY_KEY "bench/busy"

static struct lh *lh;
static struct lh_key *hot;
static struct lh_key *other;
static struct lh_key *busy;
static int holder;		/* of the busy key: a process */
static char many[MANY_KEYS][32];

static void x_handle_run(uint64_t n)
{
	struct lh_lease lease;

	for (; n > 0; n--) {
		bench_need(lh_key_acquire(hot, NULL, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
	}
}

static void keep(struct lh_lease *kept)
{
	bench_need(lh_key_acquire(other, NULL, kept), "acquire");
}

static void let_go(struct lh_lease *kept)
{
	bench_need(lh_release(lh, kept), "release");
}

static void x_other_run(uint64_t n)
{
	struct lh_lease kept;

	keep(&kept);
	x_handle_run(n);
	let_go(&kept);
}

static void x_opts_run(uint64_t n)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;

	opts.ttl_ms = 10000;
	opts.max_wait_ms = 5000;
	for (; n > 0; n--) {
		bench_need(lh_key_acquire(hot, &opts, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
	}
}

static void x_short_run(uint64_t n)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	int error;

	opts.ttl_ms = 50;
	for (; n > 0; n--) {
		bench_need(lh_key_acquire(hot, &opts, &lease), "acquire");
		/* Off the CPU for 50 ms, and it may have run out: no error. */
		error = lh_release(lh, &lease);
		if (error != -ESTALE)
			bench_need(error, "release");
	}
}

static void x_lock_run(uint64_t n)
{
	for (; n > 0; n--) {
		bench_need(lh_key_lock(hot, NULL), "lock");
		bench_need(lh_key_unlock(hot), "unlock");
	}
}

static lh_mutex_t plain_mutex = LH_MUTEX_INITIALIZER;
static lh_mutex_t robust_mutex = LH_ROBUST_MUTEX_INITIALIZER;

static void mutex_pairs(lh_mutex_t *m, uint64_t n)
{
	for (; n > 0; n--) {
		bench_need(lh_mutex_lock(m), "lh_mutex_lock");
		bench_need(lh_mutex_unlock(m), "lh_mutex_unlock");
	}
}

static void x_mutex_run(uint64_t n) { mutex_pairs(&plain_mutex, n); }
static void x_robust_run(uint64_t n) { mutex_pairs(&robust_mutex, n); }

static void x_name_run(uint64_t n)
{
	struct lh_lease lease;

	for (; n > 0; n--) {
		bench_need(lh_acquire(lh, HOT_KEY, NULL, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
	}
}

static void x_name_many_run(uint64_t n)
{
	struct lh_lease lease;

	for (; n > 0; n--) {
		bench_need(lh_acquire(lh, many[n % MANY_KEYS], NULL, &lease),
		    "acquire");
		bench_need(lh_release(lh, &lease), "release");
	}
}

static void extend_run(uint64_t n)
{
	struct lh_lease kept;

	keep(&kept);
	for (; n > 0; n--)
		bench_need(lh_extend(lh, &kept, 30000), "extend");
	let_go(&kept);
}

/*
 * A deadline is as coarse as the clock's tick, so most of extend_run()'s calls
 * ask for the deadline that the lease has.  Here each one has to move it.
 */
static void extend_moves_run(uint64_t n)
{
	struct lh_lease kept;

	keep(&kept);
	for (; n > 0; n--)
		bench_need(lh_extend(lh, &kept, n % 2 ? 30000 : 20000),
		    "extend");
	let_go(&kept);
}

static void verify_run(uint64_t n)
{
	struct lh_lease kept;

	keep(&kept);
	for (; n > 0; n--)
		bench_need(lh_verify(lh, &kept), "verify");
	let_go(&kept);
}

/*
 * Another process holds the key: before a try fails with "busy", it has asked
 * the kernel whether that process lives.
 */
static void try_busy_run(uint64_t n)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	int error;

	opts.max_wait_ms = 0;
	for (; n > 0; n--) {
		error = lh_key_acquire(busy, &opts, &lease);
		if (error != -EAGAIN)
			bench_die("a try for a held key gave %d", error);
	}
}

static const char *try_busy_set_up(void)
{
	int *held = bench_shared(sizeof(*held));

	holder = bench_fork();
	if (holder == 0) {
		struct lh_lease lease;
		struct lh *mine;

		bench_need(lh_open(&mine, bench.table, NULL), "lh_open");
		bench_need(lh_acquire(mine, BUSY_KEY, NULL, &lease), "acquire");
		__atomic_store_n(held, 1, __ATOMIC_RELEASE);
		for (;;) {
			bench_need(lh_extend(mine, &lease, 60000), "extend");
			bench_sleep_us(1000000);
		}
	}
	while (__atomic_load_n(held, __ATOMIC_ACQUIRE) == 0)
		bench_sleep_us(100);
	bench_need(lh_key_open(lh, BUSY_KEY, 0, &busy), "key_open");
	return NULL;
}

static void try_busy_tear_down(void)
{
	bench_kill(&holder, 1);
	bench_need(lh_key_close(busy), "key_close");
}

enum {
	X_HANDLE, X_OTHER, X_OPTS, X_SHORT, X_NAME, X_NAME_MANY, EXTEND,
	EXTEND_MOVES, VERIFY, TRY_BUSY, MUTEX, TRYLOCK, RWLOCK, FLOCK, OFD,
	BDB, BDB_MANY, TDB, X_LOCAL, X_LOCAL_OPTS, FDATASYNC, X_DELEGATED,
	X_NAME_DELEGATED, X_GLOBAL, X_LOCK, X_MUTEX, X_ROBUST, N_SIDES
};

static struct side sides[N_SIDES] = {
	[X_HANDLE] = { .name = "x_handle", .run = x_handle_run },
	[X_LOCK] = { .name = "x_lock", .run = x_lock_run },
	[X_MUTEX] = { .name = "x_mutex", .run = x_mutex_run },
	[X_ROBUST] = { .name = "x_robust", .run = x_robust_run },
	[X_OTHER] = { .name = "x_other_held", .run = x_other_run },
	[X_OPTS] = { .name = "x_opts", .run = x_opts_run },
	[X_SHORT] = { .name = "x_short", .run = x_short_run },
	[X_NAME] = { .name = "x_name", .run = x_name_run },
	[X_NAME_MANY] = { .name = "x_name_many", .run = x_name_many_run },
	[EXTEND] = { .name = "extend", .run = extend_run },
	[EXTEND_MOVES] = { .name = "extend_moves", .run = extend_moves_run },
	[VERIFY] = { .name = "verify", .run = verify_run },
	[TRY_BUSY] = { .name = "x_try_busy", .set_up = try_busy_set_up,
	    .run = try_busy_run, .tear_down = try_busy_tear_down },
};

/* The two sides of a row. */
static const struct pairing {
	unsigned int ours, theirs;
	struct row row;
} pairings[] = {
	{ X_HANDLE, MUTEX, { "x_handle", "robust-mutex",
	    "acquire + release, opened key", ROW_METRIC, 1.0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_LOCK, MUTEX, { "x_lock", "robust-mutex",
	    "lh_key_lock + lh_key_unlock; lock + unlock", ROW_METRIC, 0.9,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_MUTEX, MUTEX, { "x_mutex", "robust-mutex",
	    "lh_mutex_lock + lh_mutex_unlock; lock + unlock", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_ROBUST, MUTEX, { "x_robust", "robust-mutex",
	    "the same, a robust lh_mutex_t; lock + unlock", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_NAME, MUTEX, { "x_name", "robust-mutex",
	    "acquire by name + release, hot key", ROW_METRIC, 1.4,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_LOCAL, X_HANDLE, { "x_local", "x_handle",
	    "scope local, tokens on disk; scope ephemeral", ROW_METRIC, 1.05,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_LOCAL_OPTS, X_OPTS, { "x_local_opts", "x_opts",
	    "scope local as an option; as many options, scope ephemeral",
	    ROW_CONTEXT, 0, { 0, 0 }, { 0, 0 }, NULL } },
	{ X_LOCAL_OPTS, X_HANDLE, { "x_local_opts", "x_handle",
	    "scope local as an option; scope ephemeral without options",
	    ROW_CONTEXT, 0, { 0, 0 }, { 0, 0 }, NULL } },
	{ X_DELEGATED, X_HANDLE, { "x_delegated", "x_handle",
	    "a cluster's key that this host has; a local one", ROW_METRIC, 3,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_NAME_DELEGATED, MUTEX, { "x_name_delegated", "robust-mutex",
	    "a cluster's key that this host has, by name", ROW_METRIC, 2.5,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_GLOBAL, MUTEX, { "x_global", "robust-mutex",
	    "as x_handle, tokens rise over all keys", ROW_METRIC, 2.0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_LOCAL, FDATASYNC, { "x_local", "fdatasync",
	    "the same; 512 bytes written and synced", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ EXTEND, MUTEX, { "extend", "robust-mutex",
	    "extend of a held lease; lock + unlock", ROW_METRIC, 1.1,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_NAME, BDB, { "x_name_bdb", "bdb-5.3",
	    "acquire by name + release; lock_get + lock_put", ROW_METRIC, 0.34,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_NAME, TDB, { "x_name_tdb", "tdb-mutex",
	    "the same; tdb_chainlock + tdb_chainunlock of one key",
	    ROW_METRIC, 0.4, { 0, 0 }, { 0, 0 }, NULL } },
	{ X_NAME_MANY, BDB_MANY, { "x_name_64", "bdb-5.3",
	    "the same, 64 names in turn", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_OTHER, MUTEX, { "x_other_held", "robust-mutex",
	    "as x_handle, while another lease is held", ROW_METRIC, 1.5,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_OPTS, MUTEX, { "x_opts", "robust-mutex",
	    "as x_handle, ttl and wait given", ROW_METRIC, 1.3,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_SHORT, MUTEX, { "x_ttl_50ms", "robust-mutex",
	    "as x_handle, ttl 50 ms: the precise clock", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ EXTEND_MOVES, MUTEX, { "extend_moves", "robust-mutex",
	    "the same, two ttls in turn: each moves the deadline", ROW_CONTEXT,
	    0, { 0, 0 }, { 0, 0 }, NULL } },
	{ VERIFY, MUTEX, { "verify", "robust-mutex",
	    "verify of a held lease; lock + unlock", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ TRY_BUSY, TRYLOCK, { "x_try_busy", "mutex-try",
	    "a try of a key that another process holds", ROW_METRIC, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_HANDLE, RWLOCK, { "x_handle", "pthr-rwlock",
	    "write lock + unlock; cannot be robust", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_HANDLE, TDB, { "x_handle", "tdb-mutex",
	    "tdb_chainlock + tdb_chainunlock", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_HANDLE, FLOCK, { "x_handle", "flock",
	    "flock LOCK_EX + LOCK_UN", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
	{ X_HANDLE, OFD, { "x_handle", "ofd",
	    "F_OFD_SETLKW of one byte, both ways", ROW_CONTEXT, 0,
	    { 0, 0 }, { 0, 0 }, NULL } },
};

#define N_ROWS (sizeof(pairings) / sizeof(pairings[0]))

static void set_up_ours(void)
{
	char name[32];
	unsigned int i;

	bench_need(lh_open(&lh, bench.table, NULL), "lh_open");
	for (i = 0; i < OTHER_KEYS; i++) {
		bench_key_name(name, MANY_KEYS + i);
		bench_need(lh_key_create(lh, name), "key_create");
	}
	for (i = 0; i < MANY_KEYS; i++)
		bench_key_name(many[i], i);
	bench_need(lh_key_open(lh, HOT_KEY, 0, &hot), "key_open");
	bench_need(lh_key_open(lh, "bench/other", 0, &other), "key_open");
	bench_need(lh_pthread_table(bench.table), "lh_pthread_table");
}

static void tear_down_ours(void)
{
	bench_need(lh_key_close(hot), "key_close");
	bench_need(lh_key_close(other), "key_close");
	bench_need(lh_pthread_end(), "lh_pthread_end");
	bench_need(lh_close(lh), "lh_close");
}

static void set_up_sides(void)
{
	size_t i;

	sides[MUTEX] = bench_peer_mutex;
	sides[TRYLOCK] = bench_peer_trylock;
	sides[RWLOCK] = bench_peer_rwlock;
	sides[FLOCK] = bench_peer_flock;
	sides[OFD] = bench_peer_ofd;
	sides[BDB] = bench_peer_bdb;
	sides[BDB_MANY] = bench_peer_bdb_many;
	sides[TDB] = bench_peer_tdb;
	sides[X_LOCAL] = bench_local;
	sides[X_LOCAL_OPTS] = bench_local_opts;
	sides[X_DELEGATED] = bench_delegated;
	sides[X_NAME_DELEGATED] = bench_name_delegated;
	sides[X_GLOBAL] = bench_global;
	sides[FDATASYNC] = bench_fdatasync;
	for (i = 0; i < N_ROWS; i++) {
		if (bench.tsv && pairings[i].row.kind != ROW_METRIC)
			continue;
		sides[pairings[i].ours].wanted = true;
		sides[pairings[i].theirs].wanted = true;
	}
	for (i = 0; i < N_SIDES; i++) {
		if (!sides[i].wanted)
			sides[i].missing = "not asked for";
		else if (sides[i].set_up)
			sides[i].missing = sides[i].set_up();
	}
}

size_t bench_uncontended(struct row **out)
{
	static struct row rows[N_ROWS];
	const struct side *ours, *theirs;
	size_t i;

	bench_pin();
	set_up_ours();
	set_up_sides();
	bench_circus(sides, N_SIDES, bench.quick ? 61 : 151,
	    bench.quick ? 6000000 : 8000000);
	for (i = 0; i < N_ROWS; i++) {
		ours = &sides[pairings[i].ours];
		theirs = &sides[pairings[i].theirs];
		rows[i] = pairings[i].row;
		rows[i].ours = ours->figures;
		rows[i].theirs = theirs->figures;
		rows[i].missing = ours->missing ? ours->missing :
		    theirs->missing;
	}
	for (i = 0; i < N_SIDES; i++)
		if (!sides[i].missing && sides[i].tear_down)
			sides[i].tear_down();
	tear_down_ours();
	bench_unpin();
	*out = rows;
	return N_ROWS;
}
