/* SPDX-License-Identifier: MIT */
/*
 * Needed by every test of this project besides tap.h: time that stretches on
 * slow runs, table names that are nobody else's and are removed afterwards,
 * and short forms of the calls that each test makes.
 *
 * Slow runs.  LH_TEST_SLOW=N (valgrind: 20 or so) multiplies every span that
 * goes through t_ms(): leases, waits, and the bounds that are asserted.
 * Without it a sanitizer build counts as 3.  Bounds that are asserted are ten
 * times those of the specification's timing table; what depends on the
 * scheduler goes through t_tries(), which gives it another chance.
 *
 * Leftovers.  Every name from t_table() is unlinked at exit and, however the
 * program ends (SIGKILL, sanitizers), by a janitor process that outlives it
 * for that; children die with their parent (child.h).  After a minute
 * (stretched) a watchdog ends a program that hangs.
 */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <leasehold.h>

#define T_NS_PER_MS	INT64_C(1000000)

/* Bounds that tests assert, in ms: ten times the specification's. */
#define T1_MS	t_ms(100)	/* deadline -> next waiter granted */
#define T2_MS	t_ms(500)	/* holder dead -> next waiter granted */
#define T3_MS	t_ms(200)	/* grantable -> front waiter granted */
#define T3_DEAD_MS t_ms(600)	/* behind a dead or stopped front */
#define T4_MS	t_ms(50)	/* a timed wait's end, beyond its time */

/* No test should come near it; what takes this long hangs. */
#define T_HANG_MS t_long(10000)

/* CLOCK_MONOTONIC, which is the clock of the tables that tests make. */
int64_t t_now_ns(void);

/* The same, earlier by what the kernel's tick is late, beyond the 4 ms between
 * two: the clock that deadlines count from goes by it, and here it was seen to
 * be 8 ms behind. */
int64_t t_ticked_ns(void);
int64_t t_since_ms(int64_t then_ns);

/* ms, stretched for this run. */
int64_t t_ms(int64_t ms);

/* The same, and more in a part that is played again (part.h). */
int64_t t_long(int64_t ms);

/* How long process `pid` (its main thread) has run so far, or has waited for a
 * processor: what was late by more than this was late by itself. */
int64_t t_awake_ms(pid_t pid);

/* Sleep that long (not stretched: give it t_ms() where it matters). */
void t_sleep_ms(int64_t ms);

/* Sleep until a point on the clock. */
void t_sleep_until(int64_t ns);

/* True as soon as cond is.  It is looked at for ms: 5,000 times a second at
 * first, and 500 times when it takes long (t_nap_since). */
#define t_until(ms, cond) __extension__ ({ \
	int64_t t_begin_ = t_now_ns(), t_end_ = t_begin_ + \
	    (ms) * T_NS_PER_MS; \
	bool t_held_; \
	while (!(t_held_ = (cond)) && t_now_ns() < t_end_) \
		t_nap_since(t_begin_); \
	t_held_; })

/* Sleeps for 200 us; or for a 16th of the time since then, up to 2 ms. */
void t_nap(void);
void t_nap_since(int64_t then_ns);

/* Whether fn says true in one of so many tries. */
bool t_tries(int tries, bool (*fn)(void *arg), void *arg);

/* From now on the watchdog waits for its minute again. */
void t_watch(void);

/* A table name nobody else uses; its object is removed at the end, and what
 * lh_table_remove() leaves of it. */
const char *t_table(void);

/* The path of a table's object. */
const char *t_object(const char *table);

/* Some other path that must not stay behind; the string is kept. */
void t_remove_at_exit(const char *path);

/* Fill up the file system of a test's own by a file there. */
void t_fill_up(const char *path);

/* n, or less on a slow run, but not below min. */
int t_count(int n, int min);

/* Sizes that suit tests: 1,024 keys, 256 sessions, 16,384 leases. */
struct lh_open_opts t_open_opts(void);

/* Attach, or bail out. */
struct lh *t_open(const char *table);

/* Acquire exclusively with these times (not stretched here). */
int t_acquire(struct lh *lh, const char *key, int64_t ttl_ms, int64_t wait_ms,
    struct lh_lease *lease);
struct lh_acquire_opts t_opts(int64_t ttl_ms, int64_t wait_ms);

/* Acquire without waiting, with a lease that outlives the test, or bail out. */
struct lh_lease t_hold(struct lh *lh, const char *key);

/* Numbers of a key as lh_status() tells them; negative errno. */
int t_holders(struct lh *lh, const char *key);

/* Returns when a lease that is held was acquired (table clock). */
int64_t t_acquired_ns(struct lh *lh, const struct lh_lease *lease);
int t_waiters(struct lh *lh, const char *key);

/* Wait until the key has exactly n waiters; false after a hang. */
bool t_await_waiters(struct lh *lh, const char *key, int n);

/* Number of findings of a whole-table check, each told as a diagnostic.  A
 * check may run beside other processes; it is asked up to three times. */
int t_findings(struct lh *lh);

/* The last thing a test does with its table: look it over and close it. */
void t_close(struct lh *lh);

/* Whether the detail of this thread's last failed call is a sentence: words,
 * that is, and not just the name of the code. */
bool t_has_detail(void);

/* Descriptors that this process has open, and always the same few more. */
int t_descriptors(void);

/* Threads of this process. */
int t_threads(void);

#endif
