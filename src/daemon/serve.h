/* SPDX-License-Identifier: MIT */
/* The socket that metrics are read from: see serve.c. */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

#include <stdint.h>
#include "metrics_page.h"

/* The listener goes into the epoll set as `listener` << 32, readers of it as
 * `reader` << 32 | number.  `write` writes the text that is served. */
void serve_begin(int epoll_fd, uint32_t listener, uint32_t reader,
    metrics_page_fn *write);

/* Serve at that path ("": nowhere).  What cannot be done is logged, and all
 * else goes on. */
void serve_configure(const char *path, unsigned mode);

/* Somebody wants to connect; reader i can be read from, or written to. */
void serve_accept(void);
void serve_ready(uint32_t i);

/* Close those whose time is up.  When the next one's is (INT64_MAX: none). */
int64_t serve_run(int64_t now_ns);

void serve_end(void);

#endif
