/* SPDX-License-Identifier: MIT */
/* The engine over etcd, version 3: see etcd.c. shim_loop.c opens it. */
#ifndef SHIM_ETCD_H
#define SHIM_ETCD_H

#include <event2/event.h>
#include "engine.h"

struct etcd_opts {
	struct event_base *base;
	/* "https://a.example:2379,https://[fd00::1]:2379".  All belong to one
	 * cluster.  The engine starts at a random one and tries them in turn.
	 * https must be used for all or for none. */
	const char *endpoints;
	const char *root;	/* a key that the user must be able to read */
	const char *user, *password;	/* NULL: no login */
	const char *ca_file;	/* authority of the servers' certificates; NULL:
				 * the system's */
	const char *cert_file, *key_file;	/* our certificate, or NULL */
	int connect_ms;		/* timeout for one endpoint; 0: 1000 */
	int refused_ms;		/* pause after KV_REFUSED; 0: 10000 */
	/* Reports advice for the operator; may be NULL. */
	void (*say)(const char *text, void *arg);
	void *say_arg;
};

/*
 * Opens an engine.  Texts are copied.  The first state is reported from the
 * loop: KV_HERE means that the engine is connected to the right cluster and may
 * use it.  Returns NULL with a sentence in `why` if an option is invalid or
 * there is no memory.
 */
struct engine *etcd_open(const struct etcd_opts *o,
    const struct kv_hooks *hooks, const struct kv_mark *mark, char *why,
    size_t room);

#endif
