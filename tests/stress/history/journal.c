/* SPDX-License-Identifier: MIT */
/* See journal.h. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "journal.h"

/*
 * Pages are taken when they are written: room that a run does not need costs
 * address space only.
 */
struct journal *
journal_new(uint32_t n_logs, uint32_t cap)
{
	size_t head = sizeof(struct journal) + n_logs * sizeof(struct log);
	struct journal *j;
	size_t bytes;
	uint32_t l;

	head = (head + 63) & ~(size_t)63;
	bytes = head + (size_t)n_logs * cap * sizeof(struct op);
	j = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (j == MAP_FAILED)
		return NULL;
	j->bytes = bytes;
	j->n_logs = n_logs;
	j->cap = cap;
	j->logs = (struct log *)(j + 1);
	j->ops = (struct op *)((char *)j + head);
	for (l = 0; l < n_logs; l++)
		j->logs[l].base = l * cap;
	return j;
}

void
journal_free(struct journal *j)
{
	if (j)
		munmap(j, j->bytes);
}

struct op *
journal_next(struct journal *j, struct log *log)
{
	uint32_t n = atomic_load_explicit(&log->n, memory_order_relaxed);

	struct op *op = &j->ops[log->base + n];

	if (n >= j->cap)
		return NULL;
	/* A predecessor may have been killed while it filled this one in. */
	memset(op, 0, sizeof(*op));
	return op;
}

void
journal_call(struct log *log, struct op *op)
{
	uint32_t n = atomic_load_explicit(&log->n, memory_order_relaxed);

	op->call_ns = now_ns();
	atomic_store_explicit(&log->n, n + 1, memory_order_release);
}

void
journal_ret(struct op *op, int64_t at, int result)
{
	op->result = result;
	atomic_store_explicit(&op->ret_ns, at, memory_order_release);
}

void
sleep_until_ns(int64_t at)
{
	struct timespec ts = { at / 1000000000, at % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	    EINTR)
		;
}
