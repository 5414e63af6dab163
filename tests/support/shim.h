/* SPDX-License-Identifier: MIT */
/*
 * A shim for tests: a process that serves a table's cluster keys as
 * leasehold-shimd does, without a cluster.  The test puts the cluster's
 * answers into the record below, which both see.
 */
#ifndef TESTS_SHIM_H
#define TESTS_SHIM_H

#include "child.h"

enum t_shim_says {
	SHIM_GRANTS,		/* gives the right, then GRANTED */
	SHIM_QUEUES,		/* QUEUED, and holds the key until `allowed` */
	SHIM_BUSY,		/* BUSY to a try, else as SHIM_QUEUES */
	SHIM_LIES,		/* GRANTED, and gives no right */
	SHIM_AWAY,
	SHIM_DENIES,
	SHIM_FAILS,		/* errno: `error` */
	SHIM_SILENT,
	SHIM_GARBAGE,		/* bytes that are no frame */
	SHIM_HALF,		/* half of a frame */
	SHIM_HANGS_UP,
	SHIM_OTHER_TABLE	/* another uuid in its WELCOME */
};

enum { WITHOUT_HOLDER = 1, WITHOUT_ANSWER };

struct t_shim {
	pid_t pid;
	const char *table;
	char path[100];
	_Atomic int says;
	_Atomic int error;
	_Atomic int nobody;		/* WITHOUT_...: who has a key */
	_Atomic uint32_t allowed;	/* posts: the queued are granted */
	_Atomic int beats;		/* D is moved on */
	_Atomic int adopts;		/* begins with the session that was */
	_Atomic int64_t ttl_ms;		/* of D */
	_Atomic uint64_t revision;	/* of the latest grant */
	_Atomic uint64_t step;		/* how far each goes on; 1 */
	struct t_event up;
	struct t_event recall, recalled;	/* gives all rights back */
	struct t_event lose, lost;	/* its session has ended */
	/* what it was asked */
	struct t_event wants, tries, drops, statuses, anchors, reanchors;
	_Atomic uint32_t keys;		/* in the latest WANT */
};

/* One that runs, SHIM_GRANTS, with a session; bail out if that fails. */
struct t_shim *t_shim(const char *table);

/* A record of one that was not started; start it (again). */
struct t_shim *t_shim_new(const char *table);
void t_shim_start(struct t_shim *s);

/* SIGKILL; gone when it returns. */
void t_shim_kill(struct t_shim *s);

/* Give all rights back; lose the session.  When it has. */
void t_shim_recall(struct t_shim *s);
void t_shim_lose(struct t_shim *s);

#endif
