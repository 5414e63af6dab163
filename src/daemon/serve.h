/* SPDX-License-Identifier: MIT */
/* The socket from which metrics are read: see serve.c. */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

#include <stdint.h>
#include "metrics_page.h"

/* Sets the epoll set.  Events of listener i carry `listener` << 32 | i, those
 * of client i `reader` << 32 | i.  `write` writes the text. */
void serve_begin(int epoll_fd, uint32_t listener, uint32_t reader,
    metrics_page_fn *write);

/* Serves at that path; "": nowhere.  An error is logged, and everything else
 * goes on. */
void serve_configure(const char *path, unsigned mode);

/* Also serves at the sockets of that name that the service manager has opened.
 * Returns how many there are. */
unsigned serve_adopt(const char *name);

/* Accepts a connection at listener i. */
void serve_accept(uint32_t i);
/* Reads from or writes to client i, which is ready. */
void serve_ready(uint32_t i);

/* Disconnects clients whose time is over.  Returns when the next one's is;
 * INT64_MAX: none. */
int64_t serve_run(int64_t now_ns);

void serve_end(void);

#endif
