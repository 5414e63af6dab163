/* SPDX-License-Identifier: MIT */
/*
 * Parses the endpoints of a cluster and makes the TLS context for them; see
 * endpoint.c. etcd.c and shim_conf.c call it.
 */
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
	bool tls;		/* all endpoints use https */
	bool names;		/* some hosts are names, not addresses */
};

/* Parses "scheme://host:port,...".  Returns 0, or -EINVAL or -ENOMEM with a
 * sentence in `why`. */
int endpoints_parse(struct endpoints *e, const char *text, char *why,
    size_t room);

/* True if all endpoints are on this host. */
bool endpoints_is_local(const struct endpoints *e);

struct ssl_ctx_st;

/* Returns an OpenSSL context made of these files; a NULL file has the meaning
 * given in etcd.h.  Returns NULL with a sentence in `why` on failure. */
struct ssl_ctx_st *endpoint_tls(const char *ca, const char *cert,
    const char *key, char *why, size_t room);
void endpoint_tls_free(struct ssl_ctx_st *tls);	/* accepts NULL */

#endif
