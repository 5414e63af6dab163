/* SPDX-License-Identifier: MIT */
/*
 * What the shim needs of a cluster: a linearizable store of keys.
 *
 *	Every change has a revision, larger than that of every earlier one.
 *	A transaction compares keys, then does one of two lists of operations,
 *	    all at the same revision, or none of them.
 *	A watch tells of changes under a prefix, in order, from a revision on.
 *	A lease deletes the keys that were put under it when it ends.
 *
 * etcd.c is one engine, over the network.  tests/shim/support/fake.c is
 * another, in the process itself, whose answers can be lost at will.  Others
 * can be added beside them.  The shim relies on what transactions decide, and
 * on each change that the watch tells of being true.  That no change is missed,
 * and that a lease ends in time, only makes it quick and tidy.
 *
 * One libevent loop drives all of it.  Callbacks come from the loop, never from
 * inside a call.  They may call any function here, also close().  Memory that a
 * callback is given is valid until it returns.
 */
#ifndef SHIM_ENGINE_H
#define SHIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is known of something asked for.  Only NOT_APPLIED may be reported as a
 * failure: what is UNKNOWN may have been done, now or later, and is found out
 * by asking again (the store is asked for things that can be asked twice).
 */
enum fate {
	FATE_DONE = 0,
	FATE_NOT_APPLIED,	/* surely had no effect, nor will have */
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

/* A range of keys: one (end.len 0), or [key, end). */
struct kv_range {
	struct kv_bytes key, end;
};

enum kv_relation { KV_EQUAL, KV_GREATER, KV_LESS, KV_NOT_EQUAL };
enum kv_subject { KV_VERSION, KV_CREATE, KV_MOD };

/*
 * A comparison, of every key in the range.  A key that is not there has
 * version, create and mod revision 0; a range with no key is like one such key.
 */
struct kv_compare {
	struct kv_range range;
	enum kv_subject subject;
	enum kv_relation relation;
	int64_t number;
};

enum kv_what { KV_GET, KV_PUT, KV_DELETE };

struct kv_op {
	enum kv_what what;
	struct kv_range range;	/* of a put: its key */
	struct kv_bytes value;	/* put */
	int64_t lease;		/* put: 0, or it goes with that */
	int64_t limit;		/* get: 0, or at most so many */
	bool keys_only;		/* get */
	bool by_create;		/* get: the oldest first; else by key */
};

#define KV_OPS_MAX 128		/* in each list of a transaction, as in etcd */

struct kv_txn {
	const struct kv_compare *compares;
	size_t n_compares;
	const struct kv_op *then, *otherwise;
	size_t n_then, n_otherwise;
};

/* What came of one operation, in the order asked. */
struct kv_result {
	const struct kv_pair *pairs;	/* of a get */
	size_t n;
	int64_t count;		/* of a get: how many there are, limit or not;
				 * of a delete: how many there were */
};

struct kv_answer {
	enum fate fate;
	const char *why;	/* for people, if not DONE; never NULL */
	bool denied;		/* NOT_APPLIED: for lack of permission */
	bool exists;		/* NOT_APPLIED, kv->grant(): that lease does */
	bool absent;		/* NOT_APPLIED, kv->revoke(): it is not there */
	int64_t revision;	/* of the store, at or after the transaction */
	bool succeeded;		/* `then` was done, else `otherwise` */
	const struct kv_result *results;
	size_t n_results;
	int64_t lease;		/* of kv->grant() */
};

typedef void kv_answer_fn(const struct kv_answer *a, void *arg);

enum kv_state {
	KV_AWAY,		/* nothing can be asked now; it is tried again.
				 * So it begins. */
	KV_HERE,
	KV_REFUSED		/* wrong cluster, gone back in time, no such
				 * user: not before somebody acts */
};

struct kv_change {
	bool deleted;
	struct kv_pair pair;	/* of a deletion: its key and mod_revision */
};

/* How whoever uses it is told. */
struct kv_hooks {
	/* why: for people */
	void (*state)(enum kv_state state, const char *why, void *arg);
	/*
	 * Under the watched prefix, in the order of revisions, maybe before the
	 * answer to who made the change is told, maybe after.  n 0: the watch
	 * begins (also the first time), or begins anew with some changes
	 * missed: look at what matters, all later than `revision` will be told.
	 */
	void (*changes)(const struct kv_change *c, size_t n, int64_t revision,
	    void *arg);
	void *arg;
};

/* What has been seen of a store, kept by the caller over restarts: a store that
 * is behind it, or another, is refused. */
struct kv_mark {
	uint64_t cluster;	/* 0: nothing was seen yet */
	int64_t revision;
};

struct engine;

struct engine_ops {
	/* Nothing is told any more, no answer either. */
	void (*close)(struct engine *e);
	/* Ask; what is given is copied or packed before it returns.  The answer
	 * comes once, from the loop, DONE, NOT_APPLIED or, timeout_ms later,
	 * UNKNOWN.  -1: no memory, or not KV_HERE: nothing was asked. */
	int (*txn)(struct engine *e, const struct kv_txn *t, int timeout_ms,
	    kv_answer_fn *fn, void *arg);
	/* Nothing keeps it alive.  id > 0: that is its name, so that asking
	 * again makes no second one. */
	int (*grant)(struct engine *e, int64_t id, int64_t ttl_s,
	    int timeout_ms, kv_answer_fn *fn, void *arg);
	/* One that is not there is NOT_APPLIED, and absent. */
	int (*revoke)(struct engine *e, int64_t lease, int timeout_ms,
	    kv_answer_fn *fn, void *arg);
	/* The one standing watch, over reconnects.  -1: no memory. */
	int (*watch)(struct engine *e, struct kv_bytes prefix);
	void (*mark)(const struct engine *e, struct kv_mark *m);
};

/* What every engine begins with. */
struct engine {
	const struct engine_ops *ops;
};

/* The end of the range of all keys that begin with prefix, into end (of at
 * least len bytes); its length.  0: to the end of all keys. */
size_t kv_prefix_end(struct kv_bytes prefix, uint8_t *end);

#endif
