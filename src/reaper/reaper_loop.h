/* SPDX-License-Identifier: MIT */
/* The daemon's loop: see reaper_loop.c.  reaper_main.c runs it. */
#ifndef REAPER_LOOP_H
#define REAPER_LOOP_H

#include "reaper_conf.h"

/* Runs until SIGTERM or SIGINT.  `ready` is called when everything is set up.
 * Returns 0, or -errno if the setup failed. */
int reaper_loop_run(struct conf *conf, const struct conf_args *args,
    void (*ready)(void));

/* Blocks the signals that the loop reads. */
void reaper_loop_block_signals(void);

#endif
