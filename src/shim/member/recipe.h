/* SPDX-License-Identifier: MIT */
/*
 * A member of a cluster: one host's session with a store (engine.h), and the
 * claims that this session has on the cluster's keys.  src/shim/agent calls
 * it.  It knows nothing of shared memory or processes.
 *
 * A member makes a session and keeps it alive.  It queues for keys, and is
 * granted each with a revision that is larger than that of every earlier grant
 * of that key.  It reports when another member queues behind it, and gives keys
 * back.  How this works: member_session.c, member_claim.c, batch.c, resync.c.
 *
 * Guarantees of a member (MG1 to MG4), for a caller that follows the rules
 * below:
 *
 * MG1 While a claim is granted and CLOCK_BOOTTIME < D, with D as last reported
 *	by alive(), no other member holds a claim of that key that excludes it.
 * MG2 A later grant of a key, at any member, has a larger revision than every
 *	earlier grant that it excludes, and than every anchor of that grant.
 * MG3 Only certain outcomes are reported.  When an answer is lost, the call is
 *	repeated until its outcome is definite.
 * MG4 What was left, given up or belongs to a dead session is removed from the
 *	store in the end.
 *
 * Rules for the caller.  All calls come from the thread that runs the event
 * loop.  Hooks are called from the loop only, never from inside a function of
 * this header.  A hook may call any of these functions, including
 * recipe_close().  Memory passed to a hook is valid until the hook returns.
 *
 * A session reports these events.  Each line comes only after the line above
 * it:
 *
 *	store(KV_HERE)
 *	up(adopted or new)	the session is confirmed
 *	alive(D)		and again after each heartbeat
 *	found() ...		adopted only: once for each of its keys in the
 *				store
 *	settled()		all keys were found; new claims are sent now
 *	lost(why)		the session is dead, for certain.  Then failed()
 *				or left() for each claim.  A new session is
 *				made, which begins with up()
 *
 * If recipe_open() is given a session to adopt that is dead, it reports lost()
 * and then up(new).  D of an adopted session may move before its keys are
 * known.  A D in the past is no lost(): nothing may be granted then, but if a
 * later heartbeat succeeds, the session and all its claims are still alive.
 *
 * A claim reports these events:
 *
 *	recipe_claim()	-> busy() or failed()		final
 *			-> granted()			once
 *	granted		-> recalled(): again if a stronger mode queues
 *			-> anchored() or not_anchored(), after claim_anchor()
 *			-> failed(): the claim is no longer ours, for certain
 *			   (the session is lost, or its key was deleted): final
 *	claim_leave()	-> left(): final.  Nothing else is reported
 *
 * After a final event the claim is freed.  The hook may still read it, but must
 * not leave it.
 */
#ifndef SHIM_RECIPE_H
#define SHIM_RECIPE_H

#include <event2/event.h>
#include "shim/store/engine.h"

struct recipe;
struct claim;

enum claim_mode { CLAIM_NONE = 0, CLAIM_SHARED = 1, CLAIM_EXCLUSIVE = 2 };

struct recipe_session {
	uint64_t name;			/* random; 0: no session */
	int64_t create_revision;	/* of its key; unique together with the
					 * name */
};

/* A key that an adopted session has in the store. */
struct recipe_found {
	struct kv_bytes key;	/* the name, as passed to recipe_claim() */
	enum claim_mode mode;
	/*
	 * The revision of its latest grant or anchor, or of a later one that
	 * was not reported.  If the claim waited or was never granted, it may
	 * be the revision at which it queued.  That is no token, so the claim
	 * must be anchored before use.  (A base in the table says at which
	 * revision it was granted, if it was.)
	 */
	int64_t revision;
	int64_t create;		/* the revision at which it queued; tells
				 * several claims of one key apart */
	bool first;		/* nobody is ahead of it, so it holds the key */
};

struct recipe_hooks {
	/*
	 * Reports the state of the store.  KV_AWAY: it cannot be reached; the
	 * member keeps trying.  KV_REFUSED: another cluster, older data than
	 * before, or the user is refused.  `why` is text for people, and ""
	 * with KV_HERE.
	 */
	void (*store)(enum kv_state state, const char *why, void *arg);

	/* Reports that the store, which is there, refuses changes, as when its
	 * quota is used up; with "", that it accepts them again.  It must not
	 * call the member.  May be NULL. */
	void (*refused)(const char *why, void *arg);

	/* Reports a session, adopted or new. */
	void (*up)(const struct recipe_session *s, bool adopted, void *arg);
	/* Reports D, in CLOCK_BOOTTIME.  D only rises within a session. */
	void (*alive)(uint64_t until_ns, void *arg);
	/* Reports a key of an adopted session.  The hook may call
	 * recipe_keep().  A claim that is not kept is left after settled(). */
	void (*found)(const struct recipe_found *f, void *arg);
	/* Reports that all keys of an adopted session were reported. */
	void (*settled)(void *arg);
	/* Reports that the session is dead.  Its D is void from now on. */
	void (*lost)(const char *why, void *arg);
	/* Reports what to write to the state file: at most once a second, and
	 * when a wait begins or ends. */
	void (*mark)(const struct kv_mark *m, void *arg);
	/* Reports that recipe_retire() is complete. */
	void (*retired)(void *arg);
	/* Reports a key among the claims that no member has written.  No member
	 * waits for its writer.  at_start: it was there when this member read
	 * all keys for the first time.  May be NULL. */
	void (*foreign)(const char *key, bool at_start, void *arg);

	/* The hooks of claims get the claim's own arg.  Claims that were
	 * requested together are reported one after another, with the same
	 * outcome. */
	void (*granted)(struct claim *c, int64_t revision, void *arg);
	void (*anchored)(struct claim *c, int64_t revision, void *arg);
	/* The store denied permission.  The claim stays granted with its old
	 * revision. */
	void (*not_anchored)(struct claim *c, const char *why, void *arg);
	/* Another member queues behind us and wants `mode`. */
	void (*recalled)(struct claim *c, enum claim_mode mode, void *arg);
	/* CLAIM_TRY only.  `who` describes the member that is ahead. */
	void (*busy)(struct claim *c, const char *who, void *arg);
	/* error: EHOSTUNREACH (CLAIM_TRY, and the store cannot be used or there
	 * is no session), EACCES (no permission in the store), ESTALE (session
	 * lost), ENOENT (its key was deleted by somebody else), ENOMEM. */
	void (*failed)(struct claim *c, int error, const char *why, void *arg);
	/* The claim's key is certainly gone from the store.  A claim that was
	 * not granted never will be. */
	void (*left)(struct claim *c, void *arg);
};

/* Opens an engine that calls `hooks` and refuses a store that does not match
 * `mark`.  Returns NULL without memory. */
typedef struct engine *recipe_engine_fn(const struct kv_hooks *hooks,
    const struct kv_mark *mark, void *arg);

struct recipe_opts {
	struct event_base *base;
	recipe_engine_fn *engine;	/* called once, by recipe_open() */
	void *engine_arg;
	const char *root;		/* all keys are under "<root>/" */
	const char *host;		/* our name, shown at other hosts */
	unsigned ttl_ms;		/* of the session, at least 500 */
	unsigned timeout_ms;		/* of one call to the store; 0: 300 */
	struct recipe_session adopt;	/* name 0: make a new session */
	struct kv_mark mark;		/* from the state file; 0, 0: none */
	const struct recipe_hooks *hooks;	/* all set but foreign; not
						 * copied */
	void *arg;
};

/* Opens a member.  Returns NULL with errno set if there is no memory or an
 * option is invalid. */
struct recipe *recipe_open(const struct recipe_opts *o);

/* Closes a member at once, without further hooks, and frees its claims.  The
 * session stays in the store until its time is over, so that it can be
 * adopted. */
void recipe_close(struct recipe *r);

/* Removes the session and all its keys from the store; a session to adopt, only
 * once it is up.  retired() is called when this is certain, which needs the
 * store.  From now on nothing is reported of claims, and D is void. */
void recipe_retire(struct recipe *r);

#define CLAIM_TRY 1u		/* does not queue: granted, busy or failed */

/*
 * A claim belongs to a lane, 0 <= n < RECIPE_LANES, so that a busy user cannot
 * delay others.  A lane has at most LANE_CALLS calls at the store; further
 * calls of the lane wait.  Calls for the session, for dead sessions and for
 * resyncs have no lane and never wait.
 */
#define RECIPE_LANES 64u
#define CLAIM_LANE(n) ((n) << 8)	/* part of the flags */
#define LANE_CALLS 16u

#define RECIPE_CLAIMS_MAX 64		/* in one recipe_claim() */
#define CLAIM_KEY_MAX 255	/* bytes of a key's name */

struct claim_want {
	struct kv_bytes key;	/* may contain any bytes */
	enum claim_mode mode;
	void *arg;
};

/*
 * Requests n different keys, all or none.  out[i] becomes the claim of
 * want[i].  Without a session or a store, the request is sent later; a
 * CLAIM_TRY fails instead.  Returns -EINVAL or -ENOMEM if nothing was
 * requested.
 *
 * While the claims wait, any of them can be left; the others go on.  A second
 * claim of a key that this member already claims, or is leaving, queues like a
 * claim of another member.
 */
int recipe_claim(struct recipe *r, const struct claim_want *want, size_t n,
    unsigned flags, struct claim **out);

/*
 * Keeps a found claim as granted, with f->revision; granted() is not called.
 * May be called only from found(), once.  Returns NULL if there is no memory or
 * the claim is not first.
 *
 * An earlier process of this session may have begun to leave the claim.  Its
 * deletion compares nothing and may take effect much later; it would then
 * remove the key under the next user.  So a claim may be kept for use only if
 * it is certain that nobody began to leave it.  A right in the table proves
 * that, because the right is cleared before the claim is left.  Otherwise keep
 * the claim only to leave it in order.
 */
struct claim *recipe_keep(struct recipe *r, const struct recipe_found *f,
    void *arg);

/* Leaves a claim, granted or not.  Call it once. */
void claim_leave(struct claim *c);

/*
 * Draws a new revision for a granted claim, larger than any that the key has
 * had.  Then anchored() or not_anchored() is called; another call before that
 * has no effect.  Returns false if there is no memory or the claim is not
 * granted any more.
 */
bool claim_anchor(struct claim *c);

enum claim_mode claim_mode(const struct claim *c);

/* A holder of a key, or a member that waits for it.  The oldest comes first. */
struct recipe_holder {
	struct kv_bytes host;	/* the member's name; may contain any bytes */
	uint64_t session;
	enum claim_mode mode;
	bool holds;		/* false: it waits */
	bool ours;
	int64_t since;		/* the revision at which it queued */
};

/* error: 0, or EHOSTUNREACH or EACCES with a reason in `why`. */
typedef void recipe_look_fn(int error, const char *why,
    const struct recipe_holder *h, size_t n, void *arg);

/* Asks the store who holds a key.  fn is called once, unless recipe_close() or
 * recipe_retire() comes first.  Returns -ENOMEM, -EINVAL or -EHOSTUNREACH if
 * the question was not sent. */
int recipe_look(struct recipe *r, struct kv_bytes key, recipe_look_fn *fn,
    void *arg);

/* Returns the last reason why there is no session, no settled session, or no
 * confirmation of it; or "". */
const char *recipe_why(const struct recipe *r);

/* Returns why the store, which is there, refuses changes now, or "". */
const char *recipe_refusal(const struct recipe *r);

struct recipe_stats {
	uint64_t calls, unknown, refused;	/* calls to the store; UNKNOWN
						 * and NOT_APPLIED outcomes */
	uint64_t heartbeats;		/* confirmed */
	uint64_t sessions, lost;	/* of this member */
	uint64_t stolen;		/* sessions of others that we ended */
	uint64_t grants, turns;		/* grants; those granted by TURN
					 * (batch.c) */
	uint64_t anchors, busy, recalls, leaves;
	uint64_t lists, gaps, swept;	/* full reads; those after a gap; keys
					 * deleted */
	uint64_t claims;		/* at present */
	uint64_t wait_ms;		/* rest of the wait after the store was
					 * older (kv_mark) */
};

void recipe_stats(const struct recipe *r, struct recipe_stats *s);

#endif
