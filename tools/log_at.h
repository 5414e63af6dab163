/* SPDX-License-Identifier: MIT */
/* Who held a key at a time that is over.  See log_at.c. */
#ifndef TOOLS_LOG_AT_H
#define TOOLS_LOG_AT_H

#include "log_query.h"

/* Prints who held o->key at the time o->at.  Returns the exit status. */
int log_at(const struct log_opts *o);

#endif
