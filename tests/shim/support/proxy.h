/* SPDX-License-Identifier: MIT */
/*
 * A bad network: a proxy, in the loop of the test, between a client and a port
 * of 127.0.0.1, that cuts connections and holds back what is sent.
 */
#ifndef TESTS_SHIM_PROXY_H
#define TESTS_SHIM_PROXY_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>

struct proxy;

struct proxy *proxy_start(struct event_base *base, uint16_t to);
void proxy_stop(struct proxy *p);
uint16_t proxy_port(const struct proxy *p);

/* That came so far. */
unsigned proxy_conns(const struct proxy *p);

/* All connections that are there end. */
void proxy_hang_up(struct proxy *p);

/* So many bytes from now on are let through to the server, or from it; then
 * all connections end.  -1: no end. */
void proxy_cut_after(struct proxy *p, int up, int down);

/* Nothing is let through, and nothing is lost. */
void proxy_hold(struct proxy *p, bool hold);

#endif
