/* SPDX-License-Identifier: MIT */
/*
 * The table and its attachments.
 *
 * A table is a file on tmpfs that processes map.  Its name is 1..64 characters
 * of [A-Za-z0-9._-], not beginning with a dot.  The file is
 * /dev/shm/leasehold.<euid>/<name>.table, in a directory that only the user can
 * write to; or, with LH_SYSTEM, /dev/shm/leasehold.system/<name>.table in a
 * directory of root's.  The first process that opens it creates it (with
 * LH_SYSTEM: root). It appears whole or not at all, so a creator that is killed
 * or stopped delays no other process.  A table stays until it is removed
 * (lh_table_remove()).
 *
 * struct lh is one attachment: one session, whose end (lh_close(), exit, exec,
 * death by any signal) ends its leases.  A process normally needs one; several
 * work, share one mapping, and conflict with each other.
 *
 * Legal: use by any number of threads.  Illegal: lh_close() while another
 * thread is inside a call on the attachment (a waiting thread is noticed,
 * -EBUSY); use after lh_close() (-EINVAL: error.h); use in a forked child
 * (-EPERM).
 */
#ifndef LEASEHOLD_TABLE_H
#define LEASEHOLD_TABLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct lh;

/* Flags of lh_open(). */
#define LH_SYSTEM	0x1u	/* the machine's table of that name, not the
				 * user's */
#define LH_NO_CREATE	0x2u	/* the table (lh_acquire: the key) must exist */
#define LH_LIVENESS_FD	0x4u	/* lh_liveness_fd() will be called */
#define LH_CREATE_ONLY	0x8u	/* the table must not exist */

#define LH_DURABLE	0x20u	/* a new table gets a fence file */
#define LH_NO_CLOCK_FLOOR 0x40u	/* its tokens do not begin above the clock */
#define LH_HOLD_TIMES	0x80u	/* a new table counts how long leases are
				 * held (inspect.h); acquiring and releasing
				 * then cost several times as much */

#define LH_TOKENS_GLOBAL 0x100u	/* a new table's tokens rise over all its keys:
				 * see below */
#define LH_ALL_LOCAL	0x200u	/* every acquire through this attachment is
				 * in scope LH_LOCAL (except cluster keys'),
				 * whatever its options say; a new table gets
				 * a fence file */

#define LH_CATCH_SIGBUS	0x400u	/* survive a table that is truncated: see
				 * lh_sigbus() */
#define LH_LOOK		0x2000u	/* without a session: only to inspect the
				 * table and to break leases; see lh_open() */
#define LH_RECORD	0x4000u	/* each grant and release through this
				 * attachment is recorded in the flight
				 * recorder (log.h); they cost several times as
				 * much then */
#define LH_CONFIGURED	0x1000u	/* a table of the machine that is as
				 * /etc/leasehold.conf says: see lh_open() */

#define LH_FORCE	0x10u	/* lh_table_remove: also while it is in use */
#define LH_FORGET_TOKENS 0x800u	/* lh_table_remove: tokens start afresh */

/* lh_open_opts.group: the group that the kernel gives a new file. */
#define LH_GROUP_USUAL	UINT32_MAX

/* The order of waiters and new requests.  Set when a table is created.  New
 * requests of a higher priority than the front waiter never wait behind it. */
enum lh_order {
	LH_ORDER_BOUNDED = 0,	/* new requests may overtake until the front
				 * waiter has been the front for 1 ms */
	LH_ORDER_FIFO = 1,	/* no overtaking */
	LH_ORDER_BARGE = 2	/* new requests may always overtake */
};

/* The clock of the deadlines. Set when a table is created. */
enum lh_clock {
	LH_CLOCK_MONOTONIC = 0,	/* stands still while the machine is
				 * suspended, so that leases last on */
	LH_CLOCK_BOOTTIME = 1	/* goes on: leases expire meanwhile */
};

/*
 * Properties of a new table; ignored if the table exists.
 *
 * max_keys and max_leases limit its growth.  It begins with about 4,000 keys
 * and 16,000 leases, and takes shared memory as needed: 136 bytes a key, 224
 * more for one of over 40 bytes (at most one key in four), 64 a lease or wait.
 * It never gives memory back.  When it cannot grow any more, unused keys make
 * room for others (see key.h).
 *
 * Scope LH_LOCAL needs a fence file: LH_DURABLE, or fence_dir.  It is a
 * directory in fence_dir, named after the table's object.  It is made with the
 * table if necessary, and so is the last part of fence_dir.  It is for the
 * owner alone, or, if mode lets the group write, for the group, whose members
 * can then claim ranges of tokens.  The default of LH_DURABLE is
 * /var/lib/leasehold with LH_SYSTEM, else $XDG_STATE_HOME/leasehold or
 * ~/.local/state/leasehold.  fence_dir must belong to the user, to root, or to
 * a group of the user's that may write there, and must not be writable for all
 * users.  The directory stays when the table is removed; later tables of that
 * name with the same fence_dir continue in it.  It costs one range (2 ms of a
 * disk, 512 bytes) at creation, and one for each 2^32 tokens.
 *
 * Tokens of a new table with a fence file also begin above the wall clock, in
 * case memory and disk are both lost (LH_NO_CLOCK_FLOOR: not).
 *
 * In a table with LH_TOKENS_GLOBAL a grant's token is larger than that of every
 * grant of the table, of any key and mode, that had returned when it was
 * requested, and no two are the same.  So one counter can be compared over
 * several keys.  (Except cluster keys', whose tokens the cluster orders.)
 * Acquiring and releasing cost about ten times as much there.
 */
struct lh_open_opts {
	size_t size;		/* sizeof(struct lh_open_opts) */
	uint32_t flags;		/* LH_SYSTEM, LH_NO_CREATE, ... */
	uint32_t mode;		/* permission bits; 0600 */
	uint32_t max_keys;	/* 1 .. 2^26 - 1; 1,048,576 */
	uint32_t max_sessions;	/* 2 .. 4,096; 1,024 */
	uint32_t max_leases;	/* held and waited for, over all sessions; given
				 * out in units of 64 to a session;
				 * 128 .. 4,193,984; 262,144 */
	uint32_t order;		/* enum lh_order; LH_ORDER_BOUNDED */
	uint32_t group;		/* group id; LH_GROUP_USUAL */
	uint32_t clock;		/* enum lh_clock; LH_CLOCK_MONOTONIC */
	const char *application;/* shown to others; NULL: the program's name */
	const char *fence_dir;	/* absolute path; NULL: none, or with LH_DURABLE
				 * the usual one */
	const char *cluster_prefix; /* keys with this prefix are cluster
				     * keys; 31 bytes at most; NULL:
				     * "cluster:"; "": there are none */
};

#define LH_OPEN_OPTS_INIT \
	{ sizeof(struct lh_open_opts), 0, 0600, 1048576, 1024, 262144, 0, \
	  LH_GROUP_USUAL, LH_CLOCK_MONOTONIC, NULL, NULL, NULL }

/*
 * Attaches to table `name`, creating it if necessary.
 *
 * name	NULL: $LEASEHOLD_TABLE, or "default"; the machine's table if
 *		$LEASEHOLD_SYSTEM is 1.  (leasehold run sets both for its
 *		command.)
 * opts	NULL: the defaults above.
 *
 * Returns 0, or
 *	-EINVAL: name, sizes, unknown flag; -ENAMETOOLONG;
 *	-ENOENT: LH_NO_CREATE; -EEXIST: LH_CREATE_ONLY;
 *	-EOPNOTSUPP: LH_ALL_LOCAL, and the table has no fence file; or the
 *	kernel gives nothing that distinguishes a new table from its copy; or
 *	the file system of /dev/shm cannot do what proves a death;
 *	-EACCES: no permission; another user made the directory, or may write
 *	there; LH_SYSTEM by another user than root, and no such table; or the
 *	table belongs neither to root nor to its configured owner;
 *	-EPERM: not a member of the group;
 *	-ENOSPC: shared memory is full, or every session is in use;
 *	-ENOMEM, -EMFILE;
 *	-EPROTO: other version, other build's layout, wrong size, not a table,
 *	not a regular file;
 *	-EXDEV: other time namespace, or no /proc to find out; or this process
 *	may not ask the kernel whether the table is a copy;
 *	-EUCLEAN: damaged, or a copy of a table that was put back;
 *	-EBUSY: it is being repaired, or a process that was removing it is
 *	stopped; or LH_CATCH_SIGBUS, and the process has a handler of its own.
 *
 * Making a table with a fence file also fails with the errors of the disk:
 * -EIO, -ENOTDIR, -EROFS, -EDQUOT and so on.  An existing table is opened all
 * the same; acquires in scope LH_LOCAL fail with -EIO until a range can be
 * claimed.  (So do all acquires, if the table's first range was never seen to
 * be the highest.)
 *
 * Costs some 50 us.  The memory that a table begins with is reserved at
 * creation, and more before it is used.  So a full tmpfs is -ENOSPC, here or
 * from the call that needs more, and never a SIGBUS. But any process that may
 * write to the table may truncate it: see lh_sigbus().
 */
int lh_open(struct lh **out, const char *name, const struct lh_open_opts *opts);

/*
 * With LH_LOOK the attachment has no session.  It needs no record, so it works
 * when all are in use, and when a member of the table has locked the bytes of
 * all of them, or has written that a repair is unfinished.  It can inspect
 * (lh_list(), lh_status(), lh_explain(), lh_stats(), lh_check(),
 * lh_value_get(), lh_verify_token(), lh_sem_status()), break leases and ask for
 * them (lh_break(), lh_ask_release()).  It can list named sessions, find one
 * (lh_session_open() with LH_NO_CREATE), renew it and destroy it.
 * Calls that need a session return -EOPNOTSUPP.
 * The table must exist.  LH_LIVENESS_FD and LH_CREATE_ONLY are -EINVAL.
 */

/*
 * /etc/leasehold.conf (leasehold.conf(5)) is root's.  Its section [table NAME]
 * names the owner of a table of the machine that is not to be root's, and sets
 * how the table is made: group, mode, fence file.  Any process of root's that
 * makes that table makes it so; options that ask for something else are
 * -EINVAL. A table of the machine that belongs neither to root nor to the owner
 * named there is -EACCES. With LH_CONFIGURED there must be such a section
 * (-ENOENT), and an existing table must have that owner, group and mode
 * (-EACCES); it needs LH_SYSTEM.
 *
 * The library reads the file itself.  No variable names another one.
 */

/*
 * Detaches.  Leases that are still held are released, in no particular order.
 * Returns 0; -EINVAL (NULL, closed); -EBUSY: another thread still waits in a
 * call on it (the attachment stays usable); -EPERM: inherited over fork.
 */
int lh_close(struct lh *lh);

/*
 * Removes table `name` (NULL: as lh_open()); flags LH_SYSTEM (for root, and the
 * configured owner of a table that root made for it), LH_FORCE,
 * LH_FORGET_TOKENS.  The next process that opens that name makes a new table.
 *
 * Without LH_FORCE it works only if no process is attached, this one included;
 * meanwhile no process can attach.  State left by killed processes does not
 * matter.
 *
 * With LH_FORCE its users lose the table.  Waiters, and requests for a key
 * there, get -ESTALE; leases held there stay as they are and end as they would
 * have.  Before a new table can be made under the name, the old one has stopped
 * granting, on every path.  Holders in the old one do not exclude holders in
 * the new one: fence what they guard.  A table of another time namespace is
 * removed like any other.
 *
 * A file that is no table, is damaged beyond that, or of another version or
 * layout is removed by force as well, after all its bytes were erased.  A
 * process that has it attached loses what it holds there and gets -EUCLEAN.
 *
 * Tokens continue: those of a new table of that name are larger than every one
 * that the old one has given or its users may still get (G2). This lasts as
 * long as /dev/shm.  If that is emptied (a restart of the machine) or the
 * table's object is removed by other means, tokens of scope LH_EPHEMERAL start
 * afresh (with a fence file, only those that were given without it because its
 * disk failed).
 *
 * LH_FORGET_TOKENS also removes the mark by which a new table of that name
 * knows where its tokens begin: they may repeat.  Then nothing is left of the
 * table.  This works also if only the mark is left.
 *
 * A refusal changes nothing: whether the name can be removed is tried first.
 * If the removal fails all the same, the table is retired (-EINPROGRESS), and
 * the next process that uses or removes it completes the removal.
 *
 * Returns 0; -EBUSY: in use (lh_error_detail() names by which process), being
 * removed, or a mount point; -ENOENT; -EACCES: not yours.  Or -EPERM: its
 * directory cannot be changed; -EPROTO, -EUCLEAN, -EXDEV: not a usable table,
 * and no LH_FORCE; -EINPROGRESS; -EINVAL, -ENAMETOOLONG, -ENOMEM, -EMFILE,
 * -ENFILE.
 */
int lh_table_remove(const char *name, uint32_t flags);

/*
 * Handles SIGBUS. If the object of a table, or the file of a gate, is truncated
 * while it is mapped, the next access to it is SIGBUS, which ends the process.
 * A handler can prevent that.  It replaces the mapping by private zeros; every
 * operation on that table then fails with -EUCLEAN and grants nothing, until
 * all attachments of the process to it are closed.
 *
 * A process without its own handler for SIGBUS opens its tables with
 * LH_CATCH_SIGBUS. The handler stays until the last such attachment is closed.
 * A SIGBUS with another cause has its usual effect.  If the process has its own
 * handler, lh_open() with that flag is -EBUSY; that handler calls lh_sigbus()
 * with its arguments, whatever the flags of its tables:
 *
 *	static void on_sigbus(int sig, siginfo_t *info, void *context)
 *	{
 *		if (!lh_sigbus(sig, info, context))
 *			... it was not a table's
 *	}
 *
 * Install that with SA_SIGINFO, and not after lh_open() with the flag.  Two
 * copies of the library in a process have a handler each: the second one is
 * -EBUSY.
 *
 * The library's handler runs on the thread's alternate stack if it has one
 * (sigaltstack(2)). Otherwise it runs on the stack of the call, where it needs
 * 1 KB in addition to the kernel's frame (up to 11 KB if the processor has
 * AVX-512 or AMX). If a thread has blocked SIGBUS, the handler is not called:
 * the kernel ends the process.
 *
 * Returns 1: the fault was in a mapping of the library's, and the instruction
 * may be repeated; 0: it was not.  Async-signal-safe; errno is kept.
 */
int lh_sigbus(int sig, const void *info, void *context);

/* Returns the table's clock, in ns, on which deadlines and expires_ns count.
 * -EINVAL (NULL, closed). */
int64_t lh_clock_ns(const struct lh *lh);

/* Returns the milliseconds since 1970 of a point on the table's clock, as of
 * this call.  -EINVAL (NULL, closed). */
int64_t lh_epoch_ms(const struct lh *lh, int64_t clock_ns);

/* Returns the table's name as it was opened; valid until lh_close(). NULL: lh
 * is NULL or closed. */
const char *lh_table_name(const struct lh *lh);

/*
 * Returns this attachment's session: the first half of its leases' ids.  No
 * session of another table, or of an earlier one of the same name, has it.  0:
 * lh is NULL or closed.
 */
uint64_t lh_session_id(const struct lh *lh);

/*
 * Returns a new descriptor (>= 3), inheritable over exec, that keeps this
 * session alive.  While any copy of it is open anywhere, the session does not
 * count as dead, so that a lease acquired for a child process outlives the
 * parent's death, to its deadline.  The caller closes it.  It is a datagram
 * socket to which nothing can be sent and which leads to nothing else.  A
 * process that has a copy can end that copy only; copies of others stay.
 *
 * Errors: -EOPNOTSUPP: not opened with LH_LIVENESS_FD; -EBADF: the application
 * closed it (closefrom); -EMFILE, -ENFILE, -EINVAL, -EPERM.
 */
int lh_liveness_fd(struct lh *lh);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
