/* SPDX-License-Identifier: MIT */
/* The sockets that clients of serve.c connect to: see serve_listen.c. */
#ifndef DAEMON_SERVE_LISTEN_H
#define DAEMON_SERVE_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the epoll set.  Events of listener i carry kind << 32 | i. */
void serve_listen_begin(int epoll_fd, uint32_t kind);

/* Listens on the sockets that the service manager has opened for that name.
 * Returns how many there are. */
unsigned serve_listen_adopt(const char *name);

/* Listens at that path, instead of the one before; "": at none.  An error is
 * logged. */
void serve_listen_at(const char *path, unsigned mode);

/* True if it listens at that path. */
bool serve_listen_is_at(const char *path, unsigned mode);

/* Returns the descriptor of a client of listener i, or -1 if there is none. */
int serve_listen_accept(uint32_t i);

/* Listens again after a lack of descriptors.  Returns when to call it next;
 * INT64_MAX: no need. */
int64_t serve_listen_run(int64_t now_ns);

void serve_listen_end(void);

#endif
