/* SPDX-License-Identifier: MIT */
/* For those who say what goes wrong in the fake: which transaction it is. */
#ifndef SUPPORT_ASKED_H
#define SUPPORT_ASKED_H

#include "shim/store/engine.h"

/* Records requests to these from now on; they have the same operations. */
void asked_watch(struct engine *e);

/* The transaction that one of them is asked just now, or NULL. */
extern const struct kv_txn *asked;

/* Is there one that begins with that? */
bool asked_to(enum kv_what what);

/* Is there one that writes a key with that in its name? */
bool asked_to_write(const char *what);

/* One of them is asked to revoke a lease just now. */
extern bool asked_to_revoke;

#endif
