/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the benchmark.  bench.c describes the groups and the
 * method, the head of each file its own part.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>

#include "tools/bench_clock.h"
#include "tools/bench_peers.h"
#include "tools/bench_process.h"
#include "tools/bench_rounds.h"

/* An exit status of the program and of each process in it. */
#define TARGET_MISSED	1	/* with --check */

/* One run of the program: set once by main(), read by everyone. */
struct bench {
	bool quick;		/* the edition of a minute */
	bool tsv;
	bool check;
	char table[64];		/* our table's name, unique to this run; the
				 * others' begin with it and a dot */
	char scratch[64];	/* directory on tmpfs for the peers' files */
};

extern struct bench bench;

enum row_kind {
	ROW_METRIC,		/* printed by --tsv; may have a target */
	ROW_BYTES,		/* the same, and the figures are bytes */
	ROW_CONTEXT		/* readable table only */
};

struct row {
	const char *metric;
	const char *peer;
	const char *what;	/* for people: what is timed */
	enum row_kind kind;
	double target;		/* ours / peer at most; 0: reported only */
	struct figures ours, theirs;
	const char *missing;	/* why it was not measured; NULL if it was */
};

/* process.c */
void bench_table_path(char *path, size_t size, const char *table);
int bench_supervise(int (*body)(void));

/* The groups.  Each fills rows of its own and says how many they are. */
size_t bench_uncontended(struct row **rows);
size_t bench_million(struct row **rows);
size_t bench_first_use(struct row **rows);
size_t bench_crowd(struct row **rows);
size_t bench_reader(struct row **rows);
size_t bench_two_readers(struct row **rows);
size_t bench_handover(struct row **rows);
size_t bench_takeover(struct row **rows);
size_t bench_drain(struct row **rows);
size_t bench_idle(struct row **rows);
size_t bench_reaper(struct row **rows);
size_t bench_cluster(struct row **rows);

/* readers.c */
const char *bench_no_readers(void);

/* memory.c */
void bench_memory(void);

/* durable.c */
extern const struct side bench_local, bench_local_opts, bench_fdatasync;

/* delegated.c */
extern const struct side bench_delegated, bench_name_delegated;

/* global.c */
extern const struct side bench_global;

/* peers.c */
extern const struct side bench_peer_bdb, bench_peer_bdb_many,
    bench_peer_bdb_new, bench_peer_tdb;

#define HOT_KEY		"bench/the-hot-key"
#define MANY_KEYS	64
#define FIRST_NEW_NAME	1000000	/* no other key has a name from there on */
void bench_key_name(char name[32], unsigned int i);


/* report.c */
void bench_report_begin(void);
void bench_report_head(void);
void bench_report(const struct row *rows, size_t n);
void bench_report_note(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
void bench_report_notes(void);
bool bench_missed(const struct row *rows, size_t n);

#endif
