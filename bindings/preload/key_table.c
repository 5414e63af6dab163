/* SPDX-License-Identifier: MIT */
/*
 * The table, which is opened when the program locks a file for the first time.
 *
 * If it cannot be opened, the program has the kernel's locks alone, and the
 * next lock a second later tries again.  The user learns of that, if they want
 * to ($LEASEHOLD_PRELOAD_VERBOSE), once.
 *
 * A thread that is inside a call of the library locks and closes files of the
 * library's own, which have no keys; and so has a signal handler that
 * interrupts it.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "preload.h"

#define AGAIN_S 1

/* Of a program of leasehold's, which holds its keys itself
 * (src/daemon/standard_files.c). */
extern const char leasehold_holds_its_own_keys[] __attribute__((weak));

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct lh *) table;
static atomic_long tried_s;	/* when it failed; 0: it did not */
static atomic_bool said;
static _Thread_local bool fork_has_opening;
static uintptr_t library, library_size;	/* its code */
static pid_t process;		/* 0: before this library's start */
static _Thread_local volatile sig_atomic_t inside;

static long
now_s(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (long)ts.tv_sec + 1;
}

void
key_table_enter(void)
{
	inside++;
	atomic_signal_fence(memory_order_seq_cst);
}

void
key_table_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	inside--;
}

bool
key_table_is_inside(void)
{
	return inside != 0;
}

bool
key_table_is_ours(void)
{
	return process != 0 && process == getpid();
}

static void
say_why(int error)
{
	const char *verbose = getenv("LEASEHOLD_PRELOAD_VERBOSE");

	if (verbose == NULL || *verbose == '\0' ||
	    atomic_exchange(&said, true))
		return;
	(void)dprintf(STDERR_FILENO, "leasehold-preload: process %ld locks "
	    "files without keys: %s\n", (long)getpid(),
	    *lh_error_detail() != '\0' ? lh_error_detail() :
	    lh_strerror(error));
}

/* (Under the mutex.) */
static void
open_table(void)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	struct lh *lh;
	int e;

	o.flags = LH_CATCH_SIGBUS;
	e = lh_open(&lh, NULL, &o);
	if (e == 0) {
		atomic_store(&table, lh);
		return;
	}
	atomic_store(&tried_s, now_s());
	say_why(e);
}

struct lh *
key_table(void)
{
	struct lh *lh;
	int saved = errno;
	long tried;

	if (inside || leasehold_holds_its_own_keys != NULL ||
	    !key_table_is_ours())
		return NULL;
	lh = atomic_load(&table);
	tried = atomic_load(&tried_s);
	if (lh != NULL || (tried != 0 && now_s() - tried < AGAIN_S))
		return lh;
	key_table_enter();
	/* (Another thread opens it, or a handler has left that by a jump: this
	 * lock has no key.) */
	if (pthread_mutex_trylock(&opening) != 0) {
		key_table_leave();
		return NULL;
	}
	if (atomic_load(&table) == NULL)
		open_table();
	lh = atomic_load(&table);
	(void)pthread_mutex_unlock(&opening);
	key_table_leave();
	errno = saved;
	return lh;
}

/* (A table that was removed stays open, because its keys may be held, and other
 * threads may be using it.) */
void
key_table_failed(struct lh *lh, int error)
{
	if (error == -ESTALE || error == -EUCLEAN) {
		atomic_store(&tried_s, now_s());
		(void)atomic_compare_exchange_strong(&table, &lh, NULL);
	}
	say_why(error);
}

static void
begin_fork(void)
{
	if (inside)
		return;
	fork_has_opening = pthread_mutex_trylock(&opening) == 0;
	held_locks_fork_begin();
}

static void
end_fork(void)
{
	if (inside)
		return;
	held_locks_fork_end(false);
	if (fork_has_opening)
		(void)pthread_mutex_unlock(&opening);
}

/* The child has its parent's flocks, but no key: its records begin anew. */
static void
begin_child(void)
{
	(void)pthread_mutex_init(&opening, NULL);
	held_locks_fork_end(true);
	atomic_store(&table, NULL);
	atomic_store(&tried_s, 0);
	process = getpid();
}

/* Notes where the library is that this one uses. */
static int
find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t in = (uintptr_t)lh_open;

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && in >= from &&
		    in - from < p->p_memsz) {
			library = from;
			library_size = p->p_memsz;
			return 1;
		}
	}
	return 0;
}

bool
key_table_is_library(const void *code)
{
	return (uintptr_t)code - library < library_size;
}

static void __attribute__((constructor))
start(void)
{
	(void)dl_iterate_phdr(find_library, NULL);
	if (pthread_atfork(begin_fork, end_fork, begin_child) == 0)
		process = getpid();
}
