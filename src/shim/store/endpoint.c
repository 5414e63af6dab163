/* SPDX-License-Identifier: MIT */
/*
 * Parses the list of endpoints as an operator writes it, and loads the
 * certificates that TLS needs.
 *
 *	endpoints = endpoint { "," endpoint }
 *	endpoint  = [ "http://" | "https://" ] host [ ":" port ] [ "/" ]
 *	host      = name | IPv4 | "[" IPv6 "]"
 *
 * The default scheme is http, the default port 2379.  A list with both schemes
 * is refused, because what is encrypted to one endpoint would be sent
 * unencrypted to the next.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include "daemon/secret.h"
#include "endpoint.h"

#define PORT 2379
#define KEY_FILE_MAX 32768	/* may contain certificates, too */

static bool
is_address(const char *host)
{
	unsigned char a[16];

	return inet_pton(AF_INET, host, a) == 1 ||
	    inet_pton(AF_INET6, host, a) == 1;
}

/* Parses what follows the host: an optional port and an optional "/". */
static bool
parse_port(const char *text, uint16_t *port)
{
	unsigned long n = PORT;
	char *end = (char *)(uintptr_t)text;

	if (*text == ':') {
		if (text[1] < '0' || text[1] > '9')
			return false;
		n = strtoul(text + 1, &end, 10);
	}
	if (n == 0 || n > UINT16_MAX || (*end != '\0' &&
	    strcmp(end, "/") != 0))
		return false;
	*port = (uint16_t)n;
	return true;
}

/* Parses one endpoint without its scheme. */
static bool
parse_one(struct endpoint *e, const char *text)
{
	size_t n;

	if (*text == '[') {
		n = strcspn(++text, "]");
		if (text[n] != ']' || n >= sizeof(e->host))
			return false;
		memcpy(e->host, text, n);
		e->host[n] = '\0';
		return strchr(e->host, ':') != NULL && is_address(e->host) &&
		    parse_port(text + n + 1, &e->port);
	}
	n = strcspn(text, ":/");
	if (n == 0 || n >= sizeof(e->host) || strcspn(text, "@[]% ") < n)
		return false;
	memcpy(e->host, text, n);
	e->host[n] = '\0';
	return parse_port(text + n, &e->port);
}

/* Moves *text past the scheme.  Returns false if the scheme is unknown. */
static bool
parse_scheme(const char **text, bool *tls)
{
	*tls = strncmp(*text, "https://", 8) == 0;
	if (*tls)
		*text += 8;
	else if (strncmp(*text, "http://", 7) == 0)
		*text += 7;
	return strstr(*text, "://") == NULL;
}

int
endpoints_parse(struct endpoints *e, const char *text, char *why, size_t room)
{
	char *copy = strdup(text), *rest = copy, *word;
	const char *what = NULL;
	bool tls;

	memset(e, 0, sizeof(*e));
	if (copy == NULL) {
		(void)snprintf(why, room, "out of memory");
		return -ENOMEM;
	}
	while (what == NULL && (word = strsep(&rest, ",")) != NULL) {
		struct endpoint *one = &e->list[e->n];
		const char *p = word + strspn(word, " \t");

		word[strcspn(word, "\n")] = '\0';
		for (char *end = strchr(p, '\0'); end > p && (end[-1] == ' ' ||
		    end[-1] == '\t'); )
			*--end = '\0';
		if (e->n == ENDPOINTS_MAX)
			what = "too many endpoints";
		else if (!parse_scheme(&p, &tls) || !parse_one(one, p))
			what = "invalid endpoint";
		else if (e->n > 0 && tls != e->tls)
			what = "use https for all endpoints or for none";
		else
			e->n++;
		if (what != NULL)
			break;
		e->tls = tls;
		e->names |= !is_address(one->host);
	}
	if (what == NULL && e->n == 0)
		what = "no endpoint";
	/* the text may contain a password: do not repeat it */
	if (what != NULL && strchr(text, '@') != NULL)
		(void)snprintf(why, room, "an endpoint must not contain user "
		    "and password; use user and password_file");
	else if (what != NULL)
		(void)snprintf(why, room, "%s: '%s'", what, text);
	explicit_bzero(copy, strlen(text));
	free(copy);
	return what == NULL ? 0 : -EINVAL;
}

bool
endpoints_is_local(const struct endpoints *e)
{
	for (unsigned i = 0; i < e->n; i++)
		if (strncmp(e->list[i].host, "127.", 4) != 0 &&
		    strcmp(e->list[i].host, "::1") != 0 &&
		    strcmp(e->list[i].host, "localhost") != 0)
			return false;
	return true;
}

/* Loads the private key.  The buffer with the file's content is wiped; copies
 * inside OpenSSL are not under our control. */
static bool
use_key(SSL_CTX *c, const char *path, char *why, size_t room)
{
	int fd = secret_open(path, "key_file", why, room);
	char text[KEY_FILE_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	BIO *b = n <= 0 ? NULL : BIO_new_mem_buf(text, (int)n);
	EVP_PKEY *key = b == NULL ? NULL : PEM_read_bio_PrivateKey(b, NULL,
	    NULL, (void *)(uintptr_t)"");
	bool good = key != NULL && SSL_CTX_use_PrivateKey(c, key) == 1 &&
	    SSL_CTX_check_private_key(c) == 1;

	EVP_PKEY_free(key);
	BIO_free(b);
	explicit_bzero(text, sizeof(text));
	if (fd >= 0)
		(void)close(fd);
	return good;
}

/* Writes OpenSSL's reason to `why`, frees the context and returns NULL. */
static struct ssl_ctx_st *
refuse_tls(SSL_CTX *c, const char *what, char *why, size_t room)
{
	unsigned long e = ERR_get_error();
	const char *reason = ERR_SYSTEM_ERROR(e) ?
	    strerror(ERR_GET_REASON(e)) : ERR_reason_error_string(e);

	(void)snprintf(why, room, "%s: %s", what, reason == NULL ?
	    "it cannot be used" : reason);
	ERR_clear_error();
	SSL_CTX_free(c);
	return NULL;
}

struct ssl_ctx_st *
endpoint_tls(const char *ca, const char *cert, const char *key, char *why,
    size_t room)
{
	SSL_CTX *c = SSL_CTX_new(TLS_client_method());

	if (c == NULL)
		return refuse_tls(c, "TLS", why, room);
	(void)SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
	if ((ca != NULL ? SSL_CTX_load_verify_locations(c, ca, NULL) :
	    SSL_CTX_set_default_verify_paths(c)) != 1)
		return refuse_tls(c, ca == NULL ? "TLS" : ca, why, room);
	if (cert == NULL)
		return c;
	if (SSL_CTX_use_certificate_chain_file(c, cert) != 1)
		return refuse_tls(c, cert, why, room);
	if (key == NULL)
		key = cert;
	why[0] = '\0';
	if (use_key(c, key, why, room))
		return c;
	if (why[0] == '\0')
		return refuse_tls(c, key, why, room);
	SSL_CTX_free(c);
	return NULL;
}

void
endpoint_tls_free(struct ssl_ctx_st *tls)
{
	SSL_CTX_free(tls);
}
