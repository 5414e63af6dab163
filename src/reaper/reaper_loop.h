/* SPDX-License-Identifier: MIT */
/* The daemon's one loop: see reaper_loop.c. */
#ifndef REAPER_LOOP_H
#define REAPER_LOOP_H

#include "reaper_conf.h"

/* Until SIGTERM or SIGINT; `ready` is called when all is set up.  0, or -errno
 * if it could not be. */
int reaper_loop_run(struct conf *conf, const struct conf_args *args,
    void (*ready)(void));

/* Signals that the loop takes are kept back from now on. */
void reaper_loop_block_signals(void);

#endif
