/* SPDX-License-Identifier: MIT */
/*
 * Handles fork.  It answers the question: does the content of this memory
 * belong to this process or its parent?  It also keeps a child from finding a
 * lock held by a thread that does not exist in the child.  Every lock of the
 * library is taken through this file.
 *
 * A child owns nothing of its parent's.  It forgets all of it in enter(), once,
 * before anything else of the library runs in it: mutexes are initialised,
 * lists are emptied, and the count of forks rises.  The word `entered` shows
 * whether that was done.  It is in a page that the kernel clears in a child
 * (base/process.c).  So it does not matter how the child was made: by fork(),
 * with or without our handlers, by _Fork() or clone(), or by the fork() of
 * another C library (a copy of ours that dlmopen() loaded).
 *
 *	entered		0 -> ENTERING -> PROCESS_ENTERED
 *			in a child: 0 again, whatever its parent's was
 *
 * lhi_forks() checks all of that, and each lock calls it first.
 *
 * Handlers.  fork()'s own handlers take all locks before the fork.  A child
 * works without that.  But they keep a child from being made while another
 * thread is inside lh_open(), where the child would inherit a descriptor that
 * keeps the new session alive.  They also let the child keep the lists as they
 * are (`whole`).
 *
 *	prepare		takes the parts' locks, then proc, then cancel
 *	parent		releases them
 *	child		enter()
 *
 * Each handler deals with one library's locks only, so any number of copies may
 * be in a process.  A thread that holds one of these locks calls nothing that
 * may wait for a fork, and no callback.  The handlers are registered when the
 * library is loaded, before those of an application.  So the application's
 * handlers may call the library:
 *
 *	prepare		the application's runs before ours
 *	parent, child	the application's run after ours
 *
 * (If the library was loaded late, the order is different.  Then the
 * application's handlers find that their thread is forking and has the locks
 * already.)
 *
 * Nesting.  A handler of the application may fork.  A signal handler may fork
 * inside a call of the library that holds a lock.  `forking` counts the
 * former.  The latter sees `inside` and takes no lock, because it would wait
 * for itself; its child must not return into the call, whose memory is gone.
 *
 * vfork() and posix_spawn() share the parent's memory, which is not cleared.
 * Such a child runs nothing of the library before exec.
 *
 * Nothing here is in shared memory, so a crash leaves nothing behind.
 */
#include <sched.h>
#include "proc/fork.h"

#define PARTS_MAX 8
#define ENTERING 1u

static struct lhi_lock proc = LHI_LOCK_INIT, cancel = LHI_LOCK_INIT;
static const struct lhi_fork_part *parts[PARTS_MAX];
static _Atomic uint32_t n_parts;	/* written under proc */

_Atomic uint32_t lhi_fork_count;

static uint32_t n_held;			/* parts whose locks are held; under
					 * proc, during a fork */

static __thread struct {
	uint16_t inside;	/* locks that this thread has, or waits for */
	uint16_t forking;	/* nested forks whose handlers have begun */
	bool has_all;		/* prepare has taken all locks */
	uint8_t cancel_state;	/* cancel state before that */
} self __attribute__((tls_model("initial-exec")));

/* Frees a lock in a child.  ours: prepare has taken it, so this thread unlocks
 * it.  Otherwise a thread that does not exist here may hold it, so it is
 * initialised. */
static void
free_in_child(struct lhi_lock *l, bool ours)
{
	if (ours)
		(void)pthread_mutex_unlock(&l->mutex);
	else
		(void)pthread_mutex_init(&l->mutex, NULL);
}

/* Forgets the parent's state.  The first thread in the child does it; others
 * wait for that thread. */
static void
enter(bool whole)
{
	struct lhi_process *p = atomic_load(&lhi_process);
	uint32_t fresh = 0;

	if (!atomic_compare_exchange_strong(&p->entered, &fresh, ENTERING)) {
		while (atomic_load(&p->entered) != PROCESS_ENTERED)
			(void)sched_yield();
		return;
	}
	free_in_child(&cancel, whole);
	free_in_child(&proc, whole);
	for (uint32_t i = 0; i < atomic_load(&n_parts); i++) {
		if (parts[i]->lock != NULL)
			free_in_child(parts[i]->lock, whole && i < n_held);
		parts[i]->child(whole);
	}
	atomic_fetch_add(&lhi_fork_count, 1);
	atomic_store(&p->entered, PROCESS_ENTERED);
}

void
lhi_fork_enter(void)
{
	bool whole = self.has_all;
	int state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (whole) {
		state = self.cancel_state;
		self.inside = 0;
	}
	self.has_all = false;
	self.forking = 0;
	enter(whole);
	(void)pthread_setcancelstate(state, NULL);
}

void
lhi_lock_take(struct lhi_lock *l)
{
	int state;

	(void)lhi_forks();
	if (self.forking > 0)
		return;
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	self.inside++;
	(void)pthread_mutex_lock(&l->mutex);
	l->cancel_state = state;
}

void
lhi_lock_give(struct lhi_lock *l)
{
	int state = l->cancel_state;

	if (self.forking > 0)
		return;
	(void)pthread_mutex_unlock(&l->mutex);
	self.inside--;
	(void)pthread_setcancelstate(state, NULL);
}

void
lhi_lock_await(struct lhi_lock *l, pthread_cond_t *cond)
{
	int state = l->cancel_state;

	(void)pthread_cond_wait(cond, &l->mutex);
	l->cancel_state = state;
}

void lhi_proc_lock(void) { lhi_lock_take(&proc); }
void lhi_proc_unlock(void) { lhi_lock_give(&proc); }
void lhi_cancel_lock(void) { lhi_lock_take(&cancel); }
void lhi_cancel_unlock(void) { lhi_lock_give(&cancel); }

void
lhi_fork_join(const struct lhi_fork_part *part)
{
	uint32_t n, i;

	lhi_proc_lock();
	n = atomic_load(&n_parts);
	for (i = 0; i < n && parts[i] != part; i++)
		;
	if (i == n && n < PARTS_MAX) {
		parts[n] = part;
		atomic_store(&n_parts, n + 1);
	}
	lhi_proc_unlock();
}

static void
before_fork(void)
{
	uint32_t n = atomic_load(&n_parts);
	int state;

	(void)lhi_forks();
	if (self.forking > 0 || self.inside > 0) {
		self.forking++;
		return;
	}
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	self.cancel_state = (uint8_t)state;
	for (uint32_t i = n; i-- > 0;) {
		if (parts[i]->lock != NULL)
			lhi_lock_take(parts[i]->lock);
	}
	lhi_proc_lock();
	lhi_cancel_lock();
	n_held = n;
	self.has_all = true;
	self.forking = 1;
}

static void
after_fork_parent(void)
{
	uint32_t n = n_held;

	if (self.forking == 0 || --self.forking > 0 || !self.has_all)
		return;
	self.has_all = false;
	lhi_cancel_unlock();
	lhi_proc_unlock();
	for (uint32_t i = 0; i < n; i++) {
		if (parts[i]->lock != NULL)
			lhi_lock_give(parts[i]->lock);
	}
	(void)pthread_setcancelstate(self.cancel_state, NULL);
}

/* An earlier handler of the application may have called lhi_fork_enter()
 * already. */
static void
after_fork_child(void)
{
	/* the kernel does not clear this one */
	if (atomic_load(&lhi_process) == &lhi_process_none)
		atomic_store(&lhi_process_none.entered, 0);
	lhi_fork_enter();
}

__attribute__((constructor)) static void
register_handlers(void)
{
	(void)lhi_process_begin();
	(void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}
