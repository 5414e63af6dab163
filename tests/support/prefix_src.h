/* SPDX-License-Identifier: MIT */
/*
 * Includes the headers that most files of src need.  Clang's flavours parse it
 * once, and each file begins with it (Makefile, PARSED_ONCE).  The release
 * flavour does not: there each file is compiled with what it includes itself.
 */
#ifndef PREFIX_SRC_H
#define PREFIX_SRC_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold.h>
#include "base/clock.h"
#include "base/error.h"
#include "prim/descriptor.h"
#include "shm/claim_record.h"
#include "shm/counters.h"
#include "shm/damaged.h"
#include "shm/events.h"
#include "shm/lock_word.h"
#include "shm/readers.h"
#include "shm/session_liveness.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"
#include "proc/claim_cache.h"

#endif
