/* SPDX-License-Identifier: MIT */
/* The socket from which metrics are read: see serve.c. */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

#include <stdint.h>
#include "metrics_page.h"

/* Sets the epoll set.  Events of the listener carry `listener` << 32, those of
 * clients `reader` << 32 | index.  `write` writes the text. */
void serve_begin(int epoll_fd, uint32_t listener, uint32_t reader,
    metrics_page_fn *write);

/* Serves at that path; "": nowhere.  An error is logged, and everything else
 * goes on. */
void serve_configure(const char *path, unsigned mode);

/* Accepts a connection. */
void serve_accept(void);
/* Reads from or writes to client i, which is ready. */
void serve_ready(uint32_t i);

/* Disconnects clients whose time is over.  Returns when the next one's is;
 * INT64_MAX: none. */
int64_t serve_run(int64_t now_ns);

void serve_end(void);

#endif
