/* SPDX-License-Identifier: MIT */
/*
 * The table and its attachments.
 *
 * A table is a file on tmpfs that processes map.  Its name is 1..64 characters
 * of [A-Za-z0-9._-], not beginning with a dot; the file is
 * /dev/shm/leasehold.<euid>/<name>.table, in a directory that only the user can
 * write to; or, with LH_SYSTEM, /dev/shm/leasehold.system/<name>.table in a
 * directory of root's.  The first opener creates it (with LH_SYSTEM: root); it
 * appears whole or not at all, so a creator that is killed or stopped delays
 * nobody.  A table stays until it is removed (lh_table_remove()).
 *
 * struct lh is one attachment: one session, whose end (lh_close(), exit, exec,
 * death by any signal) ends its leases.  A process normally needs one; several
 * work, share one mapping, and conflict like strangers.
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
#define LH_SYSTEM	0x1u	/* the machine's table of that name, not mine */
#define LH_NO_CREATE	0x2u	/* the table (lh_acquire: the key) must exist */
#define LH_LIVENESS_FD	0x4u	/* lh_liveness_fd() will be wanted */
#define LH_CREATE_ONLY	0x8u	/* the table must not exist */

#define LH_DURABLE	0x20u	/* a new table gets a fence file */
#define LH_NO_CLOCK_FLOOR 0x40u	/* its tokens do not begin above the clock */
#define LH_HOLD_TIMES	0x80u	/* a new table tells how long leases are held
				 * (inspect.h); acquiring and releasing then
				 * cost several times as much */

#define LH_TOKENS_GLOBAL 0x100u	/* a new table's tokens rise over all its keys:
				 * see below */
#define LH_ALL_LOCAL	0x200u	/* every acquire through this attachment is in
				 * scope LH_LOCAL (but cluster keys'), whatever
				 * its options say, also without any; a new
				 * table gets a fence file */

#define LH_CATCH_SIGBUS	0x400u	/* survive a table that is truncated: see
				 * lh_sigbus() */
#define LH_LOOK		0x2000u	/* without a session: only to look at the table
				 * and to break leases; see lh_open() */
#define LH_RECORD	0x4000u	/* each grant and release through this
				 * attachment is recorded in the flight
				 * recorder (log.h); they cost several times as
				 * much then */
#define LH_CONFIGURED	0x1000u	/* a table of the machine that is as
				 * /etc/leasehold.conf says: see lh_open() */

#define LH_FORCE	0x10u	/* lh_table_remove: also while it is in use */
#define LH_FORGET_TOKENS 0x800u	/* lh_table_remove: tokens begin anew */

/* lh_open_opts.group: whatever the kernel gives a new file. */
#define LH_GROUP_USUAL	UINT32_MAX

/*
 * Who may go first when somebody waits.  Set when a table is created.
 * Newcomers of a higher priority than the front waiter never wait behind it.
 */
enum lh_order {
	LH_ORDER_BOUNDED = 0,	/* newcomers may overtake until the front
				 * waiter has been the front for 1 ms */
	LH_ORDER_FIFO = 1,	/* nobody overtakes */
	LH_ORDER_BARGE = 2	/* newcomers may always overtake */
};

/*
 * What the deadlines of a table's leases count in.  Set when it is created.
 */
enum lh_clock {
	LH_CLOCK_MONOTONIC = 0,	/* stands still while the machine is suspended:
				 * leases outlast it */
	LH_CLOCK_BOOTTIME = 1	/* goes on: leases expire meanwhile */
};

/*
 * What a new table is made of; ignored when the table exists.
 *
 * max_keys and max_leases are how far it may grow; it begins with about 4,000
 * keys and 16,000 leases, and takes shared memory as it needs it: 136 bytes a
 * key, 224 more for one of over 40 bytes, 64 a lease or wait.  (One key in four
 * may be so long.)  It never gives memory back; keys that are not in use make
 * room for others when it can grow no more (see key.h).
 *
 * Scope LH_LOCAL needs a fence file: LH_DURABLE, or fence_dir.  It is a
 * directory in fence_dir named after the table's object, made with the table if
 * need be (and the last part of fence_dir): for the owner alone, or, if mode
 * lets the group write, for the group, whose members can claim ranges of tokens
 * then.  The usual fence_dir is /var/lib/leasehold with LH_SYSTEM, else
 * $XDG_STATE_HOME/leasehold or ~/.local/state/leasehold.  It must belong to the
 * user, to root, or to a group of the user's that may write there, and must not
 * be writable for everybody.  It stays when the table is removed; tables of one
 * name with the same fence_dir go on in it.  It costs one range (2 ms of a
 * disk, 512 bytes) at creation, and one for each 2^32 tokens.
 *
 * New tables with a fence file also begin above what the wall clock says, for
 * the case that memory and disk are both lost (LH_NO_CLOCK_FLOOR: not).
 *
 * In a table with LH_TOKENS_GLOBAL a grant's token is larger than that of every
 * grant of the table, of whatever key and mode, that had returned when it was
 * asked for, and no two have the same: one counter can be compared over several
 * keys.  (But not cluster keys', whose tokens the cluster orders.)  Acquiring
 * and releasing cost about ten times as much there.
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
	const char *cluster_prefix; /* keys that begin so are cluster keys; 31
				 * bytes at most; NULL: "cluster:"; "": there
				 * are none */
};

#define LH_OPEN_OPTS_INIT \
	{ sizeof(struct lh_open_opts), 0, 0600, 1048576, 1024, 262144, 0, \
	  LH_GROUP_USUAL, LH_CLOCK_MONOTONIC, NULL, NULL, NULL }

/*
 * Attach to table `name`, creating it if need be.
 *
 * name	NULL: $LEASEHOLD_TABLE, or "default"; the machine's table if
 *		$LEASEHOLD_SYSTEM is 1.  (leasehold run sets both for its
 *		command.)
 * opts	NULL: the defaults above.
 *
 * 0; -EINVAL (name, sizes, unknown flag), -ENAMETOOLONG, -ENOENT
 * (LH_NO_CREATE), -EEXIST (LH_CREATE_ONLY), -EOPNOTSUPP (LH_ALL_LOCAL, and
 * the table has no fence file; or the kernel gives nothing by which a copy of
 * a new table differs from it), -EACCES (also: somebody else made the
 * directory, or may write there;
 * and LH_SYSTEM by another user than root, where there is no such table, or
 * with a table that is neither root's nor its configured owner's), -EPERM
 * (not a member of the group), -ENOSPC (shared memory full, or every session
 * slot in use), -ENOMEM, -EMFILE, -EPROTO (other version, other build's
 * layout, wrong size, not a table, not a regular file), -EXDEV (other time
 * namespace, or no /proc to tell by; or this process may not ask the kernel
 * whether it is a copy), -EUCLEAN (damaged, or a copy of a table that was
 * put back), -EBUSY (it is being repaired, or who is removing it was stopped
 * in the midst of that; or LH_CATCH_SIGBUS, and the process has a handler of
 * its own).  Making a table with a fence file also fails with what the disk
 * says: -EIO, -ENOTDIR, -EROFS, -EDQUOT and so on; an existing one is opened
 * all the same, and acquires in scope LH_LOCAL (of a table whose first range
 * nobody has seen to be the highest yet: all) fail with -EIO until a range
 * can be claimed.  Costs some 50 us.  The memory that a table begins with is
 * reserved at creation, and more before it is used: a full tmpfs is -ENOSPC,
 * here or from the call that would have needed more, and never a SIGBUS.
 * But whoever may write to the table may truncate it: see lh_sigbus().
 */
int lh_open(struct lh **out, const char *name, const struct lh_open_opts *opts);

/*
 * With LH_LOOK the attachment has no session: it needs no record, so it works
 * when all are in use, and when a member of the table has locked the bytes of
 * all of them.  It can look (lh_list(), lh_status(), lh_explain(), lh_stats(),
 * lh_check(), lh_verify_token()), break leases (lh_break()) and ask for them
 * (lh_ask_release()).  Calls that need a session return -EOPNOTSUPP.  The table
 * has to exist.  LH_LIVENESS_FD and LH_CREATE_ONLY are -EINVAL.
 */

/*
 * /etc/leasehold.conf (leasehold.conf(5)) is root's: its section [table NAME]
 * names the owner of a table of the machine that is not to be root's, and says
 * how the table is made: group, mode, fence file.  Whoever of root's makes that
 * table makes it so; options that ask for something else are -EINVAL.  A table
 * of the machine that belongs neither to root nor to the owner named there is
 * -EACCES.  With LH_CONFIGURED there must be such a section (-ENOENT), and a
 * table that exists must have that owner, group and mode (-EACCES); it needs
 * LH_SYSTEM.
 *
 * The library reads the file itself.  No variable leads it to another one.
 */

/*
 * Detach.  Leases still held are released, in order of nothing in particular.
 * 0; -EINVAL (NULL, closed); -EBUSY: another thread still waits in a call on it
 * (the attachment stays usable); -EPERM: inherited over fork.
 */
int lh_close(struct lh *lh);

/*
 * Remove table `name` (NULL: as lh_open()); flags LH_SYSTEM (for root, and
 * the configured owner of a table that root made for it), LH_FORCE,
 * LH_FORGET_TOKENS.  The next opener of that name makes a new table.
 *
 * Without LH_FORCE only if no process is attached, this one included; in that
 * moment nobody can attach.  What killed processes left behind is no hindrance.
 *
 * With LH_FORCE the table is retired under those who use it.  Their waiters,
 * and whoever wants a key there, get -ESTALE; leases held there stay as they
 * are and end as they would have.  Before a new table can be made under the
 * name, the old one has stopped granting, on every path.  What is held in the
 * old one does not exclude holders in the new one: fence what they guard.  A
 * file that is no table, or another version's, is removed as well.
 *
 * Tokens go on: those of a new table of that name are larger than every one
 * that the old one has given or its users may still be given (G2).  This lasts
 * as long as /dev/shm does; if that is emptied (a restart of the machine) or
 * the table's object removed by other means, tokens of scope LH_EPHEMERAL start
 * anew (with a fence file only those that went on without a disk that failed).
 *
 * With LH_FORGET_TOKENS the mark is removed, too, by which a new table of that
 * name knows where its tokens begin: they may repeat.  Then nothing is left of
 * the table; also where only the mark was left of it.
 *
 * 0; -EBUSY: in use (lh_error_detail() names by whom), or being removed;
 * -ENOENT; -EACCES: not yours; -EPROTO, -EUCLEAN, -EXDEV: not a table that can
 * be used, and no LH_FORCE; -EINVAL, -ENAMETOOLONG, -ENOMEM, -EMFILE, -ENFILE.
 */
int lh_table_remove(const char *name, uint32_t flags);

/*
 * What happens when the object of a table, or the file of a gate, is truncated
 * while it is mapped: the next access to it is SIGBUS, which ends the process.
 * A handler can prevent that.  It replaces the mapping by zeros of the
 * process's own; every operation on that table then fails with -EUCLEAN and
 * grants nothing, until all attachments of the process to it are closed.
 *
 * A process without a handler for SIGBUS of its own opens its tables with
 * LH_CATCH_SIGBUS.  The handler stays until the last such attachment is closed.
 * A SIGBUS that has another cause does what it would have done without it.
 * With a handler of its own lh_open() is -EBUSY then; that handler calls this,
 * with what it was given, whatever the flags of its tables:
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
 * The library's handler runs on the thread's alternate stack where it has one
 * (sigaltstack(2)), else on the stack of the call, where it needs 1 KB beside
 * the kernel's frame (up to 11 KB where the processor has AVX-512 or AMX).  It
 * is called for a thread that has SIGBUS blocked by no means: the kernel ends
 * the process then.
 *
 * 1: the fault was in a mapping of the library's, and the instruction may be
 * repeated; 0: it was not.  Async-signal-safe; errno is kept.
 */
int lh_sigbus(int sig, const void *info, void *context);

/* The table's clock now, in ns.  What deadlines and expires_ns count in.
 * -EINVAL (NULL, closed). */
int64_t lh_clock_ns(const struct lh *lh);

/* Milliseconds since 1970 of a point on the table's clock, as of this call.
 * -EINVAL (NULL, closed). */
int64_t lh_epoch_ms(const struct lh *lh, int64_t clock_ns);

/* The table's name as it was opened; valid until lh_close().  NULL: lh is NULL
 * or closed. */
const char *lh_table_name(const struct lh *lh);

/* This attachment's session: the first half of its leases' ids.  No session of
 * another table, or of an earlier one of the same name, has it.  0: lh is NULL
 * or closed. */
uint64_t lh_session_id(const struct lh *lh);

/*
 * A new descriptor (>= 3), inheritable over exec, that keeps this session
 * alive: while any copy of it is open anywhere, the session does not count as
 * dead, so that a lease acquired for a child process outlives the parent's
 * death, to its deadline.  The caller closes it.  It is a datagram socket to
 * which nothing can be sent and which leads to nothing else.  A process
 * that has a copy can end that copy only; copies of others stay.
 *
 * The descriptor; -EOPNOTSUPP: not opened with LH_LIVENESS_FD; -EBADF: the
 * application closed it (closefrom); -EMFILE, -ENFILE, -EINVAL, -EPERM.
 */
int lh_liveness_fd(struct lh *lh);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
