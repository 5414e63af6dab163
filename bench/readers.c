/* SPDX-License-Identifier: MIT */
/*
 * Measures a lock that several processes share.
 *
 *   s_sole
 *	one process, alone, an opened key: acquire shared, release.
 *   s_beside
 *	the same, while another process holds the key shared.  The peer has one
 *	more reader inside, too.
 *   s_two_procs
 *	two processes, each on a CPU of its own, take the same lock shared and
 *	release it, in a loop.  Nobody ever has to wait, so whatever it costs
 *	more than one process alone (s_sole) is the price of a word that both
 *	write.  Time a pair of one process: wall time * 2 / pairs of both.
 *
 * The peer is a process-shared pthread_rwlock, which counts its readers in one
 * word.  It cannot be made robust: a reader's death locks writers out for ever.
 *
 * A library or table may have no shared leases; whoever wants some asks first,
 * by bench_no_readers(), and leaves its rows out with the reason.
 */
#include <stdio.h>

#include <leasehold.h>

#include "contest.h"

static pthread_rwlock_t *rwlock;
static struct lh *lh;
static struct lh_key *key;

/* NULL, or why this library does not share. */
const char *bench_no_readers(void)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	static char why[200];
	struct lh_lease lease;
	int error;

	bench_need(lh_open(&lh, bench.table, NULL), "lh_open");
	opts.mode = LH_SHARED;
	error = lh_acquire(lh, "bench/shared?", &opts, &lease);
	if (error)
		snprintf(why, sizeof(why), "acquire, shared: %s. %s",
		    lh_strerror(error), lh_error_detail());
	else
		bench_need(lh_release(lh, &lease), "release, shared");
	bench_need(lh_close(lh), "lh_close");
	return error ? why : NULL;
}

static void attach(void)
{
	bench_need(lh_open(&lh, bench.table, NULL), "lh_open");
	bench_need(lh_key_open(lh, "bench/readers", 0, &key), "key_open");
}

static void detach(void)
{
	bench_need(lh_key_close(key), "key_close");
	bench_need(lh_close(lh), "lh_close");
}

static void sole_ours(uint64_t n)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;

	opts.mode = LH_SHARED;
	for (; n > 0; n--) {
		bench_need(lh_key_acquire(key, &opts, &lease),
		    "acquire, shared");
		bench_need(lh_release(lh, &lease), "release, shared");
	}
}

static void sole_rwlock(uint64_t n)
{
	for (; n > 0; n--) {
		bench_need(pthread_rwlock_rdlock(rwlock), "rwlock_rdlock");
		bench_need(pthread_rwlock_unlock(rwlock), "rwlock_unlock");
	}
}

/* Another process reads the key, and the rwlock, until it is killed. */
static int start_reader(void)
{
	int *reads = bench_shared(sizeof(*reads));
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	int pid = bench_fork();

	if (pid == 0) {
		bench_unpin();
		opts.mode = LH_SHARED;
		opts.ttl_ms = 600000;
		attach();
		bench_need(lh_key_acquire(key, &opts, &lease), "acquire");
		bench_need(pthread_rwlock_rdlock(rwlock), "rwlock_rdlock");
		__atomic_store_n(reads, 1, __ATOMIC_RELEASE);
		for (;;)
			bench_sleep_us(1000000);
	}
	while (__atomic_load_n(reads, __ATOMIC_ACQUIRE) == 0)
		bench_sleep_us(100);
	return pid;
}

size_t bench_reader(struct row **out)
{
	static struct side sides[] = {
		{ .name = "s_sole", .run = sole_ours },
		{ .name = "rwlock", .run = sole_rwlock },
	};
	static struct row rows[2] = { {
		"s_sole", "pthr-rwlock",
		"shared acquire + release, opened key; rdlock + unlock",
		ROW_METRIC, 1.5, { 0, 0 }, { 0, 0 }, NULL
	}, {
		"s_beside", "pthr-rwlock",
		"the same, while another process reads",
		ROW_METRIC, 1.5, { 0, 0 }, { 0, 0 }, NULL
	} };
	int other = 0;

	rows[0].missing = rows[1].missing = bench_no_readers();
	for (unsigned int i = 0; i < 2 && !rows[i].missing; i++) {
		bench_pin();
		if (i == 0)
			rwlock = bench_pshared_rwlock();
		else
			other = start_reader();
		attach();
		bench_circus(sides, 2, bench.quick ? 61 : 151,
		    bench.quick ? 6000000 : 8000000);
		detach();
		bench_unpin();
		rows[i].ours = sides[0].figures;
		rows[i].theirs = sides[1].figures;
	}
	if (other != 0)
		bench_kill(&other, 1);
	*out = rows;
	return 2;
}

static void two_ours(unsigned int me)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	uint64_t n = 0;

	opts.mode = LH_SHARED;
	attach();
	contest_meet();
	while (!contest_stopped()) {
		bench_need(lh_key_acquire(key, &opts, &lease),
		    "acquire, shared");
		bench_need(lh_release(lh, &lease), "release, shared");
		n++;
	}
	ground->done[me].n = n;
	detach();
}

static void two_rwlock(unsigned int me)
{
	uint64_t n = 0;

	contest_meet();
	while (!contest_stopped()) {
		bench_need(pthread_rwlock_rdlock(rwlock), "rwlock_rdlock");
		bench_need(pthread_rwlock_unlock(rwlock), "rwlock_unlock");
		n++;
	}
	ground->done[me].n = n;
}

static const struct contest two = {
	2, PLACE_APART, true, two_ours, two_rwlock, {
	"s_two_procs", "pthr-rwlock",
	"2 processes share one lock: acquire + release; rdlock + unlock",
	ROW_METRIC, 0.2, { 0, 0 }, { 0, 0 }, NULL }
};

size_t bench_two_readers(struct row **out)
{
	static struct row row;

	row = two.row;
	row.missing = bench_no_readers();
	if (!row.missing) {
		contest_set_up();
		rwlock = bench_pshared_rwlock();
		row = contest_run(&two, bench.quick ? 15 : 41,
		    bench.quick ? 120000000 : 300000000);
	}
	*out = &row;
	return 1;
}
