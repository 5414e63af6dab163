/* SPDX-License-Identifier: MIT */
/* Finds out who held a key at a time in the past. See log_at.c. */
#ifndef TOOLS_LOG_AT_H
#define TOOLS_LOG_AT_H

#include "log_query.h"

/* Prints who held o->key at the time o->at.  Returns the exit status. */
int log_at(const struct log_opts *o);

#endif
