/* SPDX-License-Identifier: MIT */
/*
 * leasehold-preload: what its files have in common.
 *
 * From the bottom:
 *
 *	real.c		the C library's own functions
 *	key_table.c	the table
 *	held_locks.c	remembers the keys that are held
 *	signal_mask.c	looks at signals during a wait
 *	lock_request.c	describes one lock
 *	key_wait.c	waits for a key
 *	locking.c	locks and unlocks
 *	interpose.c	the functions that programs call
 */
#ifndef PRELOAD_H
#define PRELOAD_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <leasehold.h>

/* --- real.c --------------------------------------------------------------- */

struct real {
	int (*flock)(int fd, int operation);
	int (*lockf)(int fd, int cmd, off_t len);
	int (*fcntl)(int fd, int cmd, ...);
	int (*close)(int fd);
	int (*dup2)(int from, int to);
	int (*dup3)(int from, int to, int flags);
	int (*fclose)(FILE *f);
	int (*close_range)(unsigned int first, unsigned int last, int flags);
	void (*closefrom)(int first);
};

/* Returns the C library's functions. */
const struct real *real(void);

/* --- key_table.c ---------------------------------------------------------- */

/* Text of a lease that says that a lock of the kernel is beside it. */
#define KERNEL_LOCK_INFO "kernel lock: "

/* Returns the table; NULL: there is none for the moment, or the caller is a
 * program of leasehold, a signal handler that interrupted us, or a child that
 * shares its parent's memory. */
struct lh *key_table(void);

/* Ends the use of a table that gave this error, if it was removed; says so on
 * standard error if the user wants to know. */
void key_table_failed(struct lh *lh, int error);

/* Marks the calls of the library, which locks and closes files of its own. */
void key_table_enter(void);
void key_table_leave(void);
bool key_table_is_inside(void);

/* True if the code at that address is libleasehold.so's. */
bool key_table_is_library(const void *code);

/* True if this process is the one that the records are of. */
bool key_table_is_ours(void);

/* --- lock_request.c ------------------------------------------------------- */

enum lock_kind {
	LOCK_FLOCK,		/* of the open file; the whole of it */
	LOCK_POSIX,		/* of the process; a range */
	LOCK_OFD		/* of the open file; a range */
};

#define KEY_SIZE 96

struct lock_request {
	enum lock_kind kind;
	int fd;
	bool unlock, shared, wait;
	int operation;		/* flock's, without LOCK_NB */
	const struct flock *range;	/* as the program gave it */
	dev_t dev;
	ino_t ino;
	off_t start, end;	/* end: the first byte behind it; 0: no end */
	char key[KEY_SIZE];
	char info[LH_INFO_MAX + 1];
};

/* Describe a call of flock() or fcntl().  False: it is none that has a key. */
bool lock_request_of_flock(struct lock_request *r, int fd, int operation);
bool lock_request_of_fcntl(struct lock_request *r, int fd, int cmd,
    const struct flock *range);

/* Asks the kernel for it, waiting or not.  Returns 0; -1 with errno. */
int lock_request_kernel(const struct lock_request *r, bool wait);

/* True if the kernel would refuse this lock on a descriptor so opened. */
bool lock_request_is_refused(const struct lock_request *r);

/* --- held_locks.c --------------------------------------------------------- */

/* A key that is held, for a lock of the kernel's. */
struct held_lock {
	struct held_lock *next;
	enum lock_kind kind;
	int fd;
	bool shared;
	dev_t dev;
	ino_t ino;
	off_t start, end;
	struct lh *lh;
	struct lh_lease lease;
};

/* Removes from the records: the one of this very lock; those that an unlock
 * touches; those that end when descriptors first to last are closed, of which a
 * single one is on the file *st.  Returns a list, or NULL. */
struct held_lock *held_locks_take(const struct lock_request *r);
struct held_lock *held_locks_take_unlocked(const struct lock_request *r);
struct held_lock *held_locks_take_closed(int first, int last,
    const struct stat *st);

/* Returns true, and its mode, if this very lock has a key. */
bool held_locks_has(const struct lock_request *r, bool *shared);

/* True if any is recorded. */
bool held_locks_any(void);

/* Records the key of a lock.  False: there is no room. */
bool held_locks_add(const struct lock_request *r, struct lh *lh,
    const struct lh_lease *lease);

/* Puts a record back; releases the keys of a list. */
void held_locks_put_back(struct held_lock *h);
void held_locks_release(struct held_lock *list);

/* Around a fork. */
void held_locks_fork_begin(void);
void held_locks_fork_end(bool child);

/* --- signal_mask.c -------------------------------------------------------- */

enum signal_news { SIGNALS_NONE, SIGNALS_RESTART, SIGNALS_INTERRUPT };

/* Makes signals wait, except those that an instruction causes. */
void signal_mask_begin(sigset_t *usual);
void signal_mask_end(const sigset_t *usual);

/* Returns what the signals that wait would do to a call of the kernel's. */
enum signal_news signal_mask_look(const sigset_t *usual);

/* --- key_wait.c ----------------------------------------------------------- */

/* Acquires the key without waiting.  Returns as lh_acquire(). */
int key_wait_try(const struct lock_request *r, struct lh *lh,
    struct lh_lease *lease);

/* True if the key is held by somebody who has no lock of the kernel's, so that
 * the kernel does not know. */
bool key_wait_is_held_alone(const struct lock_request *r, struct lh *lh);

/* How a wait for a key ended. */
enum wait_end {
	WAIT_GRANTED,		/* the key is held; the kernel was not asked */
	WAIT_FAILED,		/* errno */
	WAIT_KERNEL		/* the wait is to go on in the kernel */
};

enum wait_end key_wait(const struct lock_request *r, struct lh *lh,
    struct lh_lease *lease);

/* --- locking.c ------------------------------------------------------------ */

/* Locks or unlocks.  Returns 0; -1 with errno. */
int locking_do(const struct lock_request *r, struct lh *lh);

#endif
