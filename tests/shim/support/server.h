/* SPDX-License-Identifier: MIT */
/*
 * A gRPC server that the test controls, in the test's loop: so that a channel
 * meets what etcd does once in a year.
 *
 * The path of a call says what it does:
 *
 *	/echo			the message comes back, status 0
 *	/status/N/TEXT		trailers alone: that status and message; in a
 *				path a blank is _
 *	/header/N/TEXT		the same, in two header blocks
 *	/silent			nothing
 *	/drop			the connection is closed
 *	/refuse			RST_STREAM, REFUSED_STREAM
 *	/reset			RST_STREAM, INTERNAL_ERROR, after half a message
 *	/leave			GOAWAY; this stream and later ones are refused
 *	/leave-late		GOAWAY that refuses nothing; it is not answered
 *	/cut			half a message, then status 0
 *	/nothing		no message, then status 0
 *	/large			a message of SERVER_LARGE bytes, status 0
 *	/compressed		a message that says that it is
 *	/http/NNN		that HTTP status and no gRPC
 *	/odd			status "0x", which is none
 *	/stream/N		N messages "0", "1", ..., then status 0
 *	/flood			messages without end, 16 kB each
 */
#ifndef TESTS_SHIM_SERVER_H
#define TESTS_SHIM_SERVER_H

#include <stdint.h>
#include <event2/event.h>

#define SERVER_LARGE (9u << 20)

struct server;

/* On 127.0.0.1, any port; tls NULL: in the clear. */
struct server *server_start(struct event_base *base, struct ssl_ctx_st *tls);
void server_stop(struct server *s);
uint16_t server_port(const struct server *s);

/* Connections that came are not answered from now on. */
void server_mute(struct server *s);

/* So many streams at a time, for connections that come. */
void server_streams(struct server *s, uint32_t n);

unsigned server_calls(const struct server *s);	/* that reached it */
const char *server_header(const struct server *s);	/* of the last call:
				 * "name: value" lines, without those of HTTP */

#endif
