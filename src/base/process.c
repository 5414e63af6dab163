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
#define NUMBERS_MAX 512		/* bytes of one line of numbers: 32 of them */
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

/* True if the text, from that line of a `status` on, has one number alone, and
 * that is ours. */
static bool
is_our_number(const char *line)
{
	char *end;

	return strtol(line, &end, 10) == getpid() && *end == '\n';
}

/*
 * Reads /proc/self/status.  It says which number we have in the pid namespace
 * that /proc shows, and in each that is nested in it, down to our own.  If it
 * is one number, /proc shows our own.  (That "self" is our number says less:
 * two namespaces can give the same one.)
 */
static bool
has_one_number(int status)
{
	static const char name[] = "\nNSpid:\t";
	char text[4096], *line;
	size_t kept = 0;
	ssize_t n;

	/* ends: at the end of the file; the list of groups may be long */
	while ((n = read(status, text + kept, sizeof(text) - 1 - kept)) > 0) {
		kept += (size_t)n;
		text[kept] = '\0';
		line = strstr(text, name);
		if (line != NULL && strchr(line + 1, '\n') != NULL)
			return is_our_number(line + sizeof(name) - 1);
		if (kept > NUMBERS_MAX) {
			memmove(text, text + kept - NUMBERS_MAX, NUMBERS_MAX);
			kept = NUMBERS_MAX;
		}
	}
	return false;
}

/* Returns the device of the /proc that shows the pids of our pid namespace, if
 * that is what is mounted; or 0. */
static uint64_t
read_proc_device(void)
{
	int status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	uint64_t device = 0;
	struct stat st;

	if (status < 0)
		return 0;
	if (fstat(status, &st) == 0 && has_one_number(status))
		device = st.st_dev;
	(void)close(status);
	return device;
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
		atomic_store(&p->proc_device, read_proc_device());
		atomic_store(&p->pid, getpid());
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

/* (A child that shares our memory, by CLONE_VM, may be in another one.  It is
 * process 1 of that, and we may be process 1 of ours.) */
uint64_t
lhi_process_pid_ns(void)
{
	struct lhi_process *p = know_process();
	uint64_t ns = atomic_load(&p->pid_ns);
	pid_t pid = getpid();
	int saved = errno;

	if (pid != atomic_load(&p->pid) || (pid == 1 &&
	    inode_of("/proc/thread-self/ns/pid") != ns))
		ns = 0;
	errno = saved;
	return ns;
}

uint64_t
lhi_process_start_ticks(void)
{
	return atomic_load(&know_process()->start_ticks);
}

bool
lhi_process_counts_alike(void)
{
	uint64_t device = atomic_load(&know_process()->proc_device);
	int saved = errno;
	struct stat st;
	bool alike = device != 0 && stat("/proc", &st) == 0 &&
	    st.st_dev == device;

	errno = saved;
	return alike;
}

bool
lhi_process_is_shown_by(int fd)
{
	int saved = errno;
	struct stat st;
	/* fd is open, so no other /proc has its device's number */
	bool shown = fstat(fd, &st) == 0 && st.st_dev == read_proc_device();

	errno = saved;
	return shown;
}
