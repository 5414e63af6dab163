/* SPDX-License-Identifier: MIT */
/*
 * Declares what the files of the shim share: one table's way to the cluster.
 * A file calls only those above it in this list:
 *
 *	metrics.c		counters
 *	shim_state.c		what is kept on disk
 *	shim_table.c		what the shim writes into the table
 *	local_hold.c		the shim's own lease on a key of this host
 *	users.c			what each user may use up
 *	shim_keys.c		which keys the shim knows
 *	client.c		the socket
 *	questions.c		what clients ask, in turn
 *	requests.c		which client wants which keys
 *	cluster_claim.c		the host's claim on a key in the cluster
 *	host.c			this host's session in the cluster
 *	key_step.c		what is to be done about a key next
 *	cluster_claim_hooks.c	what the cluster tells of a claim
 *	key_upkeep.c		steps touched keys, renews leases, drops keys
 *	dispatch.c		handles the frames of clients
 *	turns.c			reads the frames of clients, each user in turn
 *	shim.c			opens and closes a shim
 *
 * and of the program: shim_conf.c, shim_loop.c, shim_main.c.
 *
 * Nothing here is global: a test runs two hosts in one process.  One libevent
 * loop drives all of it, and nothing blocks.
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

#define SHIM_WHY_MAX 512	/* a sentence */
#define SHIM_REQUESTS_MAX 256	/* of a connection, at a time */
#define SHIM_QUERIES_MAX 8	/* the same, of questions to the cluster */
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
	const char *table;		/* NULL: as lh_open() */
	uint32_t table_flags;		/* LH_SYSTEM */
	recipe_engine_fn *engine;
	void *engine_arg;
	const char *root, *host;	/* recipe.h */
	unsigned ttl_ms, timeout_ms;
	const char *socket;		/* where to listen */
	unsigned socket_mode;
	const char *state_file;		/* "": nothing is kept */
	unsigned max_clients, max_keys;
	unsigned hold_min_ms;		/* while local processes wait */
	int64_t idle_ms;		/* keys are given back then; 0: never */
	/* It cannot go on, and is to be closed.  From the loop. */
	void (*over)(const char *why, void *arg);
	void *arg;
};

/* Outcomes of what was wanted, as frames have them. */
struct shim_counts {
	uint64_t answers[FRAME_TEXT + 1];	/* by type of frame */
	uint64_t clients, refused;	/* that connected; were hung up on */
	uint64_t taken, returned, reanchored;	/* delegations */
	uint64_t recalls;		/* of those, by others who queued */
	uint64_t foreign;		/* others' locks among the claims */
	uint64_t lost, broken;		/* sessions; keys whose leases ended */
	uint64_t latency[SHIM_LATENCIES + 1];	/* claim asked -> answered */
	uint64_t latency_us;
	int64_t margin_min_ns;		/* least time left when D was moved on;
					 * INT64_MAX: it never was */
};

/* More than any right: a newer base of one that is there. */
#define DENY_NEWER (RIGHT_EXCLUSIVE + 1u)

/* The key, locally: local_hold.c */
struct local_hold {
	enum { LOCAL_HOLD_NONE, LOCAL_HOLD_WAITS, LOCAL_HOLD_HELD } state;
	bool first;		/* stands before all others */
	struct lh_ticket *ticket;
	struct event *ready;
	struct lh_lease lease;
};

/* Whose processes ask: users.c */
struct user {
	TAILQ_ENTRY(user) all;		/* the one that asked longest ago
					 * first: questions.c */
	uid_t uid;
	bool is_trusted;		/* root, or the shim's own */
	unsigned lane;			/* of its claims: recipe.h */
	unsigned n_clients, n_questions;
	unsigned n_keys, n_claims;	/* that it wanted first; and those of
					 * them in the cluster, also left */
	unsigned n_wanted;		/* keys of its requests */
	int left;			/* of its turn: turns.c */
	TAILQ_HEAD(, client) parked;
	TAILQ_HEAD(, question) questions;	/* not asked yet */
	TAILQ_HEAD(, key) idle;		/* looked at longest ago first */
};

/* A key that somebody wanted, or that we have a right to: shim_keys.c */
struct key {
	RB_ENTRY(key) by_name;
	TAILQ_ENTRY(key) of;		/* idle: it has a right, and there is
					 * nothing to be done; or busy */
	TAILQ_ENTRY(key) touched;	/* to be stepped */
	bool is_idle, is_touched;
	struct shim *s;
	struct user *user;		/* who wanted it first */
	struct local_hold hold;
	struct cluster_claim *claim;	/* our claim of it, or NULL */
	unsigned right;			/* as set in the table: RIGHT_... */
	struct lhi_ref ref;		/* of the slot where it was */
	int64_t base;			/* revision of its base there */
	unsigned recalled;		/* who waits elsewhere, RIGHT_... */
	bool must_return;		/* it is to be given back anyway */
	bool fresh;			/* told to somebody who may not have
					 * come for it yet */
	int64_t since_ns;		/* when the right was set */
	int64_t looked_ns;		/* idle: when its use was looked at, */
	uint64_t looked;		/* and the lock word then; 0: not yet */
	int64_t return_since_ns;	/* when it was to go; 0: it is not */
	TAILQ_HEAD(request_keys, request_key) requests;
	unsigned n_exclusive;		/* of these */
	unsigned waiters_mode;		/* what those want who wait locally
					 * without a request: RIGHT_... */
	int64_t busy_after_ns;		/* tries queue until then; 0: no */
	unsigned denied;		/* who wants that or more is told no: */
	int64_t denied_ns;		/* RIGHT_..., DENY_..., until then */
	char *reason;			/* of both: told who or why; or NULL */
	struct event *timer;		/* or NULL */
	size_t len;
	char name[];			/* with the table's prefix */
};

/* One key of one WANT: requests.c */
struct request_key {
	TAILQ_ENTRY(request_key) of_key;
	struct key *key;		/* NULL: granted */
	struct request *request;
	unsigned mode;			/* RIGHT_... */
	int64_t above;			/* a base above that revision */
};

struct request {
	TAILQ_ENTRY(request) of_client;
	TAILQ_ENTRY(request) all, of_tries;
	struct client *client;
	uint32_t id;
	bool try, answered;
	int64_t began_ns, until_ns;	/* CLOCK_MONOTONIC */
	unsigned n, left;		/* keys; not granted */
	struct request_key key[];
};

/* The claim of a key in the cluster: cluster_claim.c */
struct cluster_claim {
	TAILQ_ENTRY(cluster_claim) all;
	struct shim *s;
	struct key *key;		/* NULL: it is being left */
	struct user *user;
	struct claim *handle;
	unsigned mode;			/* RIGHT_... */
	bool try, granted, anchoring;
	bool returning;			/* as soon as it is held locally */
	bool several;			/* asked for together with others */
	int64_t revision, asked_ns;
	int64_t create;			/* found; else 0 */
};

TAILQ_HEAD(requests, request);

/* A connection: client.c */
struct client {
	TAILQ_ENTRY(client) of;		/* the one not heard of longest first */
	struct shim *s;
	TAILQ_ENTRY(client) parked;
	int fd;
	struct user *user;
	struct event *ready;
	struct requests requests;
	TAILQ_HEAD(, query) queries;
	unsigned n_requests, n_queries;
	unsigned credit;		/* frames until it is paused */
	bool greeted;			/* knows our table */
	bool paused, doomed, is_parked;
};

struct shim {
	struct shim_opts o;
	/* Functions of files above, for those below: set by shim_open(). */
	void (*on_key)(struct key *k);		/* key_step() */
	bool (*on_frame)(struct client *c, const struct lhi_frame *f);
	void (*on_client_gone)(struct client *c);
	event_callback_fn on_readable;
	struct lh *lh;
	struct lhi_view *v;
	size_t prefix_len;		/* of cluster keys' names */
	int byte_fd;			/* has the shim's byte */
	char socket[SHM_SOCKET];
	struct recipe *recipe;
	struct recipe_hooks hooks;
	/* the session */
	struct recipe_session session;
	uint64_t epoch, until_ns;
	uint64_t up_ns;			/* since then it is up */
	bool up, settled, expired;	/* expired: D is past, or none */
	bool adopt_timed_out;		/* it is not known what it has */
	bool starting;			/* nothing is known of the store yet */
	bool looked;			/* all rights in the table are known */
	bool ending, over;
	enum kv_state store;
	char why[SHIM_WHY_MAX];		/* it is away */
	struct event *deadline_timer;	/* at D */
	int64_t foreign_ns;		/* when others' locks were told of */
	struct kv_mark mark;
	struct state_saver *saver;
	/* keys */
	RB_HEAD(keys, key) keys;
	TAILQ_HEAD(, cluster_claim) claims;
	TAILQ_HEAD(, key) busy, touched;
	unsigned n_keys, n_rights, most_keys;
	struct event *step;		/* those that were touched */
	struct event *sweep;
	int64_t renewed_ns;		/* what is held locally */
	/* clients */
	int listen_fd;
	dev_t socket_dev;
	ino_t socket_ino;
	struct event *listener, *accept_timer, *refill, *round, *ask;
	TAILQ_HEAD(, client) clients;
	TAILQ_HEAD(, user) users;
	struct user *self;		/* our own user */
	unsigned users_made;
	TAILQ_HEAD(, question) asked;	/* with the store */
	unsigned n_asked;
	struct requests requests, tries;	/* the oldest first */
	struct event *try_timer;
	struct request *handling;	/* the one just received, or NULL */
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

/* Why there is nothing to be had from the cluster. */
static inline const char *
shim_why_away(const struct shim *s)
{
	return s->ending ? "the shim is ending" : s->why[0] != '\0' ? s->why :
	    "there is no session with the cluster yet";
}

static inline uint64_t
shim_boot_ns(void)
{
	return (uint64_t)lhi_clock_ns(CLOCK_BOOTTIME);
}

/* metrics.c */
void metrics_add_latency(struct shim *s, int64_t ns);
/* Writes the metrics in Prometheus' exposition format, labelled by table. */
void metrics_write(const struct shim *s, FILE *f);

/* shim_state.c: the high-water mark.  Returns 0, or -errno and a sentence. */
int shim_state_read(const char *path, struct kv_mark *m,
    char why[SHIM_WHY_MAX]);
/* Writes in a thread of its own, so that no disk holds up the loop. */
struct state_saver *state_saver_new(const char *path);
void state_saver_save(struct state_saver *sv, const struct kv_mark *m);
/* Ends the thread after the latest mark is written.  False: the disk hangs; the
 * thread closes byte_fd when it is done. */
bool state_saver_free(struct state_saver *sv, int byte_fd);

/* shim_table.c: returns 0, or -errno and a sentence. */
int shim_table_open(struct shim *s, char why[SHIM_WHY_MAX]);
void shim_table_close(struct shim *s);
/* True if the table was removed, or another one has its name. */
bool shim_table_is_gone(const struct shim *s);
/* Finds k's slot; 0 or -errno. */
int shim_table_find_slot(struct shim *s, struct key *k);
/* Sets k's right; 0 or -errno. */
int shim_table_set_right(struct key *k, unsigned mode, int64_t revision);
void shim_table_clear_right(struct key *k);
void shim_table_clear_right_of(struct shim *s, const char *name);
/* True if k's right is still in the table, and valid. */
bool shim_table_has_right(const struct key *k);
/* Calls fn for each key with a valid right. */
void shim_table_each_right(struct shim *s,
    void (*fn)(struct shim *s, const char *name, unsigned mode));
/* Ends every lease of that key: the cluster was lost. */
void shim_table_break_leases(struct shim *s, const char *name);
/* Returns the strongest mode that local waiters want: RIGHT_... */
unsigned shim_table_waiters_mode(struct key *k);
bool shim_table_has_waiters(const struct key *k);

/* local_hold.c: acquires the key, or waits for it (-EAGAIN); `first`: before
 * all others.  Returns 0 or -errno. */
int local_hold_acquire(struct key *k, bool first);
/* True if the key is held, now. */
bool local_hold_is_valid(struct key *k);
void local_hold_release(struct key *k);
bool local_hold_renew(struct key *k);	/* false: lost */

/* users.c: finds the user, or makes it; NULL: no memory. */
struct user *user_of(struct shim *s, uid_t uid);
/* True if the user's share has room for one more connection. */
bool user_may_connect(const struct shim *s, const struct user *u);
/* True if what all users have leaves room for one more connection. */
bool user_has_sixteenth(const struct shim *s, const struct user *u);
/* True if the user may want n keys more. */
bool user_may_want(const struct shim *s, const struct user *u, unsigned n);
/* Returns how many keys the user has above its share. */
unsigned user_surplus(const struct shim *s, const struct user *u);
/* Returns the user with the most keys of those with an idle one, or NULL. */
struct user *users_most_keys(struct shim *s);
/* Frees the users that nothing counts for. */
void users_sweep(struct shim *s);
void users_free(struct shim *s);

/* shim_keys.c */
struct key *keys_find(struct shim *s, const char *name, size_t len);
/* Finds the key, or makes it, as one of that user; NULL: no memory. */
struct key *keys_new(struct shim *s, const char *name, size_t len,
    struct user *u);
void key_free(struct key *k);
void key_set_right(struct key *k, unsigned mode);
/* Moves the key to the list that it belongs to: idle or busy. */
void key_relist(struct key *k);
/* Has the key stepped soon, from the loop. */
void key_touch(struct key *k);
void keys_touch(struct shim *s);
/* Notes a right that an earlier shim left in the table. */
void keys_adopt(struct key *k, unsigned mode);
/* Clears a right that became void, and breaks the leases under it. */
void key_void_right(struct key *k);
void keys_void_rights(struct shim *s);
void keys_close(struct shim *s);

/* client.c: returns 0, or -errno and a sentence. */
int client_listen(struct shim *s, char why[SHIM_WHY_MAX]);
void client_end(struct shim *s);
void client_send(struct client *c, const struct lhi_frame *f);
/* Elsewhere than in its own event, a client is doomed only. */
void client_doom(struct client *c);
void client_free(struct client *c);

/* questions.c: returns 0 or -ENOMEM. */
int questions_open(struct shim *s);
/* Frees those that recipe_close() left unanswered. */
void questions_close(struct shim *s);
/* Asks the store about the key, soon; len 0: asks for the metrics.  False: the
 * client, or its user, has too many questions. */
bool question_add(struct client *c, uint32_t id, const char *key, size_t len);
void questions_drop(struct client *c);

/* requests.c: returns 0 or -ENOMEM. */
int requests_open(struct shim *s);
void requests_close(struct shim *s);
struct request *request_new(struct client *c, const struct lhi_frame *f);
void request_free(struct request *w);
void request_answer(struct request *w, uint8_t type, int error,
    const char *why);
void request_add_key(struct request *w, struct key *k, unsigned mode,
    int64_t above);
/* Frees all requests of a client. */
void requests_free(struct client *c);
/* What the requests of a key want: RIGHT_... */
unsigned requests_strongest_mode(const struct key *k);
unsigned requests_weakest_mode(const struct key *k);
/* True if one of them needs a newer base. */
bool requests_has_newer_base(const struct key *k);
bool requests_is_only_tries(const struct key *k);
/* Answers the requests that the key's right satisfies. */
void requests_grant(struct key *k);
/* Fails all requests of the key; `tries`: only the tries. */
void requests_fail(struct key *k, bool tries, uint8_t type, int error,
    const char *why);
/* Denies those that want that mode or a stronger one: RIGHT_..., DENY_... */
void requests_deny(struct key *k, unsigned mode, const char *why);
void requests_fail_all(struct shim *s, uint8_t type, int error,
    const char *why);
/* Fails the requests whose time is over. */
void requests_expire(struct shim *s);

/* cluster_claim.c */
int cluster_claim_request(struct shim *s, struct key *const *k,
    const unsigned *mode, size_t n, bool try);
struct cluster_claim *cluster_claim_keep(struct shim *s, struct key *k,
    const struct recipe_found *f);
/* Draws a new revision; false: it cannot be asked for now. */
bool cluster_claim_anchor(struct key *k);
void cluster_claim_leave(struct key *k);
/* Frees a claim that is over.  Returns its key; NULL if it was being left. */
struct key *cluster_claim_end(struct cluster_claim *p);
void cluster_claims_free(struct shim *s);	/* after recipe_close() */

/* host.c */
int host_open(struct shim *s);		/* 0 or -ENOMEM */
void host_close(struct shim *s);
/* True if a key may be granted now; or soon, as far as is known. */
bool host_can_grant(const struct shim *s);

/* key_step.c: does what the key's state demands; the key may be gone then. */
void key_step(struct key *k);
/* True if a process that wants that mode need not ask anybody. */
bool key_has_right(const struct key *k, unsigned mode);
/* Asks for several keys in one transaction, if all can be asked for. */
bool keys_request(struct shim *s, struct key *const *k, const unsigned *mode,
    size_t n, bool try);
/* Another host has the key and may not use it: lets tries wait for a moment
 * before they are told that it is busy. */
void key_defer_busy(struct key *k, const char *who);
/* The cluster refuses the key in that mode.  Tells all that want that mode or a
 * stronger one, also those that wait already, when they ask again. */
void key_deny(struct key *k, unsigned mode, const char *why);
/* Returns why the key is denied in that mode, or NULL. */
const char *key_denial(struct key *k, unsigned mode);

/* cluster_claim_hooks.c */
void cluster_claim_set_hooks(struct recipe_hooks *h);

/* key_upkeep.c: returns 0 or -ENOMEM. */
int keys_open(struct shim *s);
/* Returns a key to the cluster if the user, or all together, have too many:
 * the one that has been unused longest. */
void keys_make_room(struct shim *s, struct user *u);

/* dispatch.c: handles a frame; false: close the connection. */
bool dispatch_frame(struct client *c, const struct lhi_frame *f);

/* turns.c: returns 0 or -ENOMEM. */
int turns_open(struct shim *s);
void turns_close(struct shim *s);

/* shim.c: returns 0, or -errno and a sentence; -EBUSY: the table has a shim. */
int shim_open(struct shim **out, const struct shim_opts *o,
    char why[SHIM_WHY_MAX]);
/* Ends at once; the next shim can adopt what this one has. */
void shim_close(struct shim *s);
/* Returns the keys that nobody uses, and ends the session if these were all;
 * then calls ended(), soon in any case. */
void shim_end(struct shim *s, void (*ended)(void *arg));

#endif
