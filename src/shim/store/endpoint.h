/* SPDX-License-Identifier: MIT */
/* Where a cluster is: see endpoint.c. */
#ifndef SHIM_ENDPOINT_H
#define SHIM_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENDPOINTS_MAX 16

struct endpoint {
	char host[256];
	uint16_t port;
};

struct endpoints {
	struct endpoint list[ENDPOINTS_MAX];
	unsigned n;
	bool tls;		/* all of them */
	bool names;		/* some are to be looked up */
};

/* Of "scheme://host:port,...".  -EINVAL: why. */
int endpoints_parse(struct endpoints *e, const char *text, char *why,
    size_t room);

/* True if all of them are addresses of this host. */
bool endpoints_is_local(const struct endpoints *e);

struct ssl_ctx_st;

/* A context for TLS, of files (NULL: see etcd.h).  NULL: why. */
struct ssl_ctx_st *endpoint_tls(const char *ca, const char *cert,
    const char *key, char *why, size_t room);
void endpoint_tls_free(struct ssl_ctx_st *tls);	/* or NULL */

#endif
