/* SPDX-License-Identifier: MIT */
/*
 * Fork: answers "is what stands in this memory mine or my parent's?", and
 * keeps a child from finding a lock held by a thread that it does not have.
 *
 * A child owns nothing of its parent's.  It forgets all of it in enter(), once,
 * before anything else of the library runs in it: mutexes are made anew, lists
 * are emptied, the number of forks rises.  The word `entered` says whether that
 * is done.  It stands in a page that the kernel zeroes in a child
 * (base/process.c), so it does not matter how the child was made: by fork(),
 * with or without our handlers, by _Fork() or clone(), or by the fork() of
 * another C library, as in a copy of ours that dlmopen() loaded.
 *
 *	entered		0 -> ENTERING -> PROCESS_ENTERED
 *			in a child: 0 again, wherever its parent was
 *
 * All of that is looked at by lhi_forks(), which each lock calls first.
 *
 * Handlers.  fork()'s own handlers take all locks before the fork.  They are
 * not needed for the child to work.  They keep a child from being made while a
 * thread is in the midst of lh_open(), where it would inherit a descriptor that
 * holds the new session's life, and they let the child go on with the lists as
 * they are (`whole`).
 *
 *	prepare		takes the parts' locks, then proc, then cancel
 *	parent		gives them back
 *	child		enter()
 *
 * Each handler looks after one library's locks alone, so any number of copies
 * may be in a process.  No thread that holds one of these locks calls what may
 * wait for a fork, and none of them calls a callback.  They are registered when
 * the library is loaded, before an application's own handlers: so those may
 * call the library.
 *
 *	prepare		of the application may use it: ours comes after that
 *	parent, child	may use it: ours has come before
 *
 * (Where the order is another one, because the library was loaded late, they
 * find that their thread forks, and that it has the locks already.)
 *
 * Depths.  A handler of the application may fork, and a signal handler may,
 * inside a call of the library that holds a lock.  `forking` counts the former;
 * the latter sees `inside`, and takes no lock: it would wait for itself.  Its
 * child must not return into the call, whose memory is gone.
 *
 * vfork() and posix_spawn() share the parent's memory, and it is not zeroed:
 * such a child runs nothing of ours before exec.
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

static uint32_t n_held;			/* of parts; under proc, over a fork */

static __thread struct {
	uint16_t inside;	/* locks that this thread has, or waits for */
	uint16_t forking;	/* handlers of fork() that it is between */
	bool has_all;		/* prepare has taken all locks */
	uint8_t cancel_state;	/* before that */
} self __attribute__((tls_model("initial-exec")));

/* One that prepare took is this thread's to unlock.  Another one may be held by
 * a thread that is not here. */
static void
free_in_child(struct lhi_lock *l, bool ours)
{
	if (ours)
		(void)pthread_mutex_unlock(&l->mutex);
	else
		(void)pthread_mutex_init(&l->mutex, NULL);
}

/* The first thread in a child does it; if there are others by then, they wait
 * for it. */
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

/* (An earlier handler of the application may have entered already.) */
static void
after_fork_child(void)
{
	/* what is not zeroed by the kernel is by us */
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
