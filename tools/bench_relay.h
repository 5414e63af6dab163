/* SPDX-License-Identifier: MIT */
/* A lock that goes from one process to another.  See bench_relay.c. */
#ifndef TOOLS_BENCH_RELAY_H
#define TOOLS_BENCH_RELAY_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum relay_lock {
	RELAY_OURS,
	RELAY_MUTEX,		/* pshared and robust */
	RELAY_FLOCK,
	N_RELAY_LOCKS
};

/* Where the key of ours is.  flags as in struct lh_open_opts. */
struct relay_place {
	const char *table;
	uint32_t flags;
	const char *key;
};

/* A holder that is killed. */
struct relay_holder {
	unsigned int threads;	/* all but one compute */
	size_t bytes;		/* resident */
};

struct relay_handover {
	double latency_ns;	/* from the release to the grant */
	double spent_ns;	/* processor time of both processes for it */
};

/* bench_relay.c says which process writes what; for that file alone. */
struct relay {
	alignas(64) _Atomic uint32_t turn;
	_Atomic uint32_t by_death;	/* this sample is a takeover */
	alignas(64) _Atomic uint32_t hold;
	_Atomic uint32_t let_go;
	alignas(64) _Atomic uint32_t held;
	_Atomic uint64_t release_ns;	/* when it began */
	_Atomic uint64_t release_spent_ns;
	_Atomic uint32_t released;
	alignas(64) _Atomic uint32_t waiting;
	_Atomic uint32_t granted;
	_Atomic uint64_t granted_ns;
	_Atomic uint64_t wait_spent_ns;

	/* the parent writes these before it forks, or alone reads them */
	enum relay_lock lock;
	struct relay_place place;
	pthread_mutex_t *mutex;
	int file;
	int waiter, releaser;		/* processes; 0: none */
	uint32_t k;			/* number of the last sample */
};

/* Starts a process that waits for the lock again and again.  The place is
 * copied. */
struct relay *bench_relay_start(enum relay_lock lock,
    const struct relay_place *place);

/* Takes a sample each. */
double bench_relay_takeover(struct relay *relay,
    const struct relay_holder *holder);
struct relay_handover bench_relay_handover(struct relay *relay);

/* Ends the processes of the relay. */
void bench_relay_stop(struct relay *relay);

#endif
