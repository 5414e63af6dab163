/* SPDX-License-Identifier: MIT */
/* Certificates for a test, made by openssl(1). */
#ifndef TESTS_SHIM_CERTS_H
#define TESTS_SHIM_CERTS_H

/*
 * A directory (of cluster_dir()) with
 *	ca.pem			who signs
 *	server.pem, .key	of 127.0.0.1 and localhost
 *	client.pem, .key
 *	far.pem, .key		of far.example, signed by the same
 *	other-ca.pem		who signs
 *	stranger.pem, .key	of 127.0.0.1
 */
const char *certs_dir(void);

/* A file in it; good until four more were asked for. */
const char *certs_file(const char *name);

#endif
