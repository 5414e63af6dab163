/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: recent events, readable afterwards, even if all
 * processes have crashed.
 *
 * Every session record of a table has room for 126 events, written by its
 * session in passing; the next session of that record continues behind them.
 * Events off the fast path are always written: waits and how they end, leases
 * that are ended for others, losses, conversions, keys and sessions that begin
 * and end.  Grants without a wait, and releases, are written only while
 * lh_log_grants() is on, and through attachments that were opened with
 * LH_RECORD. The `leasehold` command opens its own with that flag.
 */
#ifndef LEASEHOLD_LOG_H
#define LEASEHOLD_LOG_H

#include <leasehold/inspect.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum lh_log_kind {
	LH_LOG_SESSION_BEGAN = 1,
	LH_LOG_SESSION_ENDED = 2,
	LH_LOG_WAIT_BEGAN = 3,
	LH_LOG_WAIT_GRANTED = 4,	/* it ended in a lease */
	LH_LOG_TIMED_OUT = 5,
	LH_LOG_CANCELLED = 6,
	LH_LOG_GRANTED = 7,	/* without a wait; see above */
	LH_LOG_RELEASED = 8,	/* see above */
	LH_LOG_CONVERTED = 9,	/* to `mode`, with a new token */
	LH_LOG_TOLD_LOST = 10, /* a call reported the loss to its holder */
	LH_LOG_EXPIRED = 11,	/* it ended a lease past its deadline */
	LH_LOG_FREED_DEAD = 12, /* it ended a lease of a dead process, or of a
				 * named session that had ended (ending
				 * LH_ENDED_RELEASED: had been destroyed) */
	LH_LOG_FOUND_DEAD = 13, /* it found session `other` dead, or ended */
	LH_LOG_BURIED = 14,	/* it reclaimed what that left behind */
	LH_LOG_KEY_MADE = 15,
	LH_LOG_EVICTED = 16,	/* the key was destroyed, or removed to make
				 * room */
	LH_LOG_GRANTS_ON = 17, /* lh_log_grants() */
	LH_LOG_GRANTS_OFF = 18,
	LH_LOG_BROKEN = 19,	/* it ended a lease for an operator */
	LH_LOG_HANDED_OVER = 20	/* a lease became that of session `other`, or
				 * its own; the token is the new one */
};

/* How a lease ended. */
enum lh_ending {
	LH_ENDED_RELEASED = 0,	/* or it is not known */
	LH_ENDED_DIED = 1,
	LH_ENDED_EXPIRED = 2,
	LH_ENDED_BROKEN = 3
};

#define LH_NO_RECORD UINT32_MAX

/* An event of a session. */
struct lh_log_entry {
	size_t size;		/* sizeof(struct lh_log_entry) */
	int64_t time_ns;	/* table clock */
	int64_t epoch_ms;	/* the same since 1970, as the clocks are now;
				 * of an image, and of a table of another time
				 * namespace: as they were at its creation */
	uint32_t kind;		/* enum lh_log_kind */
	uint32_t mode;		/* enum lh_mode, of a lease or wait */
	uint32_t ending;	/* enum lh_ending: of the lease before a grant,
				 * of one that was lost */
	uint32_t record;	/* index of the session record that has it */
	uint64_t number;	/* of the event in that record: 0, 1, ... */
	uint64_t session_id;	/* its session; 0: not known any more */
	uint32_t pid, uid;	/* 0: not known */
	char application[LH_APPLICATION_MAX + 1];	/* "": not known */
	uint32_t other;		/* session record that it is about, if not its
				 * own; LH_NO_RECORD */
	uint32_t other_pid;	/* its process; of a named session who made
				 * it; 0: not known any more */
	uint32_t visitor;	/* 1: by a process without a session (the
				 * reaper, or one that is about to attach);
				 * the record is of the session that it is
				 * about, or one near it */
	uint64_t token;		/* of the lease; 0: not known, or none */
	uint64_t key_hash;	/* 0: it is about no key */
	const char *key;	/* NULL: not in the table any more */
	uint64_t other_session_id;	/* of `other`; 0: not known any more */
	uint32_t other_named;	/* 1: that is a named session */
	uint32_t reserved;
	char other_application[LH_APPLICATION_MAX + 1]; /* its program, or the
				 * name of a named session; "": not known */
};

typedef int (*lh_log_fn)(const struct lh_log_entry *event, void *arg);

struct lh_log_opts {
	size_t size;		/* sizeof(struct lh_log_opts) */
	uint32_t flags;		/* LH_SYSTEM */
	uint32_t reserved;
	const char *file;	/* not NULL: of the image in that file */
	const char *key;	/* not NULL: only of that key */
	int64_t since_ns;	/* only later ones; INT64_MIN: all */
};

#define LH_LOG_OPTS_INIT \
	{ sizeof(struct lh_log_opts), 0, 0, NULL, NULL, INT64_MIN }

/*
 * Reports the events of table `name` (NULL: as lh_open()) in the order of time.
 * As lh_dump(): takes no session, needs only read permission, and works on a
 * table in use as on a copy.  An incomplete event, whose writer was killed or
 * is still writing, is left out.
 *
 * Returns 0, or what fn returned, which ends it if not 0; -EINVAL (NULL fn,
 * wrong size, unknown flag), -ENAMETOOLONG, -ENOENT, -EACCES, -EPROTO,
 * -EUCLEAN, -ENOMEM, -EAGAIN: the table was replaced meanwhile; -errno.
 */
int lh_log(const char *name, const struct lh_log_opts *opts, lh_log_fn fn,
    void *arg);

/*
 * Also records grants without a wait, and releases, of all processes of the
 * table (on: not 0). A thread notices at its next acquire, or the one after
 * that; those in the same tick of the coarse clock (4 ms) may be left out.  A
 * release is recorded if its lease belonged to such a thread.  While it is on,
 * acquiring and releasing cost several times as much.
 *
 * Returns 1 or 0: whether it was on before; -EINVAL, -EPERM.
 */
int lh_log_grants(struct lh *lh, int on);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
