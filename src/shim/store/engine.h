/* SPDX-License-Identifier: MIT */
/*
 * Declares the interface between the shim and a cluster: a linearizable
 * key-value store, reached through an engine. src/shim/member calls it; etcd.c
 * implements it over the network. tests/shim/support/fake.c implements it
 * inside a test process and can lose any answer.
 *
 * The store has these properties:
 *
 *	revision	Every change gets a revision that is larger than that of
 *			every earlier change.
 *	transaction	It compares keys, and then does one of two lists of
 *			operations.  All of them happen at one revision.
 *	watch		It reports the changes under a prefix, in order, from a
 *			given revision on.
 *	lease		When it ends, it deletes the keys that were put under
 *			it.
 *
 * Correctness depends on two things only: the outcome of a transaction, and
 * that each change which the watch reports did happen.  A missed change, or a
 * lease that ends late, costs time and leaves keys to clean up; it never breaks
 * exclusion.
 *
 * One libevent loop drives everything.  The engine calls back from the loop,
 * never from inside one of the functions below.  A callback may call any of
 * these functions, including close().  Memory passed to a callback is valid
 * until the callback returns.
 */
#ifndef SHIM_ENGINE_H
#define SHIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The engine's knowledge of the outcome of a call.  Only NOT_APPLIED may be
 * reported as a failure.  An UNKNOWN call may have been applied, or may still
 * be applied later.  The caller finds out by repeating it, so every call to the
 * store can be repeated.
 */
enum fate {
	FATE_DONE = 0,
	FATE_NOT_APPLIED,	/* it had no effect and never will */
	FATE_UNKNOWN
};

struct kv_bytes {
	const uint8_t *p;
	size_t len;
};

struct kv_pair {
	struct kv_bytes key, value;
	int64_t create_revision, mod_revision, version, lease;
};

/* A range of keys: the single key if end.len is 0, else [key, end). */
struct kv_range {
	struct kv_bytes key, end;
};

enum kv_relation { KV_EQUAL, KV_GREATER, KV_LESS, KV_NOT_EQUAL };
enum kv_subject { KV_VERSION, KV_CREATE, KV_MOD };

/* A comparison that must hold for every key in the range.  A missing key has
 * version, create_revision and mod_revision 0.  An empty range behaves like one
 * missing key. */
struct kv_compare {
	struct kv_range range;
	enum kv_subject subject;
	enum kv_relation relation;
	int64_t number;
};

enum kv_what { KV_GET, KV_PUT, KV_DELETE };

struct kv_op {
	enum kv_what what;
	struct kv_range range;	/* KV_PUT: the key */
	struct kv_bytes value;	/* KV_PUT */
	int64_t lease;		/* KV_PUT: 0, or the lease that deletes the
				 * key */
	int64_t limit;		/* KV_GET: most pairs to return; 0: no limit */
	bool keys_only;		/* KV_GET */
	bool by_create;		/* KV_GET: oldest key first, not by name */
};

#define KV_OPS_MAX 128		/* operations in one list; etcd's limit */

struct kv_txn {
	const struct kv_compare *compares;
	size_t n_compares;
	const struct kv_op *then, *otherwise;
	size_t n_then, n_otherwise;
};

/* The result of one operation.  Results are in the order of the operations. */
struct kv_result {
	const struct kv_pair *pairs;	/* KV_GET */
	size_t n;
	int64_t count;		/* KV_GET: keys in the range, ignoring the
				 * limit; KV_DELETE: keys deleted */
};

struct kv_answer {
	enum fate fate;
	const char *why;	/* text for people; "" if DONE */
	bool denied;		/* NOT_APPLIED because of missing permission */
	bool exists;		/* NOT_APPLIED by grant(): the lease id is
				 * taken */
	bool absent;		/* NOT_APPLIED by revoke(): there is no such
				 * lease */
	bool said;		/* not DONE, and `why` is what the store, which
				 * is there, says about the request */
	int64_t revision;	/* the store's, at the transaction or later */
	bool succeeded;		/* true: `then` was done, not `otherwise` */
	const struct kv_result *results;
	size_t n_results;
	int64_t lease;		/* the lease that grant() made */
};

typedef void kv_answer_fn(const struct kv_answer *a, void *arg);

enum kv_state {
	KV_AWAY,		/* no connection; the engine keeps trying.  The
				 * initial state. */
	KV_HERE,
	KV_REFUSED		/* the store must not be used: another cluster,
				 * older data than before, or the user is
				 * refused.  Somebody has to act.  Or it was
				 * older, and wait_ms is not over. */
};

struct kv_change {
	bool deleted;
	struct kv_pair pair;	/* a deletion has only key and mod_revision */
};

/* The callbacks of the engine's user. */
struct kv_hooks {
	/* Reports each change of state.  `why` is text for people. */
	void (*state)(enum kv_state state, const char *why, void *arg);
	/*
	 * Reports changes under the watched prefix in the order of their
	 * revisions.  A change may be reported before or after the answer to
	 * the call that made it.
	 *
	 * n == 0: a watch has begun, for the first time or again.  Changes
	 * before `revision` may have been missed, so the caller must read what
	 * it needs.  All changes after `revision` will be reported.
	 */
	void (*changes)(const struct kv_change *c, size_t n, int64_t revision,
	    void *arg);
	void *arg;
};

/*
 * The newest state of a store that the caller has seen, kept across restarts.
 * The engine refuses another cluster, and a store that is older than this.
 *
 * A store that is older has lost changes.  Members may have rights from these
 * changes, which nothing in the store shows.  So the engine also refuses it for
 * wait_ms after it was last seen to be older.
 */
struct kv_mark {
	uint64_t cluster;	/* 0: no cluster was seen yet */
	int64_t revision;
	unsigned outlive_ms;	/* longest time for which rights may outlive the
				 * store that they are from */
	unsigned wait_ms;	/* 0: the store was not older, or the wait is
				 * over.  An engine that is opened with a wait
				 * begins it again. */
	unsigned left_ms;	/* of the wait, now; is not kept */
};

struct engine;

struct engine_ops {
	/* Frees the engine.  Pending calls are dropped without an answer. */
	void (*close)(struct engine *e);
	/*
	 * Starts a transaction.  The arguments are copied before it returns.
	 * `fn` is called once, from the loop: with DONE or NOT_APPLIED, or with
	 * UNKNOWN after timeout_ms.  Returns -1 without sending anything if
	 * there is no memory or the state is not KV_HERE.
	 */
	int (*txn)(struct engine *e, const struct kv_txn *t, int timeout_ms,
	    kv_answer_fn *fn, void *arg);
	/* Makes a lease, which nothing renews.  If id > 0, the lease has that
	 * id, so that repeating the call makes no second one. */
	int (*grant)(struct engine *e, int64_t id, int64_t ttl_s,
	    int timeout_ms, kv_answer_fn *fn, void *arg);
	/* Ends a lease and deletes its keys.  A missing lease gives NOT_APPLIED
	 * with `absent` set. */
	int (*revoke)(struct engine *e, int64_t lease, int timeout_ms,
	    kv_answer_fn *fn, void *arg);
	/* Starts the engine's only watch, which it restarts after each
	 * reconnect.  Returns -1 if there is no memory. */
	int (*watch)(struct engine *e, struct kv_bytes prefix);
	/* Returns what has been seen of the store so far. */
	void (*mark)(const struct engine *e, struct kv_mark *m);
	/* Sets mark.outlive_ms. */
	void (*outlive)(struct engine *e, unsigned ms);
};

/* The first member of every engine's own struct. */
struct engine {
	const struct engine_ops *ops;
};

/* Writes to `end` the end of the range of all keys that begin with `prefix`,
 * and returns its length.  `end` has room for prefix.len bytes.  A length of 0
 * means that the range goes on to the end of all keys. */
size_t kv_prefix_end(struct kv_bytes prefix, uint8_t *end);

#endif
