/* SPDX-License-Identifier: MIT */
/*
 * src/shim/store, TLS: a server is accepted only if a trusted authority has
 * signed its certificate for the name that was asked for, and if it speaks
 * HTTP/2; and a real etcd that wants a client certificate gets it.
 *
 * Otherwise anybody on the network could answer in place of the cluster.
 */
#include <openssl/ssl.h>
#include "shim/store/endpoint.h"
#include "shim/support/certs.h"
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "shim/support/server.h"
#include "tap.h"

static struct event_base *base;

static int
choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_len,
    const unsigned char *in, unsigned int len, void *arg)
{
	(void)ssl;
	(void)arg;
	return SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len,
	    (const unsigned char *)"\2h2", 3, in, len) ==
	    OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static SSL_CTX *
server_tls(const char *name, bool h2)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());
	char cert[32], key[32];

	(void)snprintf(cert, sizeof(cert), "%s.pem", name);
	(void)snprintf(key, sizeof(key), "%s.key", name);
	if (SSL_CTX_use_certificate_chain_file(c, certs_file(cert)) != 1 ||
	    SSL_CTX_use_PrivateKey_file(c, certs_file(key),
	    SSL_FILETYPE_PEM) != 1)
		bail_out("no certificate of %s", name);
	if (h2)
		SSL_CTX_set_alpn_select_cb(c, choose_h2, NULL);
	return c;
}

static void
try_server(const char *name, bool h2, const char *host, const char *ca,
    const char *want)
{
	SSL_CTX *theirs = server_tls(name, h2);
	struct server *s = server_start(base, theirs);
	char why[300];
	struct ssl_ctx_st *ours = endpoint_tls(certs_file(ca), NULL, NULL, why,
	    sizeof(why));
	struct noted_channel n;
	struct noted c;

	if (ours == NULL)
		bail_out("%s", why);
	(void)loop_connect(base, server_port(s), ours, host, &n);
	if (want == NULL) {
		ok(loop_up(base, &n), "%s at %s: %s", name, host, n.why);
		ok(loop_call(n.ch, "/echo", 4000, "hello", &c) &&
		    loop_until(base, &c.ended, 1, 5000) && c.fate ==
		    FATE_DONE && strcmp(c.body, "hello") == 0, "a call");
	} else {
		ok(!loop_up(base, &n) && n.state == CHANNEL_DOWN,
		    "%s at %s is refused", name, host);
		if (!ok(strstr(n.why, want) != NULL, "why"))
			diag("'%s' is not in '%s'", want, n.why);
	}
	channel_free(n.ch);
	server_stop(s);
	endpoint_tls_free(ours);
	SSL_CTX_free(theirs);
}

static void
bad_files(void)
{
	char why[300] = "";

	ok(endpoint_tls("/no/such/ca.pem", NULL, NULL, why, sizeof(why)) ==
	    NULL && strstr(why, "/no/such/ca.pem") != NULL, "no CA: %s", why);
	ok(endpoint_tls(certs_file("ca.pem"), "/no/such.pem", NULL, why,
	    sizeof(why)) == NULL, "no certificate: %s", why);
	ok(endpoint_tls(certs_file("ca.pem"), certs_file("client.pem"),
	    certs_file("server.key"), why, sizeof(why)) == NULL,
	    "the key of another: %s", why);
}

static void
real(void)
{
	struct cluster *c = cluster_start(1, certs_dir());
	struct etcd_opts o = { .ca_file = certs_file("ca.pem"),
	    .cert_file = certs_file("client.pem"),
	    .key_file = certs_file("client.key") };
	struct kv_noted n;
	struct kv_said s;

	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_here(&n, 5000), "etcd over TLS: %s", n.why);
	is(n.e->ops->watch(n.e, kv_text("t/")), 0, "a watch");
	ok(loop_until(base, &n.looks, 1, 3000), "it begins");
	ok(kv_put(&n, "t/a", "1", &s) && s.fate == FATE_DONE, "put");
	ok(loop_until(base, &n.changes, 1, 3000), "told");
	kv_close(&n);
	o.cert_file = o.key_file = NULL;
	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_until_state(&n, KV_AWAY, 5000) && n.here == 0,
	    "without a certificate: %s", n.why);
	kv_close(&n);
	o.cert_file = certs_file("stranger.pem");
	o.key_file = certs_file("stranger.key");
	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_until_state(&n, KV_AWAY, 5000) && n.here == 0,
	    "with one of another authority: %s", n.why);
	kv_close(&n);
	o = (struct etcd_opts){ .ca_file = certs_file("other-ca.pem") };
	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_until_state(&n, KV_AWAY, 5000) && n.here == 0,
	    "who signed it we do not trust: %s", n.why);
	kv_close(&n);
	cluster_end(c);
}

int
main(void)
{
	base = event_base_new();
	(void)certs_dir();
	try_server("server", true, "127.0.0.1", "ca.pem", NULL);
	try_server("server", true, "localhost", "ca.pem", NULL);
	try_server("server", false, "127.0.0.1", "ca.pem", "HTTP/2");
	try_server("far", true, "127.0.0.1", "ca.pem", "certificate");
	try_server("far", true, "localhost", "ca.pem", "certificate");
	try_server("stranger", true, "127.0.0.1", "ca.pem", "certificate");
	try_server("server", true, "127.0.0.1", "other-ca.pem",
	    "certificate");
	bad_files();
	real();
	event_base_free(base);
	return done();
}
