/* SPDX-License-Identifier: MIT */
/*
 * Counts the instructions of the hot pairs, and how many of them lock the bus.
 *
 *	count		a table for people
 *	count --tsv	pair, call, instructions, locked, calls, system calls
 *
 * Times differ from machine to machine and from minute to minute; these counts
 * do not.  A child runs the pair at full speed, so that every symbol is bound
 * and every first-time path has been taken.  Then it runs one call with the
 * CPU's trap flag set: each instruction raises SIGTRAP, and the handler looks
 * at it.  mark() stands around each call; the handler knows its address and
 * counts what lies between two marks.
 *
 * Two things are counted:
 *
 * - --tsv: the instructions inside the library, and its calls of functions
 *   elsewhere (libc, the vDSO).  They depend on the compiler alone, so
 *   bench/count/check compares them with bench/count/record.
 * - the table for people: all instructions but the vDSO's, as the peers' are
 *   counted.  The cost of two marks with nothing between is subtracted.
 *
 * The handler answers the vDSO's clock_gettime() itself.  The clock then stands
 * still during a call: a step takes microseconds, and a call would otherwise
 * last longer than a tick of the coarse clock, and take the path that it takes
 * once a tick.  A tick between the last full-speed pair and the first step
 * still shows that path, so the smallest of several counts is the true one.
 *
 * An instruction locks the bus if it has a LOCK prefix (0xf0), or is an xchg
 * with memory, which is always locked.  Prefixes, REX, opcode and ModRM are
 * decoded for this.
 *
 * (Above 500 lines: the pairs are with what steps through them.)
 */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench.h"

struct bench bench;

#if defined(__x86_64__)

#define WARM_UP		5000
#define WARM_AGAIN	200
#define TRIES		200
#define AGREE		5	/* the smallest count was seen so often */
#define TRAP_FLAG	0x100
#define PATIENCE_S	60
#define N_CLOCKS	16

/* The compiler of this file, and most likely of the library beside it. */
#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
#ifdef __clang__
#define COMPILER "x86_64 clang-" STRING(__clang_major__) "." \
	STRING(__clang_minor__) "." STRING(__clang_patchlevel__)
#else
#define COMPILER "x86_64 gcc-" STRING(__GNUC__) "." \
	STRING(__GNUC_MINOR__) "." STRING(__GNUC_PATCHLEVEL__)
#endif

struct count {
	unsigned int all, own, locked, calls, syscalls;
};

/* In front of which call of a pair the child traps. */
enum stage { FIRST, SECOND, NONE };

/* A child runs set_up once, then pair(), two marked calls. */
struct subject {
	const char *name;
	const char *first, *second;
	bool ours;
	void (*set_up)(void);
	void (*pair)(enum stage stage);
};

static struct lh *lh;
static struct lh_key *key;
static struct lh_lease kept;
static char global[sizeof(bench.table) + 8];
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

/* The two calls of a pair, each between two marks. */
#define STEPPED(stage, first, second) do { \
	trap_if((stage) == FIRST); \
	mark(); \
	first; \
	mark(); \
	trap_if((stage) == SECOND); \
	mark(); \
	second; \
	mark(); \
} while (0)

static void nothing_set_up(void)
{
}

static void nothing_pair(enum stage stage)
{
	STEPPED(stage, (void)0, (void)0);
}

static void ours_set_up(void)
{
	bench_need(lh_open(&lh, bench.table, NULL), "lh_open");
	bench_need(lh_key_open(lh, HOT_KEY, 0, &key), "key_open");
}

/* Tokens rise over all keys, and there is no fence file. */
static void global_set_up(void)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;

	opts.flags = LH_TOKENS_GLOBAL;
	snprintf(global, sizeof(global), "%s.global", bench.table);
	bench_need(lh_open(&lh, global, &opts), "lh_open");
	bench_need(lh_key_open(lh, HOT_KEY, 0, &key), "key_open");
}

static void handle_pair(enum stage stage)
{
	struct lh_lease lease;

	STEPPED(stage, bench_need(lh_key_acquire(key, NULL, &lease), "acquire"),
	    bench_need(lh_release(lh, &lease), "release"));
}

static void lock_pair(enum stage stage)
{
	STEPPED(stage, bench_need(lh_key_lock(key, NULL), "lock"),
	    bench_need(lh_key_unlock(key), "unlock"));
}

static void shared_pair(enum stage stage)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;

	opts.mode = LH_SHARED;
	STEPPED(stage, bench_need(lh_key_acquire(key, &opts, &lease),
	    "acquire, shared"),
	    bench_need(lh_release(lh, &lease), "release, shared"));
}

/* Another session reads the key. */
static void beside_set_up(void)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh *other;

	opts.mode = LH_SHARED;
	ours_set_up();
	bench_need(lh_open(&other, bench.table, NULL), "lh_open");
	bench_need(lh_acquire(other, HOT_KEY, &opts, &kept), "acquire");
}

/* The thread holds another lease. */
static void other_set_up(void)
{
	ours_set_up();
	bench_need(lh_acquire(lh, "bench/counted", NULL, &kept), "acquire");
}

static void opts_pair(enum stage stage)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;

	opts.ttl_ms = 10000;
	opts.max_wait_ms = 5000;
	STEPPED(stage, bench_need(lh_key_acquire(key, &opts, &lease),
	    "acquire"),
	    bench_need(lh_release(lh, &lease), "release"));
}

static void name_pair(enum stage stage)
{
	struct lh_lease lease;

	STEPPED(stage, bench_need(lh_acquire(lh, HOT_KEY, NULL, &lease),
	    "acquire"),
	    bench_need(lh_release(lh, &lease), "release"));
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
	STEPPED(stage, bench_need(lh_extend(lh, &kept, 30000), "extend"),
	    bench_need(lh_verify(lh, &kept), "verify"));
}

static void mutex_set_up(void)
{
	mutex = bench_robust_mutex();
}

static void mutex_pair(enum stage stage)
{
	STEPPED(stage, bench_need(pthread_mutex_lock(mutex), "mutex_lock"),
	    bench_need(pthread_mutex_unlock(mutex), "mutex_unlock"));
}

static void rdlock_set_up(void)
{
	rwlock = bench_pshared_rwlock();
}

static void rdlock_pair(enum stage stage)
{
	STEPPED(stage, bench_need(pthread_rwlock_rdlock(rwlock),
	    "rwlock_rdlock"),
	    bench_need(pthread_rwlock_unlock(rwlock), "rwlock_unlock"));
}

static const struct subject nothing = {
	"nothing", "", "", false, nothing_set_up, nothing_pair
};

static const struct subject subjects[] = {
	{ "x_handle", "acquire", "release", true, ours_set_up, handle_pair },
	{ "x_lock", "lock", "unlock", true, ours_set_up, lock_pair },
	{ "x_name", "acquire", "release", true, ours_set_up, name_pair },
	{ "x_global", "acquire", "release", true, global_set_up, handle_pair },
	{ "x_opts", "acquire", "release", true, ours_set_up, opts_pair },
	{ "x_other_held", "acquire", "release", true, other_set_up,
	    handle_pair },
	{ "robust-mutex", "lock", "unlock", false, mutex_set_up, mutex_pair },
	{ "s_sole", "acquire", "release", true, ours_set_up, shared_pair },
	{ "s_beside", "acquire", "release", true, beside_set_up, shared_pair },
	{ "pthr-rwlock", "rdlock", "unlock", false, rdlock_set_up,
	    rdlock_pair },
	{ "extend,verify", "extend", "verify", true, extend_set_up,
	    extend_pair },
};

/* Where the library's instructions are, and the vDSO's clock. */
static uintptr_t own_begin, own_end, vdso_clock;

static int find_library(struct dl_phdr_info *object, size_t size,
    void *function)
{
	uintptr_t at = (uintptr_t)function;

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t begin = object->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) ||
		    at < begin || at >= begin + part->p_memsz)
			continue;
		own_begin = begin;
		own_end = begin + part->p_memsz;
		return 1;
	}
	return 0;
}

static void find_code(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!dl_iterate_phdr(find_library, dlsym(RTLD_DEFAULT, "lh_acquire")))
		bench_die("cannot find the library's code");
	if (vdso)
		vdso_clock = (uintptr_t)dlsym(vdso, "__vdso_clock_gettime");
	if (!vdso_clock)
		bench_die("there is no vDSO here, or it has no clock");
}

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
	bool stepping, inside;
	unsigned int marks;
	struct count count;
	bool clock_read[N_CLOCKS];
	struct timespec now[N_CLOCKS];
} trap;

/* clock_gettime(rdi, rsi): the same time during the whole stretch. */
static void answer_clock(greg_t *regs)
{
	struct timespec *out = (void *)(uintptr_t)regs[REG_RSI];
	unsigned int clock = (unsigned int)regs[REG_RDI];
	const greg_t *stack = (void *)(uintptr_t)regs[REG_RSP];

	if (clock >= N_CLOCKS)
		bench_die("clock %u is read", clock);
	if (!trap.clock_read[clock])
		clock_gettime((clockid_t)clock, &trap.now[clock]);
	trap.clock_read[clock] = true;
	*out = trap.now[clock];
	regs[REG_RAX] = 0;
	regs[REG_RIP] = *stack;
	regs[REG_RSP] += sizeof(*stack);
}

static void count_instruction(greg_t *regs)
{
	bool inside;

	if (regs[REG_RIP] == (greg_t)vdso_clock) {
		trap.count.calls++;
		answer_clock(regs);
		trap.inside = true;
	}
	inside = (uintptr_t)regs[REG_RIP] - own_begin < own_end - own_begin;
	trap.count.calls += trap.inside && !inside;
	trap.count.own += inside;
	trap.inside = inside;
	decode((const unsigned char *)(uintptr_t)regs[REG_RIP], &trap.count);
}

/* The first trap is an int3, and begins a stretch; the second mark ends it. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	(void)info;
	if (!trap.stepping) {
		memset(&trap, 0, sizeof(trap));
		trap.stepping = true;
		trap.clock_read[CLOCK_MONOTONIC_COARSE] = true;
		clock_gettime(CLOCK_MONOTONIC_COARSE,
		    &trap.now[CLOCK_MONOTONIC_COARSE]);
		regs[REG_EFL] |= TRAP_FLAG;
		return;
	}
	if (regs[REG_RIP] == (greg_t)(uintptr_t)mark && ++trap.marks == 2) {
		trap.stepping = false;
		regs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
		return;
	}
	if (trap.marks == 1)
		count_instruction(regs);
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
	unsigned int seen[2] = { 0, 0 };
	unsigned int i, k, stage;

	alarm(PATIENCE_S);
	subject->set_up();
	for (i = 0; i < WARM_UP; i++)
		subject->pair(NONE);
	sigaction(SIGTRAP, &action, NULL);
	for (i = 0; i < 2 * TRIES; i++) {
		stage = i % 2;
		if (seen[stage] >= AGREE)
			continue;
		await_tick();
		for (k = 0; k < WARM_AGAIN; k++)
			subject->pair(NONE);
		subject->pair(stage);
		if (trap.stepping || trap.count.all == 0)
			bench_die("%s: the trap flag does not work here",
			    subject->name);
		if (seen[stage] == 0 || trap.count.all < best[stage].all) {
			best[stage] = trap.count;
			seen[stage] = 0;
		}
		seen[stage] += trap.count.all == best[stage].all;
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

static void print_row(const struct subject *subject, const struct count *call)
{
	if (!bench.tsv) {
		printf("%-15s %5u %6u %8u   %s %u + %s %u\n", subject->name,
		    call[0].all + call[1].all,
		    call[0].locked + call[1].locked,
		    call[0].syscalls + call[1].syscalls, subject->first,
		    call[0].all, subject->second, call[1].all);
		return;
	}
	/* leaving it for the last time is returning, and no call */
	for (unsigned int k = 0; k < 2; k++)
		printf("%s\t%s\t%u\t%u\t%u\t%u\n", subject->name,
		    k == 0 ? subject->first : subject->second, call[k].own,
		    call[k].locked, call[k].calls - 1, call[k].syscalls);
}

static int body(void)
{
	struct count *empty = bench_shared(2 * sizeof(*empty));
	struct count *best = bench_shared(2 * sizeof(*best));
	const struct subject *subject;
	unsigned int i, k;

	find_code();
	count_subject(&nothing, empty);
	if (bench.tsv)
		printf("compiler\t%s\n", COMPILER);
	else
		printf("instructions without the clock's, counted by "
		    "single-stepping:\n%-15s %5s %6s %8s\n", "", "all",
		    "locked", "syscalls");
	for (i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		subject = &subjects[i];
		if (bench.tsv && !subject->ours)
			continue;
		count_subject(subject, best);
		for (k = 0; k < 2; k++)
			best[k].all -= empty[k].all;
		print_row(subject, best);
		fflush(stdout);
	}
	return 0;
}

#else

static int body(void)
{
	bench_die("instructions are counted on x86-64 only");
}

#endif

int main(int argc, char **argv)
{
	bench.tsv = argc == 2 && strcmp(argv[1], "--tsv") == 0;
	if (argc > 1 && !bench.tsv) {
		fputs("usage: count [--tsv]\n", stderr);
		return 64;
	}
	return bench_supervise(body);
}
