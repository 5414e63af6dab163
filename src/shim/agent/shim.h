/* SPDX-License-Identifier: MIT */
/*
 * Declares what the files of the shim share.  A shim connects one table to the
 * cluster.  A file calls only files above it in this list:
 *
 *	metrics.c		counters
 *	shim_state.c		the state file
 *	shim_table.c		reads and writes the table
 *	local_hold.c		the shim's own lease on a key of this host
 *	users.c			the budget of each user
 *	shim_keys.c		the keys that the shim knows
 *	client.c		the socket
 *	questions.c		questions of clients, asked in turn
 *	requests.c		which client wants which keys
 *	cluster_claim.c		the host's claim of a key in the cluster
 *	host.c			this host's session in the cluster
 *	key_step.c		the next action for a key
 *	cluster_claim_hooks.c	handles events of claims
 *	key_upkeep.c		steps touched keys, renews leases, drops keys
 *	dispatch.c		handles the frames of clients
 *	turns.c			reads the frames of clients, each user in turn
 *	shim.c			opens and closes a shim
 *
 * The program adds shim_conf.c, shim_loop.c and shim_main.c.
 *
 * There are no globals: a test runs two hosts in one process.  One libevent
 * loop drives everything, and nothing blocks.
 */
#ifndef SHIM_SHIM_H
#define SHIM_SHIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <event2/event.h>
#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <leasehold.h>
#include "base/bits.h"
#include "base/clock.h"
#include "base/frame.h"
#include "shim/member/recipe.h"
#include "shm/key_slot.h"

#define SHIM_WHY_MAX 512	/* room for a sentence */
#define SHIM_REQUESTS_MAX 256	/* open requests of a connection */
#define SHIM_QUERIES_MAX 8	/* open questions of a connection */
#define SHIM_CREDIT 400		/* frames of a connection in 100 ms */
#define USER_QUANTUM 64		/* frames and wanted keys in a user's turn */
#define SHIM_LATENCIES 16	/* classes: 0.25 ms, 0.5 ms, ... */

struct shim;
struct key;
struct request;
struct request_key;
struct client;
struct question;
struct query;
struct cluster_claim;
struct state_saver;

struct shim_opts {
	struct event_base *base;
	const char *table;		/* NULL: default, as in lh_open() */
	uint32_t table_flags;		/* LH_SYSTEM or 0 */
	recipe_engine_fn *engine;
	void *engine_arg;
	const char *root, *host;	/* recipe.h */
	unsigned ttl_ms, timeout_ms;
	const char *socket;		/* path of the socket */
	unsigned socket_mode;
	const char *state_file;		/* "": no state file */
	unsigned max_clients, max_keys;
	unsigned hold_min_ms;		/* waiting local processes keep a key */
	int64_t idle_ms;		/* to return unused keys; 0: never */
	/* The shim cannot go on and is to be closed; from the loop. */
	void (*over)(const char *why, void *arg);
	void *arg;
};

/* Counters of a shim. */
struct shim_counts {
	uint64_t answers[FRAME_TEXT + 1];	/* by type of frame */
	uint64_t clients, refused;	/* accepted; turned away */
	uint64_t taken, returned, reanchored;	/* rights of this host */
	uint64_t recalls;		/* keys that other hosts queued for */
	uint64_t foreign;		/* locks of other programs */
	uint64_t lost, broken;		/* sessions; keys with broken leases */
	uint64_t latency[SHIM_LATENCIES + 1];	/* from claim to answer */
	uint64_t latency_us;
	int64_t margin_min_ns;		/* least time left when D was moved;
					 * INT64_MAX: it never was */
};

/* Stronger than any right: a newer base for an existing right. */
#define DENY_NEWER (RIGHT_EXCLUSIVE + 1u)

/* The shim's own lease on a key (local_hold.c). */
struct local_hold {
	enum { LOCAL_HOLD_NONE, LOCAL_HOLD_WAITS, LOCAL_HOLD_HELD } state;
	bool first;		/* waits with the highest priority */
	struct lh_ticket *ticket;
	struct event *ready;
	struct lh_lease lease;
};

/* A user whose processes ask the shim (users.c). */
struct user {
	TAILQ_ENTRY(user) all;		/* users whose last question is oldest
					 * come first (questions.c) */
	uid_t uid;
	bool is_trusted;		/* root, or the shim's own user */
	unsigned lane;			/* lane of its claims (recipe.h) */
	unsigned n_clients, n_questions;
	unsigned n_keys, n_claims;	/* keys that it wanted first; claims of
					 * them in the cluster, including those
					 * being left */
	unsigned n_wanted;		/* keys of its open requests */
	int left;			/* frames left in its turn (turns.c) */
	TAILQ_HEAD(, client) parked;
	TAILQ_HEAD(, question) questions;	/* not asked yet */
	TAILQ_HEAD(, key) idle;		/* longest unchecked first */
};

/* A key that is wanted here or that this host has a right to (shim_keys.c). */
struct key {
	RB_ENTRY(key) by_name;
	TAILQ_ENTRY(key) of;		/* in the user's idle list (it has a
					 * right and needs no action) or in
					 * s->busy */
	TAILQ_ENTRY(key) touched;	/* in s->touched */
	bool is_idle, is_touched;
	struct shim *s;
	struct user *user;		/* the first user who wanted it */
	struct local_hold hold;
	struct cluster_claim *claim;	/* our claim of it, or NULL */
	unsigned right;			/* the right in the table: RIGHT_... */
	struct lhi_ref ref;		/* its slot in the table */
	int64_t base;			/* revision of its base in the table */
	unsigned recalled;		/* other hosts wait for it: RIGHT_... */
	bool must_return;		/* return it even if nobody waits */
	bool fresh;			/* granted, maybe not acquired yet */
	int64_t since_ns;		/* when the right was set */
	int64_t looked_ns;		/* idle: when it was last checked */
	uint64_t looked;		/* lock word then; 0: not checked */
	int64_t return_since_ns;	/* to be returned since; 0: no */
	TAILQ_HEAD(request_keys, request_key) requests;
	unsigned n_exclusive;		/* exclusive ones among the requests */
	unsigned waiters_mode;		/* strongest mode of local waiters
					 * without a request: RIGHT_... */
	int64_t busy_after_ns;		/* tries queue until then; 0: no */
	unsigned denied;		/* requests for this mode or a stronger
					 * one are denied until denied_ns:
					 * RIGHT_..., DENY_... */
	int64_t denied_ns;		/* end of the denial */
	char *reason;			/* of the denial; or NULL */
	char *busy_by;			/* who has it; or NULL */
	struct event *timer;		/* or NULL */
	size_t len;
	char name[];			/* includes the table's prefix */
};

/* One key of one request (requests.c). */
struct request_key {
	TAILQ_ENTRY(request_key) of_key;
	struct key *key;		/* NULL: granted */
	struct request *request;
	unsigned mode;			/* RIGHT_... */
	int64_t above;			/* needs a base above that revision */
};

/* A WANT frame of a client (requests.c). */
struct request {
	TAILQ_ENTRY(request) of_client;
	TAILQ_ENTRY(request) all, of_tries;
	struct client *client;
	uint32_t id;
	bool try, answered, several;	/* (keys) */
	int64_t began_ns, until_ns;	/* CLOCK_MONOTONIC */
	unsigned n, left;		/* keys; keys not granted yet */
	struct request_key key[];
};

/* The host's claim of a key in the cluster (cluster_claim.c). */
struct cluster_claim {
	TAILQ_ENTRY(cluster_claim) all;
	struct shim *s;
	struct key *key;		/* NULL: it is being left */
	struct user *user;
	struct claim *handle;
	unsigned mode;			/* RIGHT_... */
	bool try, granted, anchoring;
	bool returning;			/* to be left once held locally */
	bool several;			/* requested together with others */
	int64_t revision, asked_ns;
	int64_t create;			/* when it queued, if found; else 0 */
};

TAILQ_HEAD(requests, request);

/* A connection (client.c). */
struct client {
	TAILQ_ENTRY(client) of;		/* in s->clients, by silence */
	struct shim *s;
	TAILQ_ENTRY(client) parked;
	int fd;
	struct user *user;
	struct event *ready;
	struct requests requests;
	TAILQ_HEAD(, query) queries;
	unsigned n_requests, n_queries;
	unsigned credit;		/* frames until it is paused */
	bool greeted;			/* it sent our table's uuid */
	bool paused, doomed, is_parked;
};

struct shim {
	struct shim_opts o;
	/* Functions of files further down in the list, called by files above
	 * them.  Set by shim_open(). */
	void (*on_key)(struct key *k);		/* key_step() */
	bool (*on_frame)(struct client *c, const struct lhi_frame *f);
	void (*on_client_gone)(struct client *c);
	event_callback_fn on_readable;
	struct lh *lh;
	struct lhi_view *v;
	size_t prefix_len;		/* length of cluster prefix */
	int byte_fd;			/* locks the shim's byte */
	char socket[SHM_SOCKET];
	struct recipe *recipe;
	struct recipe_hooks hooks;
	/* the session */
	struct recipe_session session;
	uint64_t epoch, until_ns;
	uint64_t up_ns;			/* when the session came up */
	bool up, settled, expired;	/* expired: D has passed */
	bool adopt_timed_out;		/* its claims were not found in time */
	bool starting;			/* nothing is known of the store yet */
	bool looked;			/* all rights in the table were read */
	bool ending, over;
	enum kv_state store;
	char why[SHIM_WHY_MAX];		/* why the store cannot be used */
	struct event *deadline_timer;	/* fires at D */
	int64_t foreign_ns;		/* when one was last logged */
	struct kv_mark mark;
	struct state_saver *saver;
	/* keys */
	RB_HEAD(keys, key) keys;
	TAILQ_HEAD(, cluster_claim) claims;
	TAILQ_HEAD(, key) busy, touched;
	unsigned n_keys, n_rights, most_keys;
	struct event *step;		/* steps the touched keys */
	struct event *sweep;
	int64_t renewed_ns;		/* last renewal of local leases */
	/* clients */
	int listen_fd;
	dev_t socket_dev;
	ino_t socket_ino;
	struct event *listener, *accept_timer, *refill, *round, *ask;
	TAILQ_HEAD(, client) clients;
	TAILQ_HEAD(, user) users;
	struct user *self;		/* the shim's own user */
	unsigned users_made;
	TAILQ_HEAD(, question) asked;	/* sent to the store */
	unsigned n_asked;
	struct requests requests, tries;	/* oldest first */
	struct event *try_timer;
	struct request *handling;	/* request in progress, or NULL */
	unsigned n_clients, n_requests;
	/* the end */
	void (*ended)(void *arg);
	struct event *end_timer;
	int64_t end_ns;
	bool retiring;
	struct shim_counts count;
};

static inline int64_t
shim_now_ns(void)
{
	return lhi_clock_ns(CLOCK_MONOTONIC);
}

static inline unsigned
shim_right_of_mode(enum claim_mode mode)
{
	return mode == CLAIM_SHARED ? RIGHT_SHARED : RIGHT_EXCLUSIVE;
}

/* Returns why no key can be granted now. */
static inline const char *
shim_why_away(const struct shim *s)
{
	return s->ending ? "the shim is ending" : s->why[0] != '\0' ? s->why :
	    "there is no session with the cluster yet";
}

/* Returns why the cluster, which is there, refuses changes, or "". */
static inline const char *
shim_refusal(const struct shim *s)
{
	return s->recipe == NULL ? "" : recipe_refusal(s->recipe);
}

static inline uint64_t
shim_boot_ns(void)
{
	return (uint64_t)lhi_clock_ns(CLOCK_BOOTTIME);
}

/* metrics.c */
void metrics_add_latency(struct shim *s, int64_t ns);
/* Writes the metrics in Prometheus' text format. */
void metrics_write(const struct shim *s, FILE *f);

/* shim_state.c: reads the mark.  Returns 0, or -errno and a sentence. */
int shim_state_read(const char *path, struct kv_mark *m,
    char why[SHIM_WHY_MAX]);
/* Starts the thread that writes the state file (a disk may be slow). */
struct state_saver *state_saver_new(const char *path);
void state_saver_save(struct state_saver *sv, const struct kv_mark *m);
/* Ends the thread after it has written the latest mark.  Returns false if the
 * disk does not answer; the thread then closes byte_fd when it is done. */
bool state_saver_free(struct state_saver *sv, int byte_fd);

/* shim_table.c: attaches to the table.  Returns 0, or -errno and a sentence. */
int shim_table_open(struct shim *s, char why[SHIM_WHY_MAX]);
void shim_table_close(struct shim *s);
/* True if the table was removed or another table has its name. */
bool shim_table_is_gone(const struct shim *s);
/* Finds the key's slot, or makes it.  Returns 0 or -errno. */
int shim_table_find_slot(struct shim *s, struct key *k);
/* Raises the key's base and sets its right.  Returns 0 or -errno. */
int shim_table_set_right(struct key *k, unsigned mode, int64_t revision);
void shim_table_clear_right(struct key *k);
void shim_table_clear_right_of(struct shim *s, const char *name);
/* True if the key's right is still in the table and valid. */
bool shim_table_has_right(const struct key *k);
/* Calls fn for each key with a valid right. */
void shim_table_each_right(struct shim *s,
    void (*fn)(struct shim *s, const char *name, unsigned mode));
/* Breaks every lease on the key, because its right is void. */
void shim_table_break_leases(struct shim *s, const char *name);
/* Returns the strongest mode that local waiters want: RIGHT_... */
unsigned shim_table_waiters_mode(struct key *k);
bool shim_table_has_waiters(const struct key *k);

/* local_hold.c: acquires the key locally.  Returns 0 if it is held, -EAGAIN
 * while the shim waits for it, or another -errno.  `first`: waits before all
 * others. */
int local_hold_acquire(struct key *k, bool first);
/* True if the lease on the key is still valid. */
bool local_hold_is_valid(struct key *k);
void local_hold_release(struct key *k);
bool local_hold_renew(struct key *k);	/* false: the lease is lost */

/* users.c: returns the user, made if it is new, or NULL without memory. */
struct user *user_of(struct shim *s, uid_t uid);
/* True if the user may have one more connection. */
bool user_may_connect(const struct shim *s, const struct user *u);
/* True if all users' total leaves this one room for a connection. */
bool user_has_sixteenth(const struct shim *s, const struct user *u);
/* True if the user may request n more keys. */
bool user_may_want(const struct shim *s, const struct user *u, unsigned n);
/* Returns by how many keys the user exceeds its share. */
unsigned user_surplus(const struct shim *s, const struct user *u);
/* Returns the user with the most keys among those with an idle key, or NULL. */
struct user *users_most_keys(struct shim *s);
/* Frees users without connections, keys, claims or questions. */
void users_sweep(struct shim *s);
void users_free(struct shim *s);

/* shim_keys.c */
struct key *keys_find(struct shim *s, const char *name, size_t len);
/* Returns the key, made for that user if it is new, or NULL without memory. */
struct key *keys_new(struct shim *s, const char *name, size_t len,
    struct user *u);
void key_free(struct key *k);
void key_set_right(struct key *k, unsigned mode);
/* Moves the key to the idle or the busy list, whichever it belongs to. */
void key_relist(struct key *k);
/* Schedules key_step() for the key. */
void key_touch(struct key *k);
void keys_touch(struct shim *s);
/* Records a right that an earlier shim left in the table. */
void keys_adopt(struct key *k, unsigned mode);
/* Clears a right that became void, and breaks the leases under it. */
void key_void_right(struct key *k);
void keys_void_rights(struct shim *s);
void keys_close(struct shim *s);

/* client.c: opens the socket.  Returns 0, or -errno and a sentence. */
int client_listen(struct shim *s, char why[SHIM_WHY_MAX]);
void client_end(struct shim *s);
void client_send(struct client *c, const struct lhi_frame *f);
void client_free(struct client *c);

/* questions.c: returns 0 or -ENOMEM. */
int questions_open(struct shim *s);
/* Frees the questions that recipe_close() left unanswered. */
void questions_close(struct shim *s);
/* Queues a question about the key, or for the metrics if len is 0.  Returns
 * false if the client or its user has too many questions. */
bool question_add(struct client *c, uint32_t id, const char *key, size_t len);
void questions_drop(struct client *c);

/* requests.c: returns 0 or -ENOMEM. */
int requests_open(struct shim *s);
void requests_close(struct shim *s);
struct request *request_new(struct client *c, const struct lhi_frame *f);
void request_free(struct request *w);
void request_answer(struct request *w, uint8_t type, int error,
    const char *why);
void request_refuse(struct request *w, const struct key *k, uint8_t type,
    int error, const char *why);
void request_add_key(struct request *w, struct key *k, unsigned mode,
    int64_t above);
/* Frees all requests of a client. */
void requests_free(struct client *c);
/* Return the strongest and the weakest mode of the key's requests: RIGHT_... */
unsigned requests_strongest_mode(const struct key *k);
unsigned requests_weakest_mode(const struct key *k);
/* True if one of the requests needs a newer base. */
bool requests_has_newer_base(const struct key *k);
bool requests_is_only_tries(const struct key *k);
/* Answers the requests that the key's right satisfies. */
void requests_grant(struct key *k);
/* Fails all requests of the key; with `tries`, only tries. */
void requests_fail(struct key *k, bool tries, uint8_t type, int error,
    const char *why);
/* Denies requests for that mode (RIGHT_..., DENY_...) or a stronger one. */
void requests_deny(struct key *k, unsigned mode, const char *why);
void requests_fail_all(struct shim *s, uint8_t type, int error,
    const char *why);
/* Fails the requests whose time is over. */
void requests_expire(struct shim *s);

/* cluster_claim.c: requests n keys together.  Returns 0 or -errno. */
int cluster_claim_request(struct shim *s, struct key *const *k,
    const unsigned *mode, size_t n, bool try);
/* Keeps a claim that was found in the store.  Returns NULL without memory. */
struct cluster_claim *cluster_claim_keep(struct shim *s, struct key *k,
    const struct recipe_found *f);
/* Draws a new revision for the claim; false if that is impossible now. */
bool cluster_claim_anchor(struct key *k);
void cluster_claim_leave(struct key *k);
/* Frees an ended claim.  Returns its key, or NULL if it was being left. */
struct key *cluster_claim_end(struct cluster_claim *p);
void cluster_claims_free(struct shim *s);	/* after recipe_close() */

/* host.c */
int host_open(struct shim *s);		/* 0 or -ENOMEM */
void host_close(struct shim *s);
/* True if a key may be granted now, or may be soon, as far as is known. */
bool host_can_grant(const struct shim *s);

/* key_step.c: does what the key's state demands, which may free the key. */
void key_step(struct key *k);
/* True if a process that wants that mode needs no request. */
bool key_has_right(const struct key *k, unsigned mode);
/* Requests several keys in one transaction, if all can be requested. */
bool keys_request(struct shim *s, struct key *const *k, const unsigned *mode,
    size_t n, bool try);
/* Lets tries wait for a moment before the answer "busy", because the other host
 * that has the key may not need it. */
void key_defer_busy(struct key *k, const char *who);
/* Denies the key in that mode and stronger ones, to current requests and to
 * those that come soon. */
void key_deny(struct key *k, unsigned mode, const char *why);
/* Returns why the key is denied in that mode, or NULL. */
const char *key_denial(struct key *k, unsigned mode);

/* cluster_claim_hooks.c */
void cluster_claim_set_hooks(struct recipe_hooks *h);

/* key_upkeep.c: starts the periodic work.  Returns 0 or -ENOMEM. */
int keys_open(struct shim *s);
/* Returns a key to the cluster if the user, or all users together, have too
 * many: the one that was unused longest. */
void keys_make_room(struct shim *s, struct user *u);

/* dispatch.c: handles a frame; false: the connection must be closed. */
bool dispatch_frame(struct client *c, const struct lhi_frame *f);

/* turns.c: returns 0 or -ENOMEM. */
int turns_open(struct shim *s);
void turns_close(struct shim *s);

/* shim.c: opens a shim.  Returns 0, or -errno and a sentence; -EBUSY if the
 * table has a shim. */
int shim_open(struct shim **out, const struct shim_opts *o,
    char why[SHIM_WHY_MAX]);
/* Closes the shim at once.  The next shim can adopt what this one has. */
void shim_close(struct shim *s);
/* Returns the unused keys, and ends the session if those were all.  Then calls
 * ended(), after a second at the latest. */
void shim_end(struct shim *s, void (*ended)(void *arg));

#endif
