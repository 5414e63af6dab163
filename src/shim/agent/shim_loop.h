/* SPDX-License-Identifier: MIT */
/* The daemon's event loop: see shim_loop.c. */
#ifndef SHIM_LOOP_H
#define SHIM_LOOP_H

#include "shim_conf.h"

/* Runs the loop until the daemon is ended or cannot continue.  Returns the exit
 * status.  `ready` is called when everything is set up. */
int shim_loop_run(struct conf *conf, const struct conf_args *args,
    void (*ready)(void));

#endif
