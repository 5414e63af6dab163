/* SPDX-License-Identifier: MIT */
/*
 * Survives a table whose file was truncated under its mapping.  proc/map.c maps
 * tables through it; the daemons and the command install its handler.
 *
 * Everybody who may write to a table may also truncate it.  The next access to
 * a missing page raises SIGBUS, which would end the process.  The handler here
 * replaces the whole mapping by private zeros, and the instruction is
 * repeated.  The operation continues and ends with -EUCLEAN, because a header
 * of zeros belongs to no table (lhi_view_sound()).  There is no longjmp, so
 * locks of the process and of libc are released as always.
 *
 * The whole mapping is replaced, not only the page.  Otherwise an operation
 * could see half of the old table and half zeros, and grant something because
 * of that.  Nobody else sees what the process stores in the zeros.
 *
 * The handler must find the mapping without a lock, because a thread that holds
 * a lock may be the one that faults.  Each mapping has a slot with an atomic
 * base and length.  Blocks of slots are never freed.
 *
 *	map	slot.base: 0 -> TAKEN (swap); length; then base	(release)
 *	unmap	base -> 0, then munmap()
 *	handler	reads base, length, and base again
 *
 * A fault in a mapping means that this thread is executing an operation on it,
 * so nobody unmaps it meanwhile (closing an attachment that another thread uses
 * is illegal).  The handler compares base twice, so that it never combines one
 * mapping's base with another's length.
 *
 * If two threads fault at the same time, both map zeros.  The second one erases
 * what the first one has stored there: again zeros.
 *
 * The replacement is a private mapping.  If RLIMIT_DATA forbids one of that
 * size, it is an anonymous shared mapping, which a forked child shares but
 * never touches (it does not own the attachment).  If neither is possible, the
 * signal ends the process as usual.
 *
 * Nothing here is in shared memory, so a crash leaves nothing behind.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "base/error.h"
#include "prim/sigbus.h"

#define BLOCK 64
#define TAKEN 1u		/* no mapping begins at this address */

struct slot {
	_Atomic uintptr_t base;	/* 0: unused */
	_Atomic size_t len;
	atomic_bool struck;
};

struct block {
	struct slot slot[BLOCK];
	struct block *_Atomic next;
};

static struct block first;
static _Atomic uint32_t count;

/* protected by lhi_proc_lock(), which fork respects */
static unsigned catchers;
static struct sigaction before;

/* Returns the slot with that base, or NULL. */
static struct slot *
find_slot(uintptr_t base)
{
	for (struct block *b = &first; b != NULL; b = atomic_load(&b->next)) {
		for (int i = 0; i < BLOCK; i++) {
			if (atomic_load(&b->slot[i].base) == base)
				return &b->slot[i];
		}
	}
	return NULL;
}

/* Returns the slot of the mapping that contains addr, or NULL. */
static struct slot *
find_mapping(uintptr_t addr)
{
	for (struct block *b = &first; b != NULL; b = atomic_load(&b->next)) {
		for (int i = 0; i < BLOCK; i++) {
			struct slot *s = &b->slot[i];
			uintptr_t base = atomic_load(&s->base);
			size_t len = atomic_load(&s->len);

			if (base > TAKEN && addr >= base && addr - base < len &&
			    atomic_load(&s->base) == base)
				return s;
		}
	}
	return NULL;
}

/* Reserves a free slot (base TAKEN).  Returns NULL without memory. */
static struct slot *
take_slot(void)
{
	for (struct block *b = &first;;) {
		struct block *next, *none = NULL;

		for (int i = 0; i < BLOCK; i++) {
			uintptr_t unused = 0;

			if (atomic_compare_exchange_strong(&b->slot[i].base,
			    &unused, TAKEN))
				return &b->slot[i];
		}
		next = atomic_load(&b->next);
		if (next == NULL) {
			next = calloc(1, sizeof(*next));
			if (next == NULL)
				return NULL;
			if (!atomic_compare_exchange_strong(&b->next, &none,
			    next)) {
				free(next);
				next = none;
			}
		}
		b = next;
	}
}

void *
lhi_sigbus_map(size_t len, int flags, int fd)
{
	struct slot *s = take_slot();
	void *base;
	int error;

	if (s == NULL) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	base = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (base == MAP_FAILED) {
		error = errno;
		atomic_store(&s->base, 0);
		errno = error;
		return base;
	}
	atomic_store(&s->struck, false);
	atomic_store(&s->len, len);
	atomic_store(&s->base, (uintptr_t)base);
	return base;
}

void
lhi_sigbus_unmap(void *base, size_t len)
{
	struct slot *s = find_slot((uintptr_t)base);

	if (s != NULL)
		atomic_store(&s->base, 0);
	(void)munmap(base, len);
}

bool
lhi_sigbus_struck(const void *base)
{
	struct slot *s = find_slot((uintptr_t)base);

	return s != NULL && atomic_load(&s->struck);
}

uint32_t
lhi_sigbus_count(void)
{
	return atomic_load(&count);
}

static bool
replace_by_zeros(struct slot *s)
{
	void *base = (void *)atomic_load(&s->base);
	size_t len = atomic_load(&s->len);
	int flags = MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE;

	return mmap(base, len, PROT_READ | PROT_WRITE, flags | MAP_PRIVATE, -1,
	    0) != MAP_FAILED || mmap(base, len, PROT_READ | PROT_WRITE, flags |
	    MAP_SHARED, -1, 0) != MAP_FAILED;
}

bool
lhi_sigbus_handle(int sig, const void *info)
{
	const siginfo_t *si = info;
	int saved = errno;
	struct slot *s;
	bool ours;

	/* the page is missing: beyond the end of the file, or lost by the
	 * machine */
	if (sig != SIGBUS || si == NULL || (si->si_code != BUS_ADRERR &&
	    si->si_code != BUS_MCEERR_AR))
		return false;
	s = find_mapping((uintptr_t)si->si_addr);
	ours = s != NULL && replace_by_zeros(s);
	if (ours && !atomic_exchange(&s->struck, true))
		atomic_fetch_add(&count, 1);
	errno = saved;
	return ours;
}

static void
on_bus_error(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (lhi_sigbus_handle(sig, info))
		return;
	if (info->si_code <= 0 && before.sa_handler == SIG_IGN)
		return;		/* sent by a process, not caused by an access */
	/* as without a handler: the signal is raised again, here or by the
	 * instruction */
	(void)signal(sig, SIG_DFL);
	if (info->si_code <= 0)
		(void)raise(sig);
}

static bool
is_handler(const struct sigaction *a)
{
	return (a->sa_flags & SA_SIGINFO) || (a->sa_handler != SIG_DFL &&
	    a->sa_handler != SIG_IGN);
}

static bool
is_our_handler(const struct sigaction *a)
{
	return (a->sa_flags & SA_SIGINFO) && a->sa_sigaction == on_bus_error;
}

static int
install_handler(void)
{
	struct sigaction ours = { .sa_sigaction = on_bus_error,
	    .sa_flags = SA_SIGINFO | SA_ONSTACK }, now;

	(void)sigemptyset(&ours.sa_mask);
	if (sigaction(SIGBUS, NULL, &now) != 0)
		return -errno;
	if (is_our_handler(&now))
		return 0;
	if (is_handler(&now))
		return lhi_fail(-EBUSY, "this process has its own handler for "
		    "SIGBUS; call lh_sigbus() from it, and open the table "
		    "without LH_CATCH_SIGBUS");
	before = now;
	return sigaction(SIGBUS, &ours, NULL) != 0 ? -errno : 0;
}

int
lhi_sigbus_catch(void)
{
	int error = install_handler();

	if (error == 0)
		catchers++;
	return error;
}

void
lhi_sigbus_release(void)
{
	struct sigaction now;

	if (catchers > 0 && --catchers == 0 && sigaction(SIGBUS, NULL, &now) ==
	    0 && is_our_handler(&now))
		(void)sigaction(SIGBUS, &before, NULL);
}
