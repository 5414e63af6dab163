/* SPDX-License-Identifier: MIT */
/*
 * Entries in robust lists: has the kernel mark a word of shared memory, and
 * wake one sleeper of it, when a thread of this process ends, before the
 * process's memory is torn down.  proc/death_word.c calls it.
 *
 * A robust list is a list in a thread's own memory, which the C library
 * registers with the kernel and in which its robust mutexes are linked while
 * they are held. When the thread ends or executes another program, the kernel
 * walks the list.  For each entry it looks at the 32-bit word at a fixed
 * distance (futex_offset, the same for all entries).  If that names the thread,
 * it becomes ROBUST_ARMED | ROBUST_MARKED, and one sleeper is woken.
 *
 * Layout.  An entry has two pages, one behind the other:
 *
 *	page 0	a page of the table, shared, at whose end the word is
 *	page 1	private: the entry's links, and struct lhi_robust
 *
 * So the distance leads from links that nobody else can write to a word that
 * everybody may.  (A robust mutex in the table would have its links there, and
 * the C library would follow what others have scribbled: guarantee G12.)
 * Nobody but the kernel uses page 0 through this mapping.
 *
 * The C library's layout is not written down here.  Two mutexes are locked once
 * in a process, and the kernel is asked for the list.  It must lead from the
 * second to the first.  Each entry must have a link back in front of it, and
 * the word must name this thread.  Otherwise nothing is armed.
 *
 * Beside the C library's own entries.  It links a mutex in front of the first
 * entry and writes that one's link back.  An entry is linked here only if the
 * list is empty or begins with one of ours, and if no mutex is being locked or
 * unlocked (list_op_pending).  So no memory of the application's is written,
 * and a signal handler that interrupts the C library changes nothing.  Ours
 * come last: if the table's file was cut short, the kernel's walk ends at ours,
 * and the application's mutexes have had their turn.
 *
 * Whether the thread has ended is never read from the word, which others may
 * write.  A second entry with a private word is linked behind each one
 * (OVER_AT), so the kernel marks that one last.
 *
 * An entry is never taken out of the list of a thread that lives, because
 * others may stand before it.  When its table is closed, page 0 becomes a
 * private one. The thread's next table uses that entry.  The idle entries of
 * threads that have ended are unmapped when another entry is made.
 *
 * Crash or stop: the entry is armed when it is linked, the word being set
 * before. Before that, the word names a thread whose end nobody marks.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "prim/robust_list.h"

#define PAGE_LEN 4096
/* in page 1: */
#define LINK_MAX 24		/* the link of the entry, at most */
#define OVER_AT 128		/* the link of the second entry */
#define OWN_AT 192		/* struct lhi_robust */
#define IDLE_LOOKS 16		/* idle entries looked at, at most */

struct lhi_robust {
	char *pages;
	uintptr_t link;
	pid_t tid;
	bool idle;
	struct lhi_robust *older; /* entry of the same thread */
	struct lhi_robust *next;  /* idle entry, of any thread */
};

static struct lhi_robust *idle;		/* under lhi_proc_lock() */
static enum { UNKNOWN, USABLE, UNUSABLE } layout;
static long futex_offset;		/* if USABLE */

static __thread struct {
	struct lhi_robust *last;	/* the entry linked last */
	uint32_t forks;			/* an entry of an earlier process is no
					 * longer in this thread's list */
} mine __attribute__((tls_model("initial-exec")));

static pid_t
own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static struct robust_list_head *
list_head(void)
{
	struct robust_list_head *h = NULL;
	size_t len = 0;

	if (syscall(SYS_get_robust_list, 0, &h, &len) != 0 ||
	    len != sizeof(*h))
		return NULL;
	return h;
}

static bool
make_mutex(pthread_mutex_t *m)
{
	pthread_mutexattr_t attr;
	bool made;

	if (pthread_mutexattr_init(&attr) != 0)
		return false;
	made = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0 &&
	    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0 &&
	    pthread_mutex_init(m, &attr) == 0;
	(void)pthread_mutexattr_destroy(&attr);
	return made;
}

/* True if the list of h begins with the two mutexes of m, the second first, as
 * entries of the form that is described above. */
static bool
is_list_of(const struct robust_list_head *h, const pthread_mutex_t m[2])
{
	const uintptr_t first = (uintptr_t)h->list.next;
	const long link = (long)(first - (uintptr_t)&m[1]);
	const long word = link + h->futex_offset;
	uintptr_t next, back;
	uint32_t seen;

	if (link < 8 || link > (long)sizeof(m[1]) - 8 || word < 0 ||
	    word + 4 > link - 8)
		return false;
	memcpy(&next, (const char *)&m[1] + link, sizeof(next));
	memcpy(&back, (const char *)&m[0] + link - 8, sizeof(back));
	memcpy(&seen, (const char *)&m[1] + word, sizeof(seen));
	return next == (uintptr_t)&m[0] + (uintptr_t)link && back == first &&
	    (seen & ROBUST_THREAD) == (uint32_t)own_tid();
}

/* Learns the layout of the C library's mutexes, once. */
static void
probe_layout(void)
{
	struct robust_list_head *h;
	pthread_mutex_t m[2];
	int n = 0;

	layout = UNUSABLE;
	if (sizeof(void *) != 8 || sysconf(_SC_PAGESIZE) != PAGE_LEN)
		return;
	memset(m, 0, sizeof(m));
	while (n < 2 && make_mutex(&m[n])) {
		if (pthread_mutex_trylock(&m[n]) != 0) {
			(void)pthread_mutex_destroy(&m[n]);
			break;
		}
		n++;
	}
	/* (it may have been registered by the first lock) */
	h = n == 2 ? list_head() : NULL;
	if (h != NULL && is_list_of(h, m)) {
		futex_offset = h->futex_offset;
		layout = USABLE;
	}
	while (n > 0) {
		(void)pthread_mutex_unlock(&m[--n]);
		(void)pthread_mutex_destroy(&m[n]);
	}
}

/* Returns where in page 1 the link is, so that the word is in its place at the
 * end of page 0; 0: no place will do. */
static long
link_at(void)
{
	long at = ROBUST_WORD_AT - PAGE_LEN - futex_offset;

	return at >= 8 && at <= LINK_MAX && at % 8 == 0 ? at : 0;
}

/* Returns the word of the second entry. */
static uint32_t *
over_word(const struct lhi_robust *r)
{
	return (uint32_t *)(void *)(r->pages + PAGE_LEN + OVER_AT +
	    futex_offset);
}

/* True if its thread has ended.  The kernel has read both links by then, and
 * uses neither word again. */
static bool
has_thread_ended(const struct lhi_robust *r)
{
	return __atomic_load_n(over_word(r), __ATOMIC_ACQUIRE) & ROBUST_MARKED;
}

/* Unmaps idle entries whose threads have ended. */
static void
sweep_idle(void)
{
	struct lhi_robust **p = &idle, *r;

	for (int i = 0; i < IDLE_LOOKS && (r = *p) != NULL; i++) {
		if (!has_thread_ended(r)) {
			p = &r->next;
			continue;
		}
		*p = r->next;
		(void)munmap(r->pages, (size_t)2 * PAGE_LEN);
	}
}

static void
leave_idle(const struct lhi_robust *r)
{
	struct lhi_robust **p = &idle;

	while (*p != NULL && *p != r)	/* ends: a list of our own */
		p = &(*p)->next;
	if (*p != NULL)
		*p = r->next;
}

/* Maps page 0 of the entry: the file's, or a private one. */
static bool
map_word(const struct lhi_robust *r, int fd, off_t page)
{
	return mmap(r->pages, PAGE_LEN, PROT_READ | PROT_WRITE, MAP_FIXED |
	    (fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS), fd, page) !=
	    MAP_FAILED;
}

/* Makes a new entry, not linked yet. */
static struct lhi_robust *
make_entry(void)
{
	char *pages = mmap(NULL, (size_t)2 * PAGE_LEN, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct lhi_robust *r;

	if (pages == MAP_FAILED)
		return NULL;
	r = (struct lhi_robust *)(void *)(pages + PAGE_LEN + OWN_AT);
	r->pages = pages;
	r->link = (uintptr_t)pages + PAGE_LEN + (uintptr_t)link_at();
	r->tid = own_tid();
	return r;
}

/* Links the entry in front of the list.  The kernel may walk that after any
 * instruction, and nobody else does, so compiler barriers are enough. */
static void
link_entry(struct robust_list_head *h, struct lhi_robust *r)
{
	uintptr_t first = (uintptr_t)h->list.next;
	uintptr_t over = (uintptr_t)r->pages + PAGE_LEN + OVER_AT;

	*over_word(r) = (uint32_t)r->tid;	/* and nobody sleeps on it */
	((uintptr_t *)r->link)[-1] = (uintptr_t)&h->list;
	((uintptr_t *)r->link)[0] = over;
	((uintptr_t *)over)[-1] = r->link;
	((uintptr_t *)over)[0] = first;
	if (mine.last != NULL)
		((uintptr_t *)first)[-1] = over;
	__asm__ volatile("" ::: "memory");
	h->list.next = (struct robust_list *)r->link;
	r->older = mine.last;
	mine.last = r;
}

/* Returns an idle entry of this thread, which is linked already, or NULL. */
static struct lhi_robust *
find_own_idle(void)
{
	struct lhi_robust *r = mine.last;

	while (r != NULL && !r->idle)	/* ends: a list of our own */
		r = r->older;
	return r;
}

/* True if the list can take an entry now. */
static bool
can_link(const struct robust_list_head *h)
{
	uintptr_t first = (uintptr_t)h->list.next;

	return h->list_op_pending == NULL && h->futex_offset == futex_offset &&
	    first == (mine.last == NULL ? (uintptr_t)&h->list :
	    mine.last->link);
}

static struct lhi_robust *
arm_entry(int fd, off_t page, shm_u32 *word)
{
	struct robust_list_head *h = list_head();
	struct lhi_robust *r;

	if (h != NULL && h->list_op_pending != NULL)
		return NULL;	/* in a signal handler, perhaps */
	if (layout == UNKNOWN)
		probe_layout();
	sweep_idle();
	if (layout != USABLE || link_at() == 0)
		return NULL;
	r = find_own_idle();
	if (r != NULL) {
		if (!map_word(r, fd, page))
			return NULL;
		leave_idle(r);
		r->idle = false;
		sh32_store(word, ROBUST_ARMED | (uint32_t)r->tid);
		return r;
	}
	h = list_head();
	if (h == NULL || !can_link(h))
		return NULL;
	r = make_entry();
	if (r == NULL)
		return NULL;
	if (!map_word(r, fd, page)) {
		(void)munmap(r->pages, (size_t)2 * PAGE_LEN);
		return NULL;
	}
	sh32_store(word, ROBUST_ARMED | (uint32_t)r->tid);
	lhi_point("robust.set");
	link_entry(h, r);
	return r;
}

struct lhi_robust *
lhi_robust_arm(int fd, off_t page, shm_u32 *word, uint32_t forks)
{
	struct lhi_robust *r;
	int saved = errno;

	if (mine.forks != forks) {
		mine.last = NULL;
		mine.forks = forks;
	}
	r = fd < 0 || page % PAGE_LEN != 0 ? NULL : arm_entry(fd, page, word);
	errno = saved;
	return r;
}

bool
lhi_robust_rearm(const struct lhi_robust *r, shm_u32 *word)
{
	if (has_thread_ended(r))
		return false;
	sh32_store(word, ROBUST_ARMED | (uint32_t)r->tid);
	return true;
}

void
lhi_robust_disarm(struct lhi_robust *r)
{
	int saved = errno;

	if (has_thread_ended(r)) {
		(void)munmap(r->pages, (size_t)2 * PAGE_LEN);
	} else if (map_word(r, -1, 0)) {
		r->idle = true;
		r->next = idle;
		idle = r;
	}
	errno = saved;
}

void
lhi_robust_child(void)
{
	idle = NULL;
}
