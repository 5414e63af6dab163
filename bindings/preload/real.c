/* SPDX-License-Identifier: MIT */
/*
 * The functions of the C library that this library stands before.  They are
 * looked up once, before the program's main(); a call that comes earlier, from
 * another library's start, looks them up itself.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include "preload.h"

static struct real functions;
static atomic_bool known;

/* (ISO C has no conversion of an object's address to a function's) */
static void
look_up(const char *name, void *function)
{
	void *address = dlsym(RTLD_NEXT, name);

	memcpy(function, &address, sizeof(address));
}

static void __attribute__((constructor))
look_up_all(void)
{
	look_up("flock", &functions.flock);
	look_up("lockf", &functions.lockf);
	look_up("fcntl", &functions.fcntl);
	look_up("close", &functions.close);
	look_up("dup2", &functions.dup2);
	look_up("dup3", &functions.dup3);
	look_up("fclose", &functions.fclose);
	look_up("close_range", &functions.close_range);
	look_up("closefrom", &functions.closefrom);
	atomic_store(&known, true);
}

const struct real *
real(void)
{
	if (!atomic_load_explicit(&known, memory_order_acquire))
		look_up_all();
	return &functions;
}
