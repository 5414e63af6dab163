/* SPDX-License-Identifier: MIT */
/* The processes of a benchmark, and what they share.  See bench_process.c. */
#ifndef TOOLS_BENCH_PROCESS_H
#define TOOLS_BENCH_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The exit status of a process that failed. */
#define COULD_NOT_MEASURE 2

/* Sets what bench_die() does with its sentence; error is 0, or the library's.
 * Otherwise it is printed after "bench: ". */
void bench_failure_to(void (*sink)(int error, const char *sentence));
void bench_die(const char *fmt, ...)
    __attribute__((noreturn, format(printf, 1, 2)));
void bench_fail(int error, const char *what) __attribute__((noreturn, cold));
void *bench_shared(size_t size);
pthread_mutex_t *bench_robust_mutex(void);
pthread_rwlock_t *bench_pshared_rwlock(void);
int bench_fork(void);
bool bench_ended_well(int status);
void bench_reap(const int *pids, size_t n, unsigned int patience_ms,
    const char *what);
void bench_kill(const int *pids, size_t n);

/*
 * Every result is looked at.  Inline, because a call here would be a constant
 * added to both sides of a ratio.
 */
static inline void bench_need(int error, const char *what)
{
	if (__builtin_expect(error != 0, 0))
		bench_fail(error, what);
}

#endif
