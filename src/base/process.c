/* SPDX-License-Identifier: MIT */
/*
 * Reads the identity of this process: its time and pid namespace, and when it
 * started.  src/proc and src/shm use it to compare processes.
 *
 * All of this comes from /proc, which may be missing or mounted for another pid
 * namespace.  A value that cannot be read is unknown: 0.  Unknown equals
 * nothing, not even unknown (issue 21, A9), because a process without /proc
 * cannot say that its clock is the table's.  So lh_open() needs /proc.  An
 * attached process that loses /proc keeps what it read last.
 *
 * The inode of a time namespace that has ended is given to another one.  So the
 * offsets of the clocks are part of its number: with the same inode and
 * offsets, the clocks are the same.  The first namespace's inode is constant.
 *
 * A kernel without time namespaces has /proc/thread-self/ns but no `time` in
 * it.  Then all processes share one clock, which has a number of its own.  (The
 * thread's directory is read because that of a process whose first thread has
 * ended has no `time` either.)
 *
 * The values are in a page that the kernel clears in a forked child, so the
 * child reads them anew.  Two threads that read at the same time store the same
 * values.  Only time_ns can differ, if a third thread changes the namespace
 * meanwhile; then it is either the old or the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/procstat.h"

#define PAGE_LEN 4096
#define FIRST_TIME_NS 0xeffffffau	/* the kernel's PROC_TIME_INIT_INO */
#define ONLY_TIME_NS 1		/* no inode of a namespace: those are larger */

struct lhi_process lhi_process_none = { .entered = PROCESS_ENTERED };
struct lhi_process *_Atomic lhi_process = &lhi_process_none;

int
lhi_process_begin(void)
{
	struct lhi_process *none = &lhi_process_none, *p;

	if (atomic_load(&lhi_process) != none)
		return 0;
	p = mmap(NULL, PAGE_LEN, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return lhi_fail(-ENOMEM, "no memory for a page");
	if (madvise(p, PAGE_LEN, MADV_WIPEONFORK) != 0) {
		(void)munmap(p, PAGE_LEN);
		return lhi_fail(-ENOMEM, "the kernel cannot clear a page in a "
		    "forked child (MADV_WIPEONFORK); Linux 4.14 or later is "
		    "needed");
	}
	atomic_store(&p->entered, PROCESS_ENTERED);
	if (!atomic_compare_exchange_strong(&lhi_process, &none, p))
		(void)munmap(p, PAGE_LEN);	/* another thread was faster */
	return 0;
}

static uint64_t
inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Returns a number for the offsets of our clocks, whose namespace has that
 * inode; 0: unknown.  (The file says those of our children.) */
static uint32_t
read_offsets(uint64_t ino)
{
	char text[256];
	ssize_t n = -1;
	int fd;

	if (inode_of("/proc/thread-self/ns/time_for_children") != ino)
		return 0;
	fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text));
		(void)close(fd);
	}
	return n > 0 ? (uint32_t)lhi_hash(text, (size_t)n) | 1 : 0;
}

/* Reads the number of our time namespace: its inode, and its offsets above
 * that; 0: unknown.  Returns false if /proc does not say which it is. */
static bool
read_time_ns(uint64_t *ns)
{
	uint64_t ino = inode_of("/proc/thread-self/ns/time"), known;
	uint32_t offsets;

	*ns = ino;
	if (ino == 0 && errno == ENOENT &&
	    inode_of("/proc/thread-self/ns/pid") != 0)
		*ns = ONLY_TIME_NS;
	if (ino == 0 || ino == FIRST_TIME_NS)
		return *ns != 0;
	offsets = read_offsets(ino);
	known = atomic_load(&atomic_load(&lhi_process)->time_ns);
	*ns = offsets != 0 ? (uint64_t)offsets << 32 | (uint32_t)ino :
	    (uint32_t)known == (uint32_t)ino ? known : 0;
	return true;
}

/* True if /proc is that of our own pid namespace. */
static bool
is_proc_ours(void)
{
	char self[24];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n <= 0)
		return false;
	self[n] = '\0';
	return strtol(self, NULL, 10) == getpid();
}

/* Returns our start time, which never changes, or 0 with errno. */
static uint64_t
read_start_ticks(const struct lhi_process *p)
{
	struct lhi_procstat ps;

	errno = 0;
	return atomic_load(&p->known) ? atomic_load(&p->start_ticks) :
	    lhi_procstat_self(&ps) ? ps.start_ticks : 0;
}

int
lhi_process_read(void)
{
	struct lhi_process *p = atomic_load(&lhi_process);
	int saved = errno, why;
	uint64_t time_ns;
	bool read = read_time_ns(&time_ns);
	uint64_t pid_ns = inode_of("/proc/thread-self/ns/pid");
	uint64_t start = read_start_ticks(p);

	why = errno;
	errno = saved;
	if (start == 0 && (why == EMFILE || why == ENFILE))
		return lhi_fail(-why, "cannot open /proc/self/stat: %s",
		    strerror(why));
	if (!read || time_ns == 0 || pid_ns == 0 || start == 0)
		return lhi_fail(-EXDEV, "cannot read the namespaces and start "
		    "time of this process from /proc/self; mount /proc");
	/* lhi_process_none would be inherited by a child */
	if (p != &lhi_process_none) {
		atomic_store(&p->time_ns, time_ns);
		atomic_store(&p->pid_ns, pid_ns);
		atomic_store(&p->start_ticks, start);
		atomic_store(&p->counts_alike, is_proc_ours());
		atomic_store(&p->known, 1);
	}
	errno = saved;
	return 0;
}

/* Returns the identity, read now if it was never read; zeros if it cannot
 * be. */
static struct lhi_process *
know_process(void)
{
	struct lhi_process *p;

	(void)lhi_process_begin();
	p = atomic_load(&lhi_process);
	if (atomic_load(&p->known) == 0)
		(void)lhi_process_read();
	return p;
}

uint64_t
lhi_process_time_ns(void)
{
	int saved = errno;
	uint64_t now;
	bool read = read_time_ns(&now);

	errno = saved;
	return read ? now : atomic_load(&know_process()->time_ns);
}

uint64_t
lhi_process_pid_ns(void)
{
	return atomic_load(&know_process()->pid_ns);
}

uint64_t
lhi_process_start_ticks(void)
{
	return atomic_load(&know_process()->start_ticks);
}

bool
lhi_process_counts_alike(void)
{
	return atomic_load(&know_process()->counts_alike);
}
