/* SPDX-License-Identifier: MIT */
/*
 * The parts of the group "cluster": real etcd (etcd.c), a bare client of it
 * (bare.c), and hosts, each a table with a shim (hosts.c).
 *
 * All of them are for one cluster at a time, and end with the group's process.
 */
#ifndef BENCH_ETCD_H
#define BENCH_ETCD_H

#include "bench.h"

#define MEMBERS_MAX 3

/* etcd.c: so many members, with the flags that doc/cluster.md recommends.  NULL
 * or why there are none. */
const char *etcd_begin(unsigned int n);
void etcd_end(void);
/* Where they are, for etcd_open(); but: a member to leave out, or -1. */
const char *etcd_url(void);		/* of one of them, always the same */
const char *etcd_urls(int but);
unsigned int etcd_leader(void);
void etcd_kill(unsigned int i);
void etcd_again(unsigned int i);

/* bare.c: a client that asks one thing at a time, over the shim's engine. */
struct bare;
struct bare *bare_open(const char *urls);
void bare_close(struct bare *b);
/* Wait until it can be asked; false: not within 20 s. */
bool bare_here(struct bare *b);
/* One transaction: put it, if it is not there; the same as to enqueue with it,
 * which compares a session's key, too, and looks at the queue; or delete it.
 * False: not done, or nobody knows.  (Keys are at most 63 bytes.) */
bool bare_enqueue(struct bare *b, const char *key);
bool bare_put(struct bare *b, const char *key, unsigned int timeout_ms);
bool bare_delete(struct bare *b, const char *key);
/* Call fn at each change under prefix, for ever. */
void bare_watch(struct bare *b, const char *prefix, void (*fn)(void))
    __attribute__((noreturn));

/* member.c: the recipe as such, without a table: take a key, give it back. */
void member_open(const char *urls);
void member_pair(void);
void member_close(void);

/* hosts.c: host i (0 or 1), its table's name. */
#define HOSTS 2
void hosts_begin(void);		/* when there is a cluster */
void hosts_end(void);
const char *hosts_table(unsigned int i);

/* failover.c; missing: why it is not to be measured, or NULL */
struct row failover_row(const char *missing);

#endif
