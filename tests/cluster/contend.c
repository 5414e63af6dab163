/* SPDX-License-Identifier: MIT */
/*
 * contend TABLE KEY SECONDS OUT [HOLD-US [GAP-US [MODE]]]: a process of a host
 * that takes a key again and again, and writes down when it had it.
 *
 * A line of OUT is a grant: when it came, when it was left (CLOCK_BOOTTIME, ns,
 * the same on all "hosts" of one machine), the token, the mode.  The lease is
 * checked again and again.  It counts as left when it was last good, which is
 * after that second moment.  A holder whose call says that the lease is lost
 * has not had it since.  The last line counts all other events.  Judged by
 * tests/cluster/judge.
 *
 * GATE=FILE: what the key is there for, and knows nothing of it: it lets in
 * whoever has a token that is larger than all before, and whoever was let in as
 * long as nobody else was (doc/gate.md).  Each exclusive holder comes to it
 * twice, when it was granted the key and when it leaves.  "refused": it was
 * turned away, and yet its lease was good after that: must be 0.  "kept out":
 * it was turned away, and had lost the key.
 *
 * TTL_MS=N: of each lease.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <leasehold.h>

static uint64_t
now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Sleeps that long: what turns without sleeping keeps a processor busy. */
static void
rest_us(unsigned us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	(void)nanosleep(&ts, NULL);
}

static unsigned long grants, lost, away, timed_out, other, refused, kept_out;
static _Atomic uint64_t *gate;		/* the largest token; or NULL */

static void
find_gate(void)
{
	const char *file = getenv("GATE");
	int fd;

	if (file == NULL)
		return;
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, sizeof(*gate)) == 0)
		gate = mmap(NULL, sizeof(*gate), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (gate == NULL || (void *)gate == MAP_FAILED) {
		perror("contend: GATE");
		exit(1);
	}
	(void)close(fd);
}

/* Is that one let in? */
static bool
comes_in(uint64_t token)
{
	uint64_t max = atomic_load(gate);

	while (token > max)
		if (atomic_compare_exchange_weak(gate, &max, token))
			return true;
	return false;
}

/* Have it for so long, or until it is lost.  When it was last good, or 0. */
static uint64_t
have(struct lh *lh, const struct lh_lease *l, bool guarded, unsigned hold_us)
{
	bool in = !guarded || comes_in(l->token);
	uint64_t now = now_ns(), good = 0;
	uint64_t end = now + hold_us * UINT64_C(1000);

	for (;;) {
		in = in && (!guarded || atomic_load(gate) == l->token);
		if (lh_verify(lh, l) != 0)
			break;
		good = now;
		refused += !in;
		if (now >= end || !in)
			return good;
		rest_us(hold_us < 500 ? hold_us :
		    hold_us < 10000 ? hold_us / 10 : 1000);
		now = now_ns();
	}
	lost++;
	kept_out += !in;
	return good;
}

static void
attempt(struct lh *lh, const char *key, const struct lh_acquire_opts *o,
    unsigned hold_us, FILE *f)
{
	struct lh_lease l;
	uint64_t from, to;
	int e = lh_acquire(lh, key, o, &l);

	from = now_ns();
	if (e != 0) {
		away += e == -EHOSTUNREACH;
		timed_out += e == -ETIMEDOUT;
		other += e != -EHOSTUNREACH && e != -ETIMEDOUT;
		if (e != -EHOSTUNREACH && e != -ETIMEDOUT)
			fprintf(f, "# %s\n", lh_error_detail());
		if (e == -EHOSTUNREACH)
			rest_us(5000);
		return;
	}
	to = have(lh, &l, gate != NULL && o->mode != LH_SHARED, hold_us);
	if (to != 0) {
		fprintf(f, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", from,
		    to, l.token, (unsigned)l.mode);
		grants++;
	}
	(void)lh_release(lh, &l);
}

int
main(int argc, char **argv)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	unsigned hold_us = argc > 5 ? (unsigned)atoi(argv[5]) : 100;
	unsigned gap_us = argc > 6 ? (unsigned)atoi(argv[6]) : 100;
	uint64_t end;
	struct lh *lh;
	FILE *f;

	if (argc < 5 || lh_open(&lh, argv[1], NULL) != 0 ||
	    (f = fopen(argv[4], "w")) == NULL) {
		fprintf(stderr, "contend: %s\n", lh_error_detail());
		return 1;
	}
	find_gate();
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (getenv("TTL_MS") != NULL)
		o.ttl_ms = strtoll(getenv("TTL_MS"), NULL, 10);
	(void)setvbuf(f, NULL, _IOLBF, 0);	/* it is read meanwhile */
	end = now_ns() + strtoull(argv[3], NULL, 10) * UINT64_C(1000000000);
	o.max_wait_ms = 1000;
	if (argc > 7 && strcmp(argv[7], "shared") == 0)
		o.mode = LH_SHARED;
	while (now_ns() < end) {
		uint64_t gap = now_ns() + gap_us * UINT64_C(1000);

		attempt(lh, argv[2], &o, hold_us, f);
		while (now_ns() < gap)
			rest_us(gap_us);
	}
	fprintf(f, "# grants %lu lost %lu away %lu timeouts %lu others %lu "
	    "refused %lu kept-out %lu\n", grants, lost, away, timed_out,
	    other, refused, kept_out);
	return fclose(f) == 0 && lh_close(lh) == 0 ? 0 : 1;
}
