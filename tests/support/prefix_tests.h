/* SPDX-License-Identifier: MIT */
/*
 * The same for the tests; see prefix_src.h.  make check-release (of check-all)
 * compiles each test with what it includes itself.
 */
#ifndef PREFIX_TESTS_H
#define PREFIX_TESTS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <leasehold.h>
#include "tap.h"
#include "support/actor.h"
#include "support/child.h"
#include "support/support.h"

#endif
