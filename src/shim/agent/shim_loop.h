/* SPDX-License-Identifier: MIT */
/* The shim's one loop: see shim_loop.c. */
#ifndef SHIM_LOOP_H
#define SHIM_LOOP_H

#include "shim_conf.h"

/* Until it is told to end, or cannot go on: the exit status.  `ready` is called
 * when all is set up. */
int shim_loop_run(struct conf *conf, const struct conf_args *args,
    void (*ready)(void));

#endif
