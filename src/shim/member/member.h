/* SPDX-License-Identifier: MIT */
/*
 * Declares what the files of a member of the cluster share: they do what
 * recipe.h promises.  A file calls only those above it in this list:
 *
 *	timers.c		the clock, jitter, timers
 *	names.c			names of keys in the store, and back
 *	store_call.c		asks the store until the answer is definite
 *	resync_pages.c		reads everything under our root, page by page
 *	peers.c			sessions of other members; ends dead ones
 *	member_claim.c		claims as objects, how they end, their deletion
 *	member_queue.c		what an answer says about a queue
 *	batch_list.c		batches as objects
 *	batch_end.c		claims of a batch that end without a grant
 *	batch.c			claims asked for at once, until they are granted
 *	claim_events.c		the key of a claim appears or vanishes
 *	claim_api.c		the functions of recipe.h for claims
 *	queue_watch.c		what a change says about a queue
 *	resync.c		what the pages say: after a gap, and regularly
 *	member_session.c	our session: made, adopted, confirmed, ended
 *	recipe.c		open, close, the engine's hooks, the caller's
 */
#ifndef SHIM_MEMBER_H
#define SHIM_MEMBER_H

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <event2/event_struct.h>
#include "recipe.h"

#define ROOT_MAX 100
#define HOST_MAX 64
#define HEX 16				/* digits of a session, a request */
#define NAME_MAX_LEN (ROOT_MAX + 3 + 3 * CLAIM_KEY_MAX + 3 + 2 * HEX + 2)
#define WHY_MAX 160
#define TTL_MIN_MS 500u
#define TTL_MAX_MS 3600000u

/* A transaction under construction; there is one, r->txn. */
struct txn {
	struct kv_compare compares[KV_OPS_MAX];
	struct kv_op then[KV_OPS_MAX], otherwise[KV_OPS_MAX];
	struct kv_txn t;
};

/* store_call.c */

struct store_call;

struct store_call_ops {
	/* Build it and pass it on; what the engine returned. */
	int (*send)(struct store_call *call);
	void (*done)(struct store_call *call, const struct kv_answer *answer);
	/* NOT_APPLIED, and nothing that was UNKNOWN is out (once: or UNKNOWN).
	 * True: that is all; NULL, or false: it is asked again. */
	bool (*refused)(struct store_call *call,
	    const struct kv_answer *answer);
	/* It will be asked again, and is not under way now.  May be NULL. */
	void (*paused)(struct store_call *call);
	bool once;			/* UNKNOWN is told so, too */
	bool anyway;			/* NOT_APPLIED is told though one that
					 * was UNKNOWN is out */
};

/* Calls of which only LANE_CALLS are under way at a time: recipe.h. */
struct lane {
	TAILQ_HEAD(, store_call) waiting;
	unsigned in_flight;
};

struct store_call {
	TAILQ_ENTRY(store_call) all;	/* r->calls */
	struct recipe *r;
	const struct store_call_ops *ops;
	void *owner;
	void *data;			/* freed with it */
	int64_t number;
	struct lane *lane;		/* or NULL: never waits for others */
	TAILQ_ENTRY(store_call) of_lane;
	bool dropped;			/* nobody wants to know */
	bool in_lane;			/* waits there */
	bool in_flight, notifying;
	bool sent;			/* ever */
	bool unknown;			/* an earlier one may yet be applied */
	unsigned tries;
	uint64_t sent_ns;		/* of the latest */
	struct event timer;
};

/* Asked now, or when there is a store, and when its lane has room.  NULL: no
 * memory. */
struct store_call *store_call_start(struct recipe *r,
    const struct store_call_ops *ops, void *owner, struct lane *lane);
void store_call_drop(struct store_call *call);		/* NULL: nothing */
void store_call_send_all(struct recipe *r);	/* the store is back */
void store_call_free_all(struct recipe *r);

struct txn *txn_begin(struct recipe *r);
void txn_compare(struct txn *t, struct kv_range range, enum kv_subject subject,
    int64_t number);			/* EQUAL */
void txn_require_session(struct recipe *r);	/* ours is alive */
void txn_put(struct recipe *r, struct kv_bytes key, struct kv_bytes value);
void txn_delete(struct txn *t, struct kv_range range);
struct kv_op *txn_get(struct txn *t, bool then, struct kv_range range);
int txn_send(struct store_call *call);
int store_call_grant_lease(struct store_call *call, int64_t id, int64_t ttl_s);
int store_call_revoke_lease(struct store_call *call); /* call->number */
/* In an answer of `otherwise` that begins with a get of our session's key. */
bool txn_has_session(struct recipe *r, const struct kv_answer *answer);

/* names.c */

struct kv_bytes kv_bytes_of_text(const char *s);
struct kv_range kv_range_of_key(struct kv_bytes key);
bool kv_bytes_is_equal(struct kv_bytes a, struct kv_bytes b);

/* What a key of a queue says. */
struct queue_key {
	struct kv_bytes path;		/* "<root>/q/<escaped>/" */
	enum claim_mode mode;
	uint64_t session, request;
};

/* `out` has room for NAME_MAX_LEN + 1. */
void names_format_session(struct recipe *r, uint64_t session, char *out);
size_t names_format_path(struct recipe *r, struct kv_bytes key, char *out);
void names_format_queue_key(const char *path, enum claim_mode mode,
    uint64_t session, uint64_t request, char *out);
bool names_parse_session(struct recipe *r, struct kv_bytes key,
    uint64_t *session);
bool names_parse_queue_key(struct recipe *r, struct kv_bytes key,
    struct queue_key *p);
bool names_parse_name(struct recipe *r, struct kv_bytes path, uint8_t *name,
    size_t *len);			/* name: CLAIM_KEY_MAX bytes */
/* Notes a key of a queue that is no claim of a member: somebody else's. */
void names_note_foreign(struct recipe *r, struct kv_bytes key);
/* The TTL in the value of a session's key; if there is none, `otherwise`. */
unsigned names_parse_ttl(struct kv_bytes value, unsigned otherwise);

/* Claims. */

struct peer_claim {
	uint64_t session, request;
	int64_t create;			/* 0: there is none */
};

#define AHEAD_MAX 6			/* known by name */

/* A name that we have claims of. */
struct member_key {
	RB_ENTRY(member_key) by_path;
	TAILQ_HEAD(, claim) claims;
	/* The latest heard of from the watch: a look that is older is not to be
	 * trusted about it. */
	int64_t deleted;
	int64_t arrived[CLAIM_EXCLUSIVE + 1];
	struct kv_bytes name;
	struct kv_range queue, writers;
	char text[];
};

RB_HEAD(member_keys, member_key);
RB_PROTOTYPE(member_keys, member_key, by_path, )

enum claim_state {
	CLAIM_ASKED,			/* not known to be in the queue */
	CLAIM_QUEUED,
	CLAIM_GRANTED,
	CLAIM_FOUND,			/* of an adopted session */
	CLAIM_LEAVING,			/* its key is to be deleted */
	CLAIM_ENDED			/* to be told, then freed */
};

enum {
	NOTIFY_GRANTED = 1, NOTIFY_ANCHORED = 2, NOTIFY_DENIED = 4,
	NOTIFY_RECALLED = 8, NOTIFY_END = 16
};
enum claim_end { END_SILENT, END_BUSY, END_FAILED, END_LEFT };

struct claim {
	TAILQ_ENTRY(claim) of_key, of_list, of_notify;
	struct recipe *r;
	struct member_key *key;
	struct batch *batch;		/* of_list, if not NULL */
	struct lane *lane;
	void *arg;
	enum claim_mode mode;
	enum claim_state state;
	bool silent;			/* nobody is told of it */
	bool wants_leave, vanished;	/* once nothing is under way */
	bool leave_asked;
	bool in_notify;		/* of_notify */
	uint64_t request;
	int64_t create, revision;
	int64_t deleted;		/* its key; told while it was ASKED */
	/* The peers ahead of us that exclude us.  `sure`: these are all of
	 * them, as of the revision `looked` and all changes since, and nobody
	 * behind us has left; else the newest one. */
	struct peer_claim ahead[AHEAD_MAX];
	unsigned n_ahead;
	bool sure;
	int64_t looked;
	enum claim_mode behind;		/* the strongest that we exclude */
	/* resync.c */
	bool seen;
	struct peer_claim listed;
	enum claim_mode listed_behind;
	/* to be told */
	unsigned notices;
	enum claim_mode recalled;
	enum claim_end end;
	int error;
	char why[WHY_MAX];
	struct kv_bytes own;
	char text[];
};

TAILQ_HEAD(claims, claim);

enum batch_step { BATCH_TRY, BATCH_ENQUEUE, BATCH_WAIT, BATCH_CONFIRM };

struct batch {
	TAILQ_ENTRY(batch) all;		/* r->batches */
	struct recipe *r;
	enum batch_step step;
	bool anchor;			/* a confirmation of a granted claim */
	struct lane *lane;		/* of its claims */
	size_t n;
	struct claims claims;
	struct store_call *call;
};

/* member_claim.c */
struct claim *claim_new(struct recipe *r, struct kv_bytes name,
    enum claim_mode mode, uint64_t request);
/* Its key in the store has our session in it: that of now. */
void claim_set_name(struct claim *c);
void claim_free(struct claim *c);
void claim_notify(struct claim *c, unsigned what);
void claim_end(struct claim *c, enum claim_end end, int error,
    const char *why);
void claim_recall(struct claim *c, enum claim_mode mode);
/* Our key in the store is to be deleted; for the last time looked at it. */
void claim_begin_leaving(struct claim *c);
/* A key of ours that no claim is known for. */
void claim_delete_unknown(struct recipe *r, const struct queue_key *p);
/* It has ended, and its key has not. */
void claim_delete_leftover(struct claim *c);
/* That is its end; a late sending may have put the key again, which goes. */
void claim_end_deleted(struct claim *c);
void claims_send_leaving(struct recipe *r);
/* Deletions under way are not waited for any more. */
void claims_drop_leaving(struct recipe *r);
struct claim *claim_find(struct member_key *k, uint64_t request);
struct member_key *member_key_find(struct recipe *r, struct kv_bytes path);

/* claim_events.c */
/* Its key is told of, before the answer is, or after it was (to be) deleted. */
void claim_key_appeared(struct claim *c, int64_t create);
/* Its key was deleted, by somebody. */
void claim_key_vanished(struct claim *c);
void claims_free_all(struct recipe *r);	/* told nothing */
void claims_end_session(struct recipe *r, const char *why);

/* batch_list.c */
struct batch *batch_new(struct recipe *r, enum batch_step step);
void batch_add(struct batch *b, struct claim *c);
void batch_remove(struct batch *b, struct claim *c);
void batch_free(struct batch *b);	/* and none of its claims */

/* batch.c */
void batch_start(struct batch *b);
/* batch_end_leavers(), then batch_check_turn(): the batch may be gone after
 * it. */
void batch_settle(struct batch *b);
/* Is it our turn?  revision: of the deletion that may have made it so; 0: of
 * none. */
void batch_check_turn(struct batch *b, int64_t revision);

/* batch_end.c */
/* All of them, whose keys are not there. */
void batch_fail(struct batch *b, enum claim_end end, int error,
    const char *why);
/* It ends; its key, if that is there for all we know, goes. */
void batch_end_claim(struct batch *b, struct claim *c, bool is_there,
    enum claim_end end, int error, const char *why);
/* Ends the claims that are to leave, or whose keys have vanished, unless
 * something is under way.  True if the others are to be checked; false if there
 * are none, and the batch is gone, or something is under way. */
bool batch_end_leavers(struct batch *b);
/* What a try, an enqueueing; a confirmation is refused (store_call_ops). */
bool batch_handle_refusal(struct store_call *call,
    const struct kv_answer *answer);
bool batch_handle_confirm_refusal(struct store_call *call,
    const struct kv_answer *answer);
/* The store has gone: what only was to be tried, and surely was not. */
void batches_fail_tries(struct recipe *r, const char *why);

/* member_queue.c */
bool queue_modes_exclude(enum claim_mode a, enum claim_mode b);
void queue_note_arrivals(struct claim *c, int64_t revision);
bool queue_read(struct claim *c, const struct kv_result *q, int64_t revision);
/* What was found at that revision, or nobody. */
void queue_set_ahead(struct claim *c, const struct peer_claim *newest,
    int64_t revision);
void queue_describe_holder(struct claim *c, const struct kv_result *q,
    char *out, size_t len);

/* queue_watch.c */
void queue_note_gap(struct recipe *r, int64_t revision);
void queue_changed(struct recipe *r, const struct kv_change *c,
    const struct queue_key *p);

/* member_session.c */
enum session_state {
	SESSION_NONE,			/* nothing is asked yet */
	SESSION_LOOK,			/* at the one to adopt */
	SESSION_LEASE,
	SESSION_MAKE,
	SESSION_UP,
	SESSION_RETIRE,
	SESSION_RETIRED
};

#define SESSION_ENDED "the session was ended by another host, or by hand"

void session_begin(struct recipe *r);
void session_lost(struct recipe *r, const char *why);
void session_changed(struct recipe *r, const struct kv_change *c);
void session_stop(struct recipe *r);
void session_on_timer(evutil_socket_t fd, short what, void *r);

/* timers.c */
uint64_t timers_boottime_ns(void);
unsigned timers_jitter_ms(unsigned ms);	/* 1/2 to 3/2 of it */
void timers_start(struct event *ev, unsigned ms);

/* peers.c */
struct peer {
	RB_ENTRY(peer) by_name;
	struct recipe *r;
	uint64_t name;
	int64_t create, mod, lease;
	uint64_t seen_ns;		/* when `mod` was first heard of */
	unsigned ttl_ms, jitter_ms;
	bool listed;
	struct store_call *call;		/* to end it */
};

RB_HEAD(peers, peer);

struct peer *peer_find(struct recipe *r, uint64_t name);
void peer_heard(struct recipe *r, uint64_t name, const struct kv_pair *p);
void peer_ended(struct recipe *r, uint64_t name);
/* Around a look at all sessions: those not heard of in it are gone. */
void peers_clear_listed(struct recipe *r);
void peers_end_unlisted(struct recipe *r, int64_t revision);
void peers_on_timer(evutil_socket_t fd, short what, void *r);
void peers_free(struct recipe *r);
/* Also deletes all keys under the lease; if that fails, a resync finds them. */
void peers_revoke_lease(struct recipe *r, int64_t lease);

/* resync_pages.c */
enum adopting { ADOPT_NO, ADOPT_FIRST, ADOPT_SECOND };
void resync_start(struct recipe *r, bool because_of_gap);
void resync_soon(struct recipe *r, unsigned ms);
void resync_on_timer(evutil_socket_t fd, short what, void *r);
void resync_next_page(struct recipe *r);

/* resync.c */
void resync_page_done(struct store_call *call, const struct kv_answer *answer);

enum {
	NOTIFY_STORE = 1, NOTIFY_LOST = 2, NOTIFY_UP = 4, NOTIFY_ALIVE = 8,
	NOTIFY_FOREIGN = 16, NOTIFY_FOUND = 32, NOTIFY_MARK = 64,
	NOTIFY_RETIRED = 128
};

struct recipe {
	struct recipe_opts o;
	struct engine *e;
	char root[ROOT_MAX + 1], host[HOST_MAX + 1];
	struct txn txn;
	TAILQ_HEAD(, store_call) calls;
	struct lane lanes[RECIPE_LANES];
	enum kv_state store;
	bool stopped;			/* retired, or about to be */

	enum session_state state;
	struct recipe_session session;
	int64_t lease;
	unsigned ttl_ms;		/* of this one */
	bool adopted, settled;
	uint64_t until_ns;
	struct store_call *session_call;
	struct event session_timer;
	unsigned losses;		/* in a row */
	char session_key[ROOT_MAX + HEX + 8];
	char session_value[HOST_MAX + 24];

	uint64_t requests;		/* the next one's number */
	struct member_keys keys;
	int64_t watched;		/* all changes since are told */
	TAILQ_HEAD(, batch) batches;
	struct claims leaving, found, to_notify;
	struct claim *keeping;		/* found() is being called for it */

	struct peers peers;
	struct event peers_timer;
	uint64_t peers_due_ns;		/* when it was to be, or earlier */
	char peer_key[ROOT_MAX + HEX + 8];

	struct event resync_timer;
	struct store_call *resync_call;
	bool resync_again;
	bool resync_no_memory;		/* for what was found */
	int64_t resync_revision;
	enum adopting adopting;
	enum adopting pass;		/* as of its beginning */
	char resync_from[NAME_MAX_LEN + 2];
	size_t resync_from_len;

	/* Functions of files above, for those below: set by recipe_open(). */
	void (*on_answered)(struct recipe *r);	/* an answer was handled */
	void (*on_session_ended)(struct recipe *r, const char *why);
	void (*on_page)(struct store_call *call,
	    const struct kv_answer *answer);

	struct event soon;
	unsigned notices;
	bool *freed;			/* notify_all() wants to know */
	uint64_t marked_ns;
	struct kv_mark marked;
	char why[WHY_MAX], lost_why[WHY_MAX];
	char foreign[WHY_MAX];		/* the latest, in words */
	bool foreign_at_start;		/* before listed_all */
	bool listed_all;		/* a whole look has ended, ever */
	struct recipe_stats stats;
};

/* Tells the caller's hooks what there is, soon: from the loop, or when what the
 * loop called is done. */
static inline void
recipe_notify_soon(struct recipe *r)
{
	if (r->freed == NULL)
		event_active(&r->soon, 0, 0);
}

#endif
