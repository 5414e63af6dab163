/* SPDX-License-Identifier: MIT */
/*
 * Measures the cost of a cluster key, beside the etcd that stores it.
 *
 * With a cluster of one member, then with one of three (rows that end in 3), on
 * this machine; two hosts, each a table with its own leasehold-shimd.  Ours and
 * theirs in turn, one operation each, the median of all.
 *
 *	c_uncontended	a key taken and given back in the cluster, nothing kept
 *			(the recipe by itself, member.c); beside the two bare
 *			transactions that this needs, one that enqueues (two
 *			compares, a put, a look) and a delete
 *	c_first		lh_acquire() and lh_release() of a key that this host
 *			has no right to yet, by way of the shim; beside the one
 *			bare transaction that this needs.  (The second one is
 *			never waited for: the host keeps the right.)
 *	c_relay		the same; beside that transaction, which another process
 *			makes when this one asks for it over a socket: what a
 *			first acquire costs at least if a daemon has the
 *			connection
 *	c_handover	from lh_release() on one host to the return of
 *			lh_acquire() on the other one, which waits for it;
 *			beside the time from a put by one process to its event
 *			at another
 *	c_delegated	acquire and release of a key that the host has the right
 *			to; beside those of a key of the table
 *	c_pair		the same; beside the two bare transactions
 *	c_failover3	the leader is killed: failover.c
 *
 * Why the holder of c_handover keeps it for a moment: a hand-over is to one who
 * waits, in the cluster too, and not to one who is about to.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <leasehold.h>

#include "etcd.h"

#define SAMPLES_MAX	2000
#define SETTLE_US	15000	/* until a waiter has queued in the cluster */
#define PATIENCE_NS	UINT64_C(20000000000)

enum { UNCONTENDED, FIRST, RELAY, HANDOVER, DELEGATED, PAIR, N_EACH };

static unsigned int samples(void)
{
	return bench.quick ? 200 : 1000;
}

static double since(uint64_t begin_ns)
{
	return (double)(bench_clock_ns() - begin_ns);
}

static void need(bool done, const char *what)
{
	if (!done)
		bench_die("etcd: %s was not done", what);
}

static void bare_pair(struct bare *b)
{
	need(bare_enqueue(b, "bare/pair"), "a put");
	need(bare_delete(b, "bare/pair"), "a delete");
}

static void measure_uncontended(struct row *row)
{
	static double ours[SAMPLES_MAX], theirs[SAMPLES_MAX];
	struct bare *b = bare_open(etcd_url());
	const unsigned int n = samples();
	uint64_t begin;
	unsigned int i;

	/* of one member, or the one that leads would be quicker than another */
	need(bare_here(b), "the first put");
	member_open(etcd_url());
	for (i = 0; i < n; i++) {
		begin = bench_clock_ns();
		member_pair();
		ours[i] = since(begin);
		begin = bench_clock_ns();
		bare_pair(b);
		theirs[i] = since(begin);
	}
	member_close();
	bare_close(b);
	row->ours = bench_summarise(ours, n);
	row->theirs = bench_summarise(theirs, n);
}

/* Makes a transaction for each key that comes. */
static void relay(int sock)
{
	struct bare *b = bare_open(etcd_urls(-1));
	char key[64];
	ssize_t n;

	need(bare_here(b), "the first put");
	while ((n = recv(sock, key, sizeof(key) - 1, 0)) > 0) {
		key[n] = '\0';
		need(bare_enqueue(b, key), "a put");
		if (send(sock, "", 1, MSG_NOSIGNAL) != 1)
			return;
	}
}

static int start_relay(int *sock)
{
	int pair[2], pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		bench_die("socketpair: %s", strerror(errno));
	pid = bench_fork();
	if (pid == 0) {
		(void)close(pair[0]);
		relay(pair[1]);
		_exit(0);
	}
	(void)close(pair[1]);
	*sock = pair[0];
	return pid;
}

static double ask_relay(int sock, const char *key)
{
	uint64_t begin = bench_clock_ns();
	char done;

	if (send(sock, key, strlen(key), MSG_NOSIGNAL) < 0 ||
	    recv(sock, &done, 1, 0) != 1)
		bench_die("the relay has ended");
	return since(begin);
}

static void measure_first(struct row *row, struct row *relayed)
{
	static double ours[SAMPLES_MAX], theirs[SAMPLES_MAX];
	static double asked[SAMPLES_MAX];
	struct bare *b = bare_open(etcd_urls(-1));
	const unsigned int n = samples();
	struct lh_lease lease;
	char key[64];
	uint64_t begin;
	int sock, pid = start_relay(&sock);
	struct lh *lh;
	unsigned int i;

	need(bare_here(b), "the first put");
	(void)ask_relay(sock, "bare/relay");
	bench_need(lh_open(&lh, hosts_table(0), NULL), "lh_open");
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "bare/relay-%u", i);
		asked[i] = ask_relay(sock, key);
		snprintf(key, sizeof(key), "cluster:bench/first-%u", i);
		begin = bench_clock_ns();
		bench_need(lh_acquire(lh, key, NULL, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
		ours[i] = since(begin);
		snprintf(key, sizeof(key), "bare/first-%u", i);
		begin = bench_clock_ns();
		need(bare_enqueue(b, key), "a put");
		theirs[i] = since(begin);
	}
	bench_need(lh_close(lh), "lh_close");
	(void)close(sock);
	bench_kill(&pid, 1);
	bare_close(b);
	row->ours = relayed->ours = bench_summarise(ours, n);
	row->theirs = bench_summarise(theirs, n);
	relayed->theirs = bench_summarise(asked, n);
}

/* Shared by the processes of a hand-over; all hold the number of a sample. */
static struct stage {
	alignas(64) _Atomic uint32_t turn;	/* next: host turn % 2 */
	alignas(64) _Atomic uint32_t had;
	alignas(64) _Atomic uint64_t released_ns, had_ns;
	alignas(64) _Atomic uint32_t seen;	/* events */
	_Atomic uint64_t seen_ns;
} *stage;

static void await(_Atomic uint32_t *word, uint32_t least, const char *what)
{
	uint64_t end = bench_clock_ns() + PATIENCE_NS;

	while (atomic_load(word) < least) {
		if (bench_clock_ns() > end)
			bench_die("cluster: no %s", what);
		bench_sleep_us(50);
	}
}

/*
 * A process of one host.  In its turn it begins to wait, while the other one
 * holds the key for SETTLE_US more.
 */
static void alternate(unsigned int me)
{
	struct lh_lease lease;
	struct lh_key *key;
	struct lh *lh;
	uint32_t k;

	bench_need(lh_open(&lh, hosts_table(me), NULL), "lh_open");
	bench_need(lh_key_open(lh, "cluster:bench/handover", 0, &key),
	    "key_open");
	for (k = me ? 1 : 2;; k += 2) {
		await(&stage->turn, k, "turn");
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		atomic_store(&stage->had_ns, bench_clock_ns());
		atomic_store(&stage->had, k);
		await(&stage->turn, k + 1, "turn");
		bench_sleep_us(SETTLE_US);
		atomic_store(&stage->released_ns, bench_clock_ns());
		bench_need(lh_release(lh, &lease), "release");
	}
}

static void on_event(void)
{
	atomic_store(&stage->seen_ns, bench_clock_ns());
	atomic_fetch_add(&stage->seen, 1);
}

static void watch(void)
{
	struct bare *b = bare_open(etcd_urls(-1));

	need(bare_here(b), "the first put");
	bare_watch(b, "watched/", on_event);
}

/* From a put to its event in another process. */
static double put_to_event(struct bare *b, const char *key)
{
	uint32_t seen = atomic_load(&stage->seen);
	uint64_t begin;

	bench_sleep_us(SETTLE_US);	/* as quiet as before a hand-over */
	begin = bench_clock_ns();
	need(bare_put(b, key, 5000), "a put");
	await(&stage->seen, seen + 1, "event");
	return (double)(atomic_load(&stage->seen_ns) - begin);
}

static double hand_over(uint32_t k)
{
	atomic_store(&stage->turn, k);
	await(&stage->had, k, "hand-over");
	return (double)(atomic_load(&stage->had_ns) -
	    atomic_load(&stage->released_ns));
}

/* Watching begins at some moment: wait for the first event. */
static void await_watcher(struct bare *b)
{
	uint64_t end = bench_clock_ns() + PATIENCE_NS;

	while (atomic_load(&stage->seen) == 0) {
		if (bench_clock_ns() > end)
			bench_die("cluster: nothing is seen by a watch");
		(void)bare_put(b, "watched/first", 5000);
		bench_sleep_us(20000);
		(void)bare_delete(b, "watched/first");
	}
	bench_sleep_us(100000);
}

static void measure_handover(struct row *row)
{
	static double ours[SAMPLES_MAX], theirs[SAMPLES_MAX];
	const unsigned int n = bench.quick ? 60 : 300;
	struct bare *b = bare_open(etcd_urls(-1));
	int pids[3];
	unsigned int i;
	char key[32];

	stage = bench_shared(sizeof(*stage));
	for (i = 0; i < 3; i++) {
		pids[i] = bench_fork();
		if (pids[i] != 0)
			continue;
		if (i == 2)
			watch();
		alternate(i);
		_exit(0);
	}
	need(bare_here(b), "the first put");
	await_watcher(b);
	(void)hand_over(1);	/* nobody has it before */
	for (i = 0; i < n; i++) {
		ours[i] = hand_over(i + 2);
		snprintf(key, sizeof(key), "watched/%u", i);
		theirs[i] = put_to_event(b, key);
	}
	bench_kill(pids, 3);
	bare_close(b);
	row->ours = bench_summarise(ours, n);
	row->theirs = bench_summarise(theirs, n);
}

static struct lh *lh;
static struct lh_key *keys[2];

static void pairs_of(struct lh_key *key, uint64_t n)
{
	struct lh_lease lease;

	for (; n > 0; n--) {
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
	}
}

static void run_delegated(uint64_t n)
{
	pairs_of(keys[0], n);
}

static void run_local(uint64_t n)
{
	pairs_of(keys[1], n);
}

/* The shim has to begin anew with tokens every half million pairs, some ten
 * milliseconds; rounds with that in them are wall time. */
static void measure_delegated(struct row *row)
{
	static struct side sides[2] = {
		{ .name = "delegated", .run = run_delegated },
		{ .name = "local", .run = run_local },
	};

	bench_need(lh_open(&lh, hosts_table(0), NULL), "lh_open");
	bench_need(lh_key_open(lh, "cluster:bench/hot", 0, &keys[0]),
	    "key_open");
	bench_need(lh_key_open(lh, HOT_KEY, 0, &keys[1]), "key_open");
	run_delegated(1);	/* fetch the key: no part of any slice */
	bench_pin();
	bench_circus(sides, 2, bench.quick ? 41 : 151, 2000000);
	bench_unpin();
	bench_need(lh_key_close(keys[0]), "key_close");
	bench_need(lh_key_close(keys[1]), "key_close");
	bench_need(lh_close(lh), "lh_close");
	row->ours = sides[0].figures;
	row->theirs = sides[1].figures;
}

static const struct row patterns[N_EACH] = {
	{ "c_uncontended", "2 transact.", "a key of the cluster: taken and "
	    "given back, nothing kept", ROW_METRIC, 1.3, { 0, 0 }, { 0, 0 },
	    NULL },
	{ "c_first", "transaction", "a process, through the shim: the first "
	    "time on this host", ROW_METRIC, 1.4, { 0, 0 }, { 0, 0 }, NULL },
	{ "c_relay", "asked for", "the same, beside a transaction that another "
	    "process makes", ROW_METRIC, 0, { 0, 0 }, { 0, 0 }, NULL },
	{ "c_handover", "put to event", "release on one host to grant on "
	    "another that waits", ROW_METRIC, 2, { 0, 0 }, { 0, 0 }, NULL },
	{ "c_delegated", "table's key", "a key that this host has the right "
	    "to: acquire + release", ROW_METRIC, 3, { 0, 0 }, { 0, 0 },
	    NULL },
	{ "c_pair", "2 transact.", "the same, beside the transactions",
	    ROW_METRIC, 0.001, { 0, 0 }, { 0, 0 }, NULL },
};

static void name_rows(struct row *rows, unsigned int members)
{
	static char names[2][N_EACH][16];
	unsigned int i;

	for (i = 0; i < N_EACH; i++) {
		char *name = names[members > 1][i];

		rows[i] = patterns[i];
		snprintf(name, sizeof(names[0][0]), "%s%s", patterns[i].metric,
		    members > 1 ? "3" : "");
		rows[i].metric = name;
	}
}

static void measure(struct row *rows, unsigned int members)
{
	const char *missing = etcd_begin(members);
	unsigned int i;

	name_rows(rows, members);
	for (i = 0; missing && i < N_EACH; i++)
		rows[i].missing = missing;
	if (missing)
		return;
	hosts_begin();
	measure_uncontended(&rows[UNCONTENDED]);
	measure_first(&rows[FIRST], &rows[RELAY]);
	measure_handover(&rows[HANDOVER]);
	measure_delegated(&rows[DELEGATED]);
	rows[PAIR].ours = rows[DELEGATED].ours;
	rows[PAIR].theirs = rows[UNCONTENDED].theirs;
}

size_t bench_cluster(struct row **out)
{
	static struct row rows[2 * N_EACH + 1];

	measure(rows, 1);
	if (!rows[0].missing) {
		hosts_end();
		etcd_end();
	}
	measure(rows + N_EACH, 3);
	rows[2 * N_EACH] = failover_row(rows[N_EACH].missing);
	if (!rows[N_EACH].missing) {
		hosts_end();
		etcd_end();
	}
	*out = rows;
	return sizeof(rows) / sizeof(rows[0]);
}
