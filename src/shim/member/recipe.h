/* SPDX-License-Identifier: MIT */
/*
 * A member of a cluster: one host's session with a store (engine.h), and what
 * that session claims of the cluster's keys.
 *
 * It knows nothing of shared memory and of processes.  It makes and keeps the
 * session, queues for keys, is granted them with a revision that is larger
 * than that of every earlier grant of the key, says when somebody else queues
 * behind, and gives back.  How: member_session.c, member_claim.c, resync.c.
 *
 * What holds, for whoever keeps to the rules below:
 *
 *  R1	While a claim is granted and CLOCK_BOOTTIME < D, as last told by
 *	alive(), no other member has a claim of that key that
 *	excludes it.
 *  R2	A later grant of a key, anywhere, has a larger revision than any earlier
 *	one that excludes it, and than any anchor of that earlier
 *	one.
 *  R3	Nothing is told that is not known: an answer that was lost is asked for
 *	again until it is definite.
 *  R4	What is left, given up or dead is taken out of the store in the end.
 *
 * Rules.  One thread, the one that runs the event loop.  Hooks are called from
 * the loop only, never from inside a function of this file, and may call any
 * function of it, recipe_close() among them.  Memory that a hook is given is
 * good until it returns.
 *
 * The life of a session, as told (each line only after the one above it):
 *
 *	store(KV_HERE)
 *	up(adopted or new)	the session is confirmed
 *	alive(D)		and again after each heartbeat
 *	found() ...		adopted only: each of its keys that is there
 *	settled()		that was all; claims are being asked for
 *	lost(why)		it is dead, for certain; then failed() or left()
 *				for each claim.  A new one is made: up() again
 *
 * recipe_open() with a session to adopt that turns out to be dead: lost(), then
 * up(new).  An adopted session's D may be moved before its keys are known.
 * D in the past is no lost(): nothing may be granted then, but if a heartbeat
 * gets through after all the session lives, with all its claims.
 *
 * The life of a claim:
 *
 *	recipe_claim()	-> busy(), failed()			and it is gone
 *			-> granted()				once
 *	granted		-> recalled(), more than once if a stronger mode queues
 *			-> anchored(), or not_anchored(), after claim_anchor()
 *			-> failed(): no longer ours, for certain (session lost;
 *			   somebody deleted its key): and it is gone
 *	claim_leave()	-> left(): and it is gone; nothing else is told of it
 *
 * "It is gone" when the hook is called: the claim may be looked at within the
 * hook, not after it, and not be left.
 */
#ifndef SHIM_RECIPE_H
#define SHIM_RECIPE_H

#include <event2/event.h>
#include "shim/store/engine.h"

struct recipe;
struct claim;

enum claim_mode { CLAIM_NONE = 0, CLAIM_SHARED = 1, CLAIM_EXCLUSIVE = 2 };

struct recipe_session {
	uint64_t name;			/* drawn at random; 0: none */
	int64_t create_revision;	/* of its key; unique with the name */
};

/* A key of an adopted session, from before. */
struct recipe_found {
	struct kv_bytes key;	/* the name, as given to recipe_claim() */
	enum claim_mode mode;
	/* Of its latest grant or anchor, or of a later one that was not told.
	 * If it waited before it was granted, or never was granted, it may be
	 * that of its queueing, which is no token: anchor it before it is used
	 * (a base in the table says what it was granted at, if it was). */
	int64_t revision;
	int64_t create;		/* of its queueing: by it, claims are told apart
				 * that the store has of one key */
	bool first;		/* nobody is ahead of it: it has the key */
};

struct recipe_hooks {
	/* KV_AWAY: nothing can be asked now, it is tried again by itself.
	 * KV_REFUSED: another cluster, gone back in time, no such user.
	 * why: for people; "" with KV_HERE */
	void (*store)(enum kv_state state, const char *why, void *arg);

	void (*up)(const struct recipe_session *s, bool adopted, void *arg);
	/* until_ns: D, CLOCK_BOOTTIME; only rises within a session */
	void (*alive)(uint64_t until_ns, void *arg);
	/* May call recipe_keep() for it; what is not kept is left, but not
	 * before settled() has been told. */
	void (*found)(const struct recipe_found *f, void *arg);
	void (*settled)(void *arg);
	/* D counts for nothing from here on. */
	void (*lost)(const char *why, void *arg);
	/* Worth writing to the state file: at most once a second. */
	void (*mark)(const struct kv_mark *m, void *arg);
	/* After recipe_retire(). */
	void (*retired)(void *arg);
	/* A key stands among the claims that is none of a member's: no member
	 * waits for whoever put it.  at_start: it was there when this member
	 * looked at all keys for the first time.  May be NULL. */
	void (*foreign)(const char *key, bool at_start, void *arg);

	/* Of claims; arg: the claim's own.  Of claims asked for at once, each
	 * is told for itself, one after another, of the same outcome. */
	void (*granted)(struct claim *c, int64_t revision, void *arg);
	void (*anchored)(struct claim *c, int64_t revision, void *arg);
	/* No permission in the store; it is granted as before. */
	void (*not_anchored)(struct claim *c, const char *why, void *arg);
	/* Somebody waits behind us who wants `mode`. */
	void (*recalled)(struct claim *c, enum claim_mode mode, void *arg);
	/* CLAIM_TRY: who has it, or is ahead, in words. */
	void (*busy)(struct claim *c, const char *who, void *arg);
	/* error: EHOSTUNREACH (a try, and the store is away or refused, or
	 * there is no session), EACCES (no permission in the store), ESTALE
	 * (session lost), ENOENT (its key was deleted by somebody), ENOMEM */
	void (*failed)(struct claim *c, int error, const char *why, void *arg);
	/* What is said of us is taken back, for certain; for a claim that never
	 * was granted: and it never will be. */
	void (*left)(struct claim *c, void *arg);
};

/* An engine on the store, that tells `hooks` and refuses what is behind or
 * other than `mark`; NULL: no memory. */
typedef struct engine *recipe_engine_fn(const struct kv_hooks *hooks,
    const struct kv_mark *mark, void *arg);

struct recipe_opts {
	struct event_base *base;
	recipe_engine_fn *engine;	/* called once, by recipe_open() */
	void *engine_arg;
	const char *root;		/* all keys are under "<root>/" */
	const char *host;		/* who we are, for people elsewhere */
	unsigned ttl_ms;		/* of the session, >= 500 */
	unsigned timeout_ms;		/* of one call; 0: 300 */
	struct recipe_session adopt;	/* name 0: none */
	struct kv_mark mark;		/* of the state file; 0, 0: none */
	const struct recipe_hooks *hooks;	/* all set; kept, not copied */
	void *arg;
};

/* NULL: no memory, or options that cannot be (errno). */
struct recipe *recipe_open(const struct recipe_opts *o);

/* At once.  Nothing is told any more; claims are freed.  The session stays in
 * the store, to be adopted, until its time is up. */
void recipe_close(struct recipe *r);

/* Take the session and all its keys out of the store (of one to adopt: not
 * before it is up); retired() is told when that is certain (never, while the
 * store is away).  From here on claims are not told anything; D counts for
 * nothing. */
void recipe_retire(struct recipe *r);

#define CLAIM_TRY 1u		/* do not queue: granted, busy or failed */

/*
 * A claim belongs to a lane, 0 <= n < RECIPE_LANES, so that whoever asks for
 * much does not hold up others.  A lane has LANE_CALLS calls to the store at a
 * time; the others wait for these.  Calls for the session, for dead sessions
 * and for resyncs belong to no lane and wait for nothing.
 */
#define RECIPE_LANES 64u
#define CLAIM_LANE(n) ((n) << 8)	/* in flags */
#define LANE_CALLS 16u

#define RECIPE_CLAIMS_MAX 64		/* at once */
#define CLAIM_KEY_MAX 255	/* bytes of a name */

struct claim_want {
	struct kv_bytes key;	/* any bytes */
	enum claim_mode mode;
	void *arg;
};

/*
 * Ask for n different keys, all or none; out[i] is the claim of want[i].  With
 * an outage, or no session yet, it is asked when there is one (not CLAIM_TRY:
 * that fails).  -EINVAL, -ENOMEM: nothing was asked.
 *
 * While they wait, one of them can be left and the others go on.  A second
 * claim of a key, while the first is there or being left, queues like a
 * stranger's.
 */
int recipe_claim(struct recipe *r, const struct claim_want *want, size_t n,
    unsigned flags, struct claim **out);

/*
 * Within found() only, and once: it is granted, with f->revision, and that is
 * not told.  NULL: no memory, or it is not first.
 *
 * A life of the session that is over may have left it: its deletion compares
 * nothing, may be done as late as anything that was sent, and takes the key
 * away under whoever uses it then.  So it is kept for use only by who knows
 * that no life has begun to leave it (a right that is still in the table:
 * taking that away comes before leaving); else only to be left in good order.
 */
struct claim *recipe_keep(struct recipe *r, const struct recipe_found *f,
    void *arg);

/* Give it back, or give it up, granted or not.  Once. */
void claim_leave(struct claim *c);

/* Of a granted one: draw a new revision, larger than any of that key yet; then
 * anchored(), or not_anchored().  Asked again before that: once is enough.
 * False: it is not being drawn, for lack of memory, or as the claim is not
 * granted any more. */
bool claim_anchor(struct claim *c);

enum claim_mode claim_mode(const struct claim *c);

/* Who has a key and who waits, the oldest first. */
struct recipe_holder {
	struct kv_bytes host;	/* as they call themselves; any bytes */
	uint64_t session;
	enum claim_mode mode;
	bool holds;		/* else waits */
	bool ours;
	int64_t since;		/* the revision at which it queued */
};

/* error 0, or EHOSTUNREACH, EACCES: why. */
typedef void recipe_look_fn(int error, const char *why,
    const struct recipe_holder *h, size_t n, void *arg);

/* Asked once; fn is called once, unless recipe_close() or recipe_retire() comes
 * first. -ENOMEM, -EINVAL, -EHOSTUNREACH: it is not. */
int recipe_look(struct recipe *r, struct kv_bytes key, recipe_look_fn *fn,
    void *arg);

/* Why there is no session yet, or nothing settled, or nothing confirmed:
 * what the store said last to us in words; or "". */
const char *recipe_why(const struct recipe *r);

struct recipe_stats {
	uint64_t calls, unknown, refused;	/* of the store; outcomes */
	uint64_t heartbeats;		/* confirmed */
	uint64_t sessions, lost;	/* ours */
	uint64_t stolen;		/* others', that we ended */
	uint64_t grants, turns;		/* of those: told by the watch */
	uint64_t anchors, busy, recalls, leaves;
	uint64_t lists, gaps, swept;	/* looks at all; why; keys deleted */
	uint64_t claims;		/* now */
};

void recipe_stats(const struct recipe *r, struct recipe_stats *s);

#endif
