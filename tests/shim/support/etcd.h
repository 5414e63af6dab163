/* SPDX-License-Identifier: MIT */
/*
 * Real etcd: a cluster of one or more members on this machine, for one test.
 *
 * Members listen on free ports of 127.0.0.1; what they write is in /dev/shm and
 * goes away when the test ends, however it ends: a janitor process waits for
 * that.  They die with the thread that started them (PDEATHSIG).
 */
#ifndef TESTS_SHIM_ETCD_H
#define TESTS_SHIM_ETCD_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/store/etcd.h"

#define CLUSTER_MEMBERS 3

struct cluster;

/* Members that answer; NULL tls: in the clear, else a directory with ca.pem,
 * server.pem, server.key: clients need a certificate too.  Skips the test if
 * there is no etcd. */
struct cluster *cluster_start(unsigned n, const char *tls);
/* Began anew from a snapshot of another: the same name, token and ports of a
 * cluster of one that was killed. */
void cluster_restore(struct cluster *c, const char *snapshot);
void cluster_end(struct cluster *c);

const char *cluster_endpoints(const struct cluster *c);
const char *cluster_endpoint(const struct cluster *c, unsigned i);
uint16_t cluster_port(const struct cluster *c, unsigned i);

void cluster_kill(struct cluster *c, unsigned i);
void cluster_stop(struct cluster *c, unsigned i);
void cluster_cont(struct cluster *c, unsigned i);
void cluster_again(struct cluster *c, unsigned i);	/* after a kill */
unsigned cluster_leader(struct cluster *c);

/* Runs etcdctl, with arguments as of printf.  Returns its status; if it fails,
 * its output is printed. */
int cluster_ctl(struct cluster *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A place for files, in /dev/shm, removed with the rest. */
const char *cluster_dir(void);

#endif
