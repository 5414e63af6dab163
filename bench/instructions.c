/* SPDX-License-Identifier: MIT */
/*
 * How many instructions does the hot pair execute, and how many of them lock
 * the bus?
 *
 * Times differ from machine to machine and from minute to minute; these do
 * not.  A child runs the pair at full speed, so that every symbol is bound and
 * every first-time path is behind it, and then one call of it with the CPU's
 * trap flag set: each instruction raises SIGTRAP, whose handler looks at it.
 * Around each call stands mark(), whose entry the handler knows by address; the
 * stretch between two marks is counted, and what two marks with nothing between
 * them cost is subtracted.  So a call's figure includes its arguments, the jump
 * through the PLT, the look at its result, and everything inside, the vDSO
 * clock too.
 *
 * A step takes some ten microseconds in a virtual machine, so that a call as a
 * whole may last longer than a tick of the coarse clock, and then takes the
 * path that it takes once in a hundred thousand times.  Hence: only one call is
 * stepped at a time, right after a tick and some pairs at full speed, and the
 * smallest of TRIES counts is the true one.  (ptrace would do as well, but its
 * steps cost twice as much, and x_name then never ends within a tick.)
 *
 * An instruction locks the bus if it has a LOCK prefix (0xf0), or is an xchg
 * with memory, which is always locked.  The bytes at rip are decoded so far:
 * legacy prefixes, REX, opcode, ModRM.  System calls are counted as well; the
 * hot pair is to have none.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench.h"

#if defined(__x86_64__)

#define WARM_UP		5000
#define WARM_AGAIN	200
#define TRIES		41
#define TRAP_FLAG	0x100
#define PATIENCE_S	20

struct count {
	unsigned int all, locked, syscalls;
};

/* In front of which call of a pair the child traps. */
enum stage { FIRST, SECOND, NONE };

/* What a child runs: set_up once, then pair(), two marked calls. */
struct subject {
	const char *name;
	const char *first, *second;
	void (*set_up)(void);
	void (*pair)(enum stage stage);
	const char *(*missing)(void);	/* says why it cannot be, or NULL */
};

static struct lh *lh;
static struct lh_key *key;
static struct lh_lease kept;
static pthread_mutex_t *mutex;
static pthread_rwlock_t *rwlock;

/* The handler waits for rip to arrive here. */
static __attribute__((noinline)) void mark(void)
{
	__asm__ volatile ("" ::: "memory");
}

static inline void trap_if(bool here)
{
	if (here)
		__asm__ volatile ("int3" ::: "memory");
}

static void nothing_set_up(void)
{
}

static void nothing_pair(enum stage stage)
{
	trap_if(stage == FIRST);
	mark();
	mark();
	trap_if(stage == SECOND);
	mark();
	mark();
}

static void ours_set_up(void)
{
	bench_need(lh_open(&lh, bench.table, NULL), "lh_open");
	bench_need(lh_key_open(lh, HOT_KEY, 0, &key), "key_open");
}

static void handle_pair(enum stage stage)
{
	struct lh_lease lease;

	trap_if(stage == FIRST);
	mark();
	bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
	mark();
	trap_if(stage == SECOND);
	mark();
	bench_need(lh_release(lh, &lease), "release");
	mark();
}

static void shared_pair(enum stage stage)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;

	opts.mode = LH_SHARED;
	trap_if(stage == FIRST);
	mark();
	bench_need(lh_key_acquire(key, &opts, &lease), "acquire, shared");
	mark();
	trap_if(stage == SECOND);
	mark();
	bench_need(lh_release(lh, &lease), "release, shared");
	mark();
}

static void name_pair(enum stage stage)
{
	struct lh_lease lease;

	trap_if(stage == FIRST);
	mark();
	bench_need(lh_acquire(lh, HOT_KEY, NULL, &lease), "acquire");
	mark();
	trap_if(stage == SECOND);
	mark();
	bench_need(lh_release(lh, &lease), "release");
	mark();
}

static void extend_set_up(void)
{
	unsigned int i;

	ours_set_up();
	for (i = 0; i < WARM_UP; i++)
		handle_pair(NONE);
	bench_need(lh_acquire(lh, "bench/counted", NULL, &kept), "acquire");
	for (i = 0; i < WARM_UP; i++)
		handle_pair(NONE);
}

static void extend_pair(enum stage stage)
{
	trap_if(stage == FIRST);
	mark();
	bench_need(lh_extend(lh, &kept, 30000), "extend");
	mark();
	trap_if(stage == SECOND);
	mark();
	bench_need(lh_verify(lh, &kept), "verify");
	mark();
}

static void mutex_set_up(void)
{
	mutex = bench_robust_mutex();
}

static void mutex_pair(enum stage stage)
{
	trap_if(stage == FIRST);
	mark();
	bench_need(pthread_mutex_lock(mutex), "mutex_lock");
	mark();
	trap_if(stage == SECOND);
	mark();
	bench_need(pthread_mutex_unlock(mutex), "mutex_unlock");
	mark();
}

static void rdlock_set_up(void)
{
	rwlock = bench_pshared_rwlock();
}

static void rdlock_pair(enum stage stage)
{
	trap_if(stage == FIRST);
	mark();
	bench_need(pthread_rwlock_rdlock(rwlock), "rwlock_rdlock");
	mark();
	trap_if(stage == SECOND);
	mark();
	bench_need(pthread_rwlock_unlock(rwlock), "rwlock_unlock");
	mark();
}

static const struct subject nothing = {
	"nothing", "", "", nothing_set_up, nothing_pair, NULL
};

static const struct subject subjects[] = {
	{ "x_handle", "acquire", "release", ours_set_up, handle_pair, NULL },
	{ "x_name", "acquire", "release", ours_set_up, name_pair, NULL },
	{ "robust-mutex", "lock", "unlock", mutex_set_up, mutex_pair, NULL },
	{ "s_sole", "acquire", "release", ours_set_up, shared_pair,
	    bench_no_readers },
	{ "pthr-rwlock", "rdlock", "unlock", rdlock_set_up, rdlock_pair,
	    NULL },
	{ "extend, verify", "extend", "verify", extend_set_up, extend_pair,
	    NULL },
};

/* Reads no further than the instruction reaches. */
static void decode(const unsigned char *code, struct count *count)
{
	static const unsigned char prefixes[] = {
		0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x66,
		0x67
	};
	bool locked = false;

	for (; memchr(prefixes, *code, sizeof(prefixes)); code++)
		locked |= *code == 0xf0;
	if ((*code & 0xf0) == 0x40)
		code++;
	if ((*code == 0x86 || *code == 0x87) && code[1] < 0xc0)
		locked = true;
	count->all++;
	count->locked += locked;
	count->syscalls += *code == 0x0f && code[1] == 0x05;
}

/* Of the one thread of the child; no signal arrives while no step is made. */
static struct {
	bool stepping;
	unsigned int marks;
	struct count count;
} trap;

/* The first trap is an int3, and begins a stretch; the second mark ends it. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	(void)info;
	if (!trap.stepping) {
		memset(&trap, 0, sizeof(trap));
		trap.stepping = true;
		regs[REG_EFL] |= TRAP_FLAG;
		return;
	}
	if (regs[REG_RIP] == (greg_t)(uintptr_t)mark && ++trap.marks == 2) {
		trap.stepping = false;
		regs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
		return;
	}
	if (trap.marks == 1)
		decode((const unsigned char *)(uintptr_t)regs[REG_RIP],
		    &trap.count);
}

static void await_tick(void)
{
	struct timespec before, now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
	do {
		clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	} while (now.tv_nsec == before.tv_nsec);
}

static void run_subject(const struct subject *subject, struct count best[2])
{
	struct sigaction action = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO
	};
	unsigned int i, k, stage;

	alarm(PATIENCE_S);
	subject->set_up();
	for (i = 0; i < WARM_UP; i++)
		subject->pair(NONE);
	sigaction(SIGTRAP, &action, NULL);
	for (i = 0; i < 2 * TRIES; i++) {
		stage = i % 2;
		await_tick();
		for (k = 0; k < WARM_AGAIN; k++)
			subject->pair(NONE);
		subject->pair(stage);
		if (trap.stepping || trap.count.all == 0)
			bench_die("%s: the trap flag does not work here",
			    subject->name);
		if (i < 2 || trap.count.all < best[stage].all)
			best[stage] = trap.count;
	}
	if (lh)		/* the next child is to find no dead holder */
		bench_need(lh_close(lh), "lh_close");
	_exit(0);
}

/* best[0], best[1], in shared memory: the two calls of the pair. */
static void count_subject(const struct subject *subject, struct count best[2])
{
	int status;
	int pid;

	pid = bench_fork();
	if (pid == 0)
		run_subject(subject, best);
	if (waitpid(pid, &status, 0) != pid || !bench_ended_well(status))
		bench_die("%s: cannot be stepped (wait status 0x%x)",
		    subject->name, (unsigned int)status);
}

void bench_instructions(void)
{
	struct count *empty = bench_shared(2 * sizeof(*empty));
	struct count *best = bench_shared(2 * sizeof(*best));
	const struct subject *subject;
	unsigned int i, k;
	const char *why;

	count_subject(&nothing, empty);
	printf("instructions, counted by single-stepping:\n"
	    "%-15s %5s %6s %8s\n", "", "all", "locked", "syscalls");
	for (i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		subject = &subjects[i];
		why = subject->missing ? subject->missing() : NULL;
		if (why) {
			printf("%-15s left out: %s\n", subject->name, why);
			continue;
		}
		count_subject(subject, best);
		for (k = 0; k < 2; k++)
			best[k].all -= empty[k].all;
		printf("%-15s %5u %6u %8u   %s %u + %s %u\n", subject->name,
		    best[0].all + best[1].all,
		    best[0].locked + best[1].locked,
		    best[0].syscalls + best[1].syscalls, subject->first,
		    best[0].all, subject->second, best[1].all);
		fflush(stdout);
	}
	printf("\n");
}

#else

void bench_instructions(void)
{
	printf("instructions: counted on x86-64 only\n");
}

#endif
