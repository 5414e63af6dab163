/* SPDX-License-Identifier: MIT */
/* The locks that the curves compare, behind one interface.  See locks.c. */
#ifndef CURVES_LOCKS_H
#define CURVES_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench.h"

#define OPENED_MAX	64	/* keys that a process may have opened */
#define CURVE_NAME_MAX	24

/*
 * prepare() makes the lock for so many keys and returns NULL, or why it cannot
 * take part.  Each process then attaches, calls pair() with keys below that
 * number, and detaches; finish() removes it all.
 */
struct lock {
	const char *name;
	const char *(*prepare)(uint32_t keys);
	void (*attach)(void);
	void (*pair)(uint32_t key, bool shared);	/* acquire, release */
	void (*detach)(void);
	void (*finish)(void);
};

/* locks.c: of this project, the C library and the kernel */
extern const struct lock lock_opened, lock_named, lock_mutex, lock_rwlock,
    lock_flock;
/* lock_libraries.c */
extern const struct lock lock_bdb, lock_tdb;
/* lock_servers.c: on loopback */
extern const struct lock lock_redis, lock_etcd;

/* Writes the key's name, without a division by ten more than it needs. */
void curve_name(char name[CURVE_NAME_MAX], uint32_t key);

#endif
