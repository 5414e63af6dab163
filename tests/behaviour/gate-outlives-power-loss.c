/* SPDX-License-Identifier: MIT */
/* test: alone: it defines msync() */
/*
 * Guarantee G2, LH_GATE_DURABLE: no loss of power lets a token pass that is
 * older than one that was reported as passed.  The disk is simulated: the
 * program's own msync() copies the page word by word to another place, and
 * fails now and then.  During each write, when any word may be old or new, and
 * at each answer, the disk must know everything that was reported.  Processes
 * are killed at random; at the end the file is replaced by the disk.
 *
 * Otherwise a server would accept an older holder after a power loss.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define WORDS	512
#define CROWD	4

/* Of enum lh_mode, where they are: see doc/format.md. */
#define SYNCED	64
#define MARK	66

static struct played {
	_Atomic uint64_t disk[WORDS];
	_Atomic uint64_t told[2];	/* the largest that passed */
	_Atomic uint64_t syncs, faults, wrong;
} *p;

static char path[] = "/tmp/leasehold-gate.XXXXXX";

/* If power were lost now, with these words on the disk. */
static void
judge(const uint64_t told[2], const uint64_t image[WORDS])
{
	for (int i = 0; i < 2; i++)
		if (image[MARK + i] < told[i] ||
		    image[SYNCED + i] > image[MARK + i])
			atomic_fetch_add(&p->wrong, 1);
}

static void
raise_to(_Atomic uint64_t *word, uint64_t to)
{
	uint64_t now = atomic_load(word);

	while (now < to && !atomic_compare_exchange_weak(word, &now, to))
		;
}

static int
write_page(const _Atomic uint64_t *memory)
{
	uint64_t n = atomic_fetch_add(&p->syncs, 1), told[2];
	uint64_t torn[WORDS], fresh[WORDS];

	told[0] = atomic_load(&p->told[0]);
	told[1] = atomic_load(&p->told[1]);
	/* what is written is read from the memory in some order ... */
	for (int i = 0; i < WORDS; i++) {
		int k = n % 2 ? i : WORDS - 1 - i;

		fresh[k] = atomic_load(&memory[k]);
	}
	/* ... and some of it has come to the disk: looked at after the memory,
	 * as another's write may have been completed, and told, meanwhile */
	for (int i = 0; i < WORDS; i++) {
		torn[i] = atomic_load(&p->disk[i]);
		if ((n * 2654435761u >> (i % 29)) & 1 && fresh[i] > torn[i])
			torn[i] = fresh[i];
	}
	judge(told, torn);
	if (n % 7 == 3) {
		atomic_fetch_add(&p->faults, 1);
		return EIO;
	}
	for (int i = 0; i < WORDS; i++)
		raise_to(&p->disk[i], fresh[i]);
	return 0;
}

int
msync(void *page, size_t len, int flags)
{
	int fd = open(path, O_RDONLY), error;

	(void)len;
	(void)flags;
	/* the kernel releases it when its holder is killed */
	while (flock(fd, LOCK_EX) != 0 && errno == EINTR)
		;
	error = write_page(page);
	close(fd);
	errno = error;
	return error == 0 ? 0 : -1;
}

static int
climb(void *arg)
{
	uint64_t seed = (uintptr_t)arg, token;
	struct lh_gate *g;

	if (lh_gate_open(&g, path, NULL, LH_GATE_DURABLE) != 0)
		return 1;
	for (;;) {
		uint32_t mode = seed >> 40 & 1 ? LH_SHARED : LH_EXCLUSIVE;
		uint64_t x = atomic_load(&p->told[LH_EXCLUSIVE]);
		uint64_t s = atomic_load(&p->told[LH_SHARED]);
		int r;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		token = (x > s ? x : s) + 4 - (seed >> 33) % 4;
		r = lh_gate_check(g, token, mode);
		if (r == 0) {
			if (atomic_load(&p->disk[MARK + mode]) < token)
				atomic_fetch_add(&p->wrong, 1);
			raise_to(&p->told[mode], token);
		} else if (r != -ESTALE && r != -EIO) {
			atomic_fetch_add(&p->wrong, 1);
		}
	}
	return 0;
}

static void
lose_power(void)
{
	int fd = open(path, O_RDWR);

	if (fd < 0 || pwrite(fd, p->disk, sizeof(p->disk), 0) !=
	    (ssize_t)sizeof(p->disk))
		bail_out("no disk: %s", strerror(errno));
	close(fd);
}

int
main(void)
{
	int kills = t_count(60, 10), fd = mkstemp(path);
	uint64_t told;
	struct lh_gate *g;
	pid_t crowd[CROWD];

	close(fd);
	unlink(path);
	p = t_shared(sizeof(*p));
	is(lh_gate_open(&g, path, NULL, LH_GATE_DURABLE), 0, "a gate");
	fd = open(path, O_RDONLY);
	is(pread(fd, p->disk, sizeof(p->disk), 0), (ssize_t)sizeof(p->disk),
	    "it is on the disk");
	close(fd);
	for (int i = 0; i < CROWD; i++)
		crowd[i] = t_fork(climb, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < kills; i++) {
		t_sleep_ms(5);
		t_kill(crowd[i % CROWD]);
		crowd[i % CROWD] = t_fork(climb, (void *)(uintptr_t)(i + 9));
	}
	/* on a slow machine they may not have done anything yet */
	(void)t_until(T_HANG_MS, atomic_load(&p->faults) > 0 &&
	    atomic_load(&p->told[0]) > 3);
	for (int i = 0; i < CROWD; i++)
		t_kill(crowd[i]);
	is(lh_gate_close(g), 0, "closed");
	diag("%llu writes, %llu of them failed; token %llu",
	    (unsigned long long)atomic_load(&p->syncs),
	    (unsigned long long)atomic_load(&p->faults),
	    (unsigned long long)atomic_load(&p->told[0]));
	cmp(atomic_load(&p->faults), >, 0, "the disk failed now and then");
	is(atomic_load(&p->wrong), 0, "and was never behind a reported pass");
	told = atomic_load(&p->told[0]);
	cmp(told, >, 3, "tokens were reported as passed");

	lose_power();
	is(lh_gate_open(&g, path, NULL, LH_GATE_DURABLE), 0, "after all that");
	is(lh_gate_check(g, told - 1, LH_EXCLUSIVE), -ESTALE,
	    "an older one does not pass");
	is(lh_gate_check(g, told - 1, LH_SHARED), -ESTALE, "in either mode");
	is(lh_gate_close(g), 0, "closed");
	unlink(path);
	return done();
}
