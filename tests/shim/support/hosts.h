/* SPDX-License-Identifier: MIT */
/*
 * Hosts of one cluster, in one process: each has a table and a shim; the store
 * is fake.c's.  Shims and store run in a thread of their own; what is done to
 * them is done there (hosts_do()).
 */
#ifndef TESTS_SHIM_HOSTS_H
#define TESTS_SHIM_HOSTS_H

#include "proc/attachment.h"
#include "shim/support/fake.h"
#include "shim/agent/shim.h"
#include "shm/cluster_right.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define HOSTS_MAX 3
/* Of a session, if the host's options say nothing else: longer than a busy
 * machine keeps us waiting; for those who wait until it is over. */
#define HOSTS_TTL_MS 8000
#define HOSTS_SHORT_MS 3000

struct host {
	unsigned number;
	const char *table;
	struct lh *lh;		/* a process of it */
	struct shim *shim;	/* NULL: there is none */
	struct shim_opts opts;
	struct fake_host fake;
	struct engine *engine;
	char socket[108], state[108];
	char over[SHIM_WHY_MAX];
	bool ended;
	bool cut_first;		/* the next shim begins without the cluster */
	int last_error;		/* of opening the shim */
	char why[SHIM_WHY_MAX];
};

extern struct host hosts[HOSTS_MAX];
extern struct fake_store *hosts_store;

/* n hosts, with shims that have their sessions. */
void hosts_begin(unsigned n);
/* All of it closed; the tables are looked over. */
void hosts_end(void);

/* In the thread of the shims; returns when it is done. */
void hosts_do(void (*fn)(void *arg), void *arg);

/* 0, or the error of shim_open(), which says why in h->why. */
int host_up(struct host *h);
/* As if killed: nothing is given back. */
void host_down(struct host *h);
/* Its shim again, which waits so long for the store's answers. */
void host_patient(struct host *h, int64_t ms);
/* Asked to end; waits until it has. */
void host_ended(struct host *h);
/* Is its session confirmed? */
bool host_reaches_now(struct host *h);
void host_cut(struct host *h, bool cut);
/* Neither does it hear anything, nor say anything, for so long: the thread
 * sleeps (of all hosts). */
void hosts_stop(int64_t ms);

/* The key's right in that host's table: RIGHT_..., NONE if it is void. */
unsigned host_right(struct host *h, const char *key);
/* Rights that are, and D: as a process would check. */
bool host_may(struct host *h, const char *key, unsigned mode);
struct shim_counts host_counts(struct host *h);
unsigned host_keys(struct host *h);

/* A connection that has greeted; bail out if there is none. */
int dial(struct host *h);
int dial_raw(struct host *h);
void say(int fd, const struct lhi_frame *f);
/* The next frame's type; 0: hung up; -ETIMEDOUT. */
int hear(int fd, struct lhi_frame *f, int64_t ms);
void hosts_want(int fd, uint32_t id, const char *key, unsigned mode,
    unsigned flags);
/* In that time a try is answered (requests.c). */
int64_t hosts_try_ms(void);
/* Has a try, asked then, got the answer that there is none in time?  The shims
 * were not let run for so long; it may be asked again. */
bool try_ran_out(int type, unsigned flags, int64_t asked_ns);
/* WANT, and the type of the answer; a try that ran out is asked again. */
int ask(int fd, const char *key, unsigned mode, unsigned flags);

/* The way of a process: ask, wait locally, check; 0 or -errno. */
int take(struct host *h, const char *key, unsigned mode, int64_t wait_ms,
    struct lh_lease *l);

#endif
