/* SPDX-License-Identifier: MIT */
/* The engine over etcd, version 3: see etcd.c. */
#ifndef SHIM_ETCD_H
#define SHIM_ETCD_H

#include <event2/event.h>
#include "engine.h"

struct etcd_opts {
	struct event_base *base;
	/* "https://a.example:2379,https://[fd00::1]:2379": of one cluster,
	 * tried in turn, beginning with any; https with all or with none */
	const char *endpoints;
	const char *root;	/* a key that we may read, or there is no use */
	const char *user, *password;	/* NULL: none */
	const char *ca_file;	/* who signs servers; NULL: the system's */
	const char *cert_file, *key_file;	/* who we are; or NULL */
	int connect_ms;		/* for one endpoint; 0: 1000 */
	int refused_ms;		/* until it is tried again; 0: 10000 */
	/* What an operator should know; or NULL */
	void (*say)(const char *text, void *arg);
	void *say_arg;
};

/*
 * Texts are copied.  The first state is told from the loop, KV_HERE when there
 * is a connection, it is the right cluster and it knows us.  NULL: options that
 * cannot be, or no memory: why is in `why`, for people.
 */
struct engine *etcd_open(const struct etcd_opts *o,
    const struct kv_hooks *hooks, const struct kv_mark *mark, char *why,
    size_t room);

#endif
