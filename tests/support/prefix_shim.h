/* SPDX-License-Identifier: MIT */
/*
 * The same for src/shim and src/daemon; see prefix_src.h.
 */
#ifndef PREFIX_SHIM_H
#define PREFIX_SHIM_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bsd/string.h>
#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <event2/event.h>
#include <leasehold.h>
#include "shim/store/engine.h"

#endif
