/* SPDX-License-Identifier: MIT */
/*
 * Declares what the files of a member share.  Together they implement
 * recipe.h.  A file calls only files above it in this list:
 *
 *	timers.c		the clock, jitter, timers
 *	names.c			names of keys in the store, and their parts
 *	store_call.c		repeats calls to the store until they are
 *				definite
 *	resync_pages.c		reads all keys under our root, page by page
 *	peers.c			sessions of other members; ends dead ones
 *	member_claim.c		claims as objects, how they end and are deleted
 *	member_queue.c		what an answer says about a queue
 *	batch_list.c		batches as objects
 *	batch_end.c		claims of a batch that end without a grant
 *	batch.c			requests claims together until they are granted
 *	claim_events.c		the key of a claim appears or vanishes
 *	claim_api.c		the functions of recipe.h for claims
 *	queue_watch.c		what a watched change says about a queue
 *	resync.c		what the pages of a full read say
 *	member_session.c	our session: made, adopted, confirmed, ended
 *	recipe.c		open, close, hooks of the engine and the caller
 */
#ifndef SHIM_MEMBER_H
#define SHIM_MEMBER_H

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <event2/event_struct.h>
#include "recipe.h"

#define ROOT_MAX 100
#define HOST_MAX 64
#define HEX 16		/* digits of a session's name or a request's number */
#define NAME_MAX_LEN (ROOT_MAX + 3 + 3 * CLAIM_KEY_MAX + 3 + 2 * HEX + 2)
#define WHY_MAX 160
#define TTL_MIN_MS 500u
#define TTL_MAX_MS 3600000u

/* A transaction under construction.  There is one at a time: r->txn. */
struct txn {
	struct kv_compare compares[KV_OPS_MAX];
	struct kv_op then[KV_OPS_MAX], otherwise[KV_OPS_MAX];
	struct kv_txn t;
};

/* store_call.c: calls that are repeated until their outcome is definite. */

struct store_call;

struct store_call_ops {
	/* Builds the call and sends it.  Returns what the engine returned. */
	int (*send)(struct store_call *call);
	/* The call was applied. */
	void (*done)(struct store_call *call, const struct kv_answer *answer);
	/* The call was NOT_APPLIED, and no earlier sending is still UNKNOWN.
	 * (With `once`: or it is UNKNOWN.)  True: the call is over.  False, or
	 * a NULL pointer: it is sent again. */
	bool (*refused)(struct store_call *call,
	    const struct kv_answer *answer);
	/* The call will be sent again and is not in flight now.  May be
	 * NULL. */
	void (*paused)(struct store_call *call);
	bool once;			/* UNKNOWN is reported to refused(),
					 * too */
	bool anyway;			/* NOT_APPLIED is reported even if an
					 * earlier sending is UNKNOWN */
};

/* A group of calls of which LANE_CALLS may be in flight (recipe.h). */
struct lane {
	TAILQ_HEAD(, store_call) waiting;
	unsigned in_flight;
};

struct store_call {
	TAILQ_ENTRY(store_call) all;	/* in r->calls */
	struct recipe *r;
	const struct store_call_ops *ops;
	void *owner;
	void *data;			/* freed with the call */
	int64_t number;
	struct lane *lane;		/* or NULL: never waits */
	TAILQ_ENTRY(store_call) of_lane;
	bool dropped;			/* its answer will be ignored */
	bool in_lane;			/* waits in its lane */
	bool in_flight, notifying;
	bool sent;			/* at least once */
	bool unknown;			/* an earlier sending may still be
					 * applied */
	unsigned tries;
	uint64_t sent_ns;		/* time of the latest sending */
	struct event timer;
};

/* Starts a call, which is sent when the store is there and its lane has room.
 * Returns NULL without memory. */
struct store_call *store_call_start(struct recipe *r,
    const struct store_call_ops *ops, void *owner, struct lane *lane);
void store_call_drop(struct store_call *call);		/* accepts NULL */
void store_call_send_all(struct recipe *r);	/* when the store is back */
void store_call_free_all(struct recipe *r);

struct txn *txn_begin(struct recipe *r);
void txn_compare(struct txn *t, struct kv_range range, enum kv_subject subject,
    int64_t number);			/* compares for KV_EQUAL */
void txn_require_session(struct recipe *r);	/* compares our session's key,
						 * as alive */
void txn_put(struct recipe *r, struct kv_bytes key, struct kv_bytes value);
void txn_delete(struct txn *t, struct kv_range range);
struct kv_op *txn_get(struct txn *t, bool then, struct kv_range range);
int txn_send(struct store_call *call);
int store_call_grant_lease(struct store_call *call, int64_t id, int64_t ttl_s);
/* revokes lease call->number */
int store_call_revoke_lease(struct store_call *call);
/* True if our session is alive according to an answer of `otherwise`.  The
 * answer's first result must be the get of our session's key. */
bool txn_has_session(struct recipe *r, const struct kv_answer *answer);

/* names.c: names of keys in the store. */

struct kv_bytes kv_bytes_of_text(const char *s);
struct kv_range kv_range_of_key(struct kv_bytes key);
bool kv_bytes_is_equal(struct kv_bytes a, struct kv_bytes b);

/* The parts of a key in a queue. */
struct queue_key {
	struct kv_bytes path;		/* "<root>/q/<escaped>/" */
	enum claim_mode mode;
	uint64_t session, request;
};

/* `out` must have room for NAME_MAX_LEN + 1 bytes. */
void names_format_session(struct recipe *r, uint64_t session, char *out);
size_t names_format_path(struct recipe *r, struct kv_bytes key, char *out);
void names_format_queue_key(const char *path, enum claim_mode mode,
    uint64_t session, uint64_t request, char *out);
bool names_parse_session(struct recipe *r, struct kv_bytes key,
    uint64_t *session);
bool names_parse_queue_key(struct recipe *r, struct kv_bytes key,
    struct queue_key *p);
bool names_parse_name(struct recipe *r, struct kv_bytes path, uint8_t *name,
    size_t *len);			/* name: room for CLAIM_KEY_MAX bytes */
/* Notes a key among the queues that no member has written. */
void names_note_foreign(struct recipe *r, struct kv_bytes key);
/* Returns the TTL in a session's value, or `otherwise` if it has none. */
unsigned names_parse_ttl(struct kv_bytes value, unsigned otherwise);

/* Claims. */

/* A claim of another member, or another claim of ours, in a queue. */
struct peer_claim {
	uint64_t session, request;
	int64_t create;			/* 0: no claim */
};

#define AHEAD_MAX 6			/* most claims ahead that are known by
					 * name */

/* A key that this member has claims of. */
struct member_key {
	RB_ENTRY(member_key) by_path;
	TAILQ_HEAD(, claim) claims;
	/* The latest revisions of a deletion and of arrivals that the watch
	 * reported.  An older read of the queue must not override them. */
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
	CLAIM_FOUND,			/* belongs to an adopted session */
	CLAIM_LEAVING,			/* its key is to be deleted */
	CLAIM_ENDED			/* to be reported, then freed */
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
	struct batch *batch;		/* if not NULL, of_list links its
					 * claims */
	struct lane *lane;
	void *arg;
	enum claim_mode mode;
	enum claim_state state;
	bool silent;			/* nothing is reported of it */
	bool wants_leave, vanished;	/* act on it when no call is in
					 * flight */
	bool leave_asked;
	bool in_notify;		/* of_notify is linked */
	uint64_t request;
	int64_t create, revision;
	int64_t deleted;		/* deletion of its key that was reported
					 * while the claim was ASKED */
	/* The claims ahead that exclude this one.  `sure`: these are all of
	 * them, as of revision `looked` and all changes since, and nobody
	 * behind has left.  Otherwise ahead[0] is the newest one. */
	struct peer_claim ahead[AHEAD_MAX];
	unsigned n_ahead;
	bool sure;
	int64_t looked;
	enum claim_mode behind;		/* strongest mode behind us that we
					 * exclude */
	/* used by resync.c */
	bool seen;
	struct peer_claim listed;
	enum claim_mode listed_behind;
	/* to be reported */
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
	TAILQ_ENTRY(batch) all;		/* in r->batches */
	struct recipe *r;
	enum batch_step step;
	bool anchor;			/* draws a new revision for a granted
					 * claim */
	struct lane *lane;		/* the lane of its claims */
	size_t n;
	struct claims claims;
	struct store_call *call;
};

/* member_claim.c: claims as objects. */
struct claim *claim_new(struct recipe *r, struct kv_bytes name,
    enum claim_mode mode, uint64_t request);
/* Sets the name of the claim's key in the store, which contains our current
 * session. */
void claim_set_name(struct claim *c);
void claim_free(struct claim *c);
void claim_notify(struct claim *c, unsigned what);
/* Ends a claim: its end will be reported, and then it is freed. */
void claim_end(struct claim *c, enum claim_end end, int error,
    const char *why);
/* Reports that a member behind us wants `mode`, unless that was reported
 * before. */
void claim_recall(struct claim *c, enum claim_mode mode);
/* Starts the deletion of the claim's key.  The claim belongs to r->leaving
 * now. */
void claim_begin_leaving(struct claim *c);
/* Deletes a key of our session that belongs to no known claim. */
void claim_delete_unknown(struct recipe *r, const struct queue_key *p);
/* Deletes the key of a claim that has ended. */
void claim_delete_leftover(struct claim *c);
/* Ends a claim whose key was deleted.  A late sending may have put the key
 * again, so the key is deleted once more. */
void claim_end_deleted(struct claim *c);
void claims_send_leaving(struct recipe *r);
/* Stops waiting for the deletions that are in flight. */
void claims_drop_leaving(struct recipe *r);
struct claim *claim_find(struct member_key *k, uint64_t request);
struct member_key *member_key_find(struct recipe *r, struct kv_bytes path);

/* claim_events.c: events that happen to claims. */
/* Handles the news that the claim's key is in the store.  That can come before
 * the answer, or after the key was deleted. */
void claim_key_appeared(struct claim *c, int64_t create);
/* Handles the deletion of the claim's key by somebody else. */
void claim_key_vanished(struct claim *c);
void claims_free_all(struct recipe *r);	/* without any report */
void claims_end_session(struct recipe *r, const char *why);

/* batch_list.c: batches as objects. */
struct batch *batch_new(struct recipe *r, enum batch_step step);
void batch_add(struct batch *b, struct claim *c);
void batch_remove(struct batch *b, struct claim *c);
void batch_free(struct batch *b);	/* does not free its claims */

/* batch.c: requests claims until they are granted. */
/* Sends the batch's current step, if it is not in flight.  The batch may be
 * freed. */
void batch_start(struct batch *b);
/* Calls batch_end_leavers() and then batch_check_turn().  The batch may be
 * freed. */
void batch_settle(struct batch *b);
/* Grants or confirms the batch if nobody is ahead.  `revision` is that of a
 * deletion that may have caused this, or 0.  The batch may be freed. */
void batch_check_turn(struct batch *b, int64_t revision);

/* batch_end.c: claims that end without a grant. */
/* Ends all claims of a batch whose keys are not in the store. */
void batch_fail(struct batch *b, enum claim_end end, int error,
    const char *why);
/* Ends one claim of a batch.  is_there: its key is in the store, as far as is
 * known, and is deleted. */
void batch_end_claim(struct batch *b, struct claim *c, bool is_there,
    enum claim_end end, int error, const char *why);
/* Ends the claims that are to be left or whose keys have vanished, unless a
 * call is in flight.  Returns true if other claims remain.  Returns false if a
 * call is in flight, or if the batch is empty and was freed. */
bool batch_end_leavers(struct batch *b);
/* Handle a refusal of TRY or ENQUEUE, and of CONFIRM
 * (store_call_ops.refused). */
bool batch_handle_refusal(struct store_call *call,
    const struct kv_answer *answer);
bool batch_handle_confirm_refusal(struct store_call *call,
    const struct kv_answer *answer);
/* Fails the tries that certainly were not sent, because the store is away. */
void batches_fail_tries(struct recipe *r, const char *why);

/* member_queue.c: what an answer says about a queue. */
bool queue_modes_exclude(enum claim_mode a, enum claim_mode b);
/* Notes members that queued after `revision`, which an answer does not show. */
void queue_note_arrivals(struct claim *c, int64_t revision);
/* Learns from the queue `q`, read at `revision`, who is ahead of a claim.
 * Returns false if the claim's own key is missing, or was deleted after
 * that. */
bool queue_read(struct claim *c, const struct kv_result *q, int64_t revision);
/* Notes that `newest` is ahead of a claim as of `revision`; NULL: nobody. */
void queue_set_ahead(struct claim *c, const struct peer_claim *newest,
    int64_t revision);
/* Writes a description of the oldest claim that excludes `c`; "" if there is
 * none. */
void queue_describe_holder(struct claim *c, const struct kv_result *q,
    char *out, size_t len);

/* queue_watch.c: what a watched change says about a queue. */
/* Notes that changes before `revision` may have been missed. */
void queue_note_gap(struct recipe *r, int64_t revision);
/* Handles a change of a queue's key. */
void queue_changed(struct recipe *r, const struct kv_change *c,
    const struct queue_key *p);

/* member_session.c: our session. */
enum session_state {
	SESSION_NONE,			/* nothing was sent yet */
	SESSION_LOOK,			/* reads the session to adopt */
	SESSION_LEASE,
	SESSION_MAKE,
	SESSION_UP,
	SESSION_RETIRE,
	SESSION_RETIRED
};

#define SESSION_ENDED "the session was ended by another host, or by hand"

void session_begin(struct recipe *r);
/* Ends a session that is dead, or was never made, and schedules the next
 * one. */
void session_lost(struct recipe *r, const char *why);
void session_changed(struct recipe *r, const struct kv_change *c);
/* Removes our session from the store. */
void session_stop(struct recipe *r);
void session_on_timer(evutil_socket_t fd, short what, void *r);

/* timers.c: the clock, jitter, timers. */
uint64_t timers_boottime_ns(void);
unsigned timers_jitter_ms(unsigned ms);	/* random, 1/2 to 3/2 of ms */
void timers_start(struct event *ev, unsigned ms);

/* peers.c: sessions of other members. */
struct peer {
	RB_ENTRY(peer) by_name;
	struct recipe *r;
	uint64_t name;
	int64_t create, mod, lease;
	uint64_t seen_ns;		/* when `mod` was first seen */
	unsigned ttl_ms, jitter_ms;
	bool listed;
	struct store_call *call;		/* deletes its key */
};

RB_HEAD(peers, peer);

struct peer *peer_find(struct recipe *r, uint64_t name);
void peer_heard(struct recipe *r, uint64_t name, const struct kv_pair *p);
void peer_ended(struct recipe *r, uint64_t name);
/* Called before and after all sessions are read.  Peers that were not listed in
 * between are gone. */
void peers_clear_listed(struct recipe *r);
void peers_end_unlisted(struct recipe *r, int64_t revision);
void peers_on_timer(evutil_socket_t fd, short what, void *r);
void peers_free(struct recipe *r);
/* Returns for how long a right of any known session may outlive the store. */
unsigned peers_outlive_ms(struct recipe *r);
/* Tells the engine. */
void peers_set_outlive(struct recipe *r, unsigned ms);
/* Revokes a lease, which deletes all keys under it.  If that fails, a resync
 * finds the keys. */
void peers_revoke_lease(struct recipe *r, int64_t lease);

/* resync_pages.c: reads all keys under our root. */
enum adopting { ADOPT_NO, ADOPT_FIRST, ADOPT_SECOND };
/* Reads everything now; if a read is in progress, once more after it. */
void resync_start(struct recipe *r, bool because_of_gap);
/* Reads everything in `ms` at the latest. */
void resync_soon(struct recipe *r, unsigned ms);
void resync_on_timer(evutil_socket_t fd, short what, void *r);
void resync_next_page(struct recipe *r);

/* resync.c: what the pages say. */
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
	bool stopped;			/* retired, or retiring */

	enum session_state state;
	struct recipe_session session;
	int64_t lease;
	unsigned ttl_ms;		/* TTL of the present session */
	bool adopted, settled;
	uint64_t until_ns;
	struct store_call *session_call;
	struct event session_timer;
	unsigned losses;		/* sessions lost in a row */
	char session_key[ROOT_MAX + HEX + 8];
	char session_value[HOST_MAX + 24];

	uint64_t requests;		/* number of the next request */
	struct member_keys keys;
	int64_t watched;		/* all later changes are reported */
	TAILQ_HEAD(, batch) batches;
	struct claims leaving, found, to_notify;
	struct claim *keeping;		/* found() is called for it */

	struct peers peers;
	struct event peers_timer;
	uint64_t peers_due_ns;		/* when the timer fires, or earlier */
	char peer_key[ROOT_MAX + HEX + 8];

	struct event resync_timer;
	struct store_call *resync_call;
	bool resync_again;
	bool resync_no_memory;		/* a found claim had no memory */
	int64_t resync_revision;
	enum adopting adopting;
	enum adopting pass;		/* `adopting` when the read began */
	char resync_from[NAME_MAX_LEN + 2];
	size_t resync_from_len;

	/* Functions of files further down in the list, called by files above
	 * them.  Set by recipe_open(). */
	void (*on_answered)(struct recipe *r);	/* it was handled */
	void (*on_session_ended)(struct recipe *r, const char *why);
	void (*on_page)(struct store_call *call,
	    const struct kv_answer *answer);

	struct event soon;
	unsigned notices;
	bool *freed;			/* true: the member is freed */
	uint64_t marked_ns;
	struct kv_mark marked;
	unsigned outlive_ms;		/* the engine's mark has it */
	char why[WHY_MAX], lost_why[WHY_MAX];
	char refusal[WHY_MAX];		/* why changes are refused, or "" */
	char foreign[WHY_MAX];		/* describes the latest foreign key */
	bool foreign_at_start;		/* it was seen before listed_all */
	bool listed_all;		/* a full read has completed */
	struct recipe_stats stats;
};

/* Schedules notify_all(), unless it is running already. */
static inline void
recipe_notify_soon(struct recipe *r)
{
	if (r->freed == NULL)
		event_active(&r->soon, 0, 0);
}

#endif
