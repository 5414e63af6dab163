/* SPDX-License-Identifier: MIT */
/* The keys of a `run`.  See run_keys.c. */
#ifndef TOOLS_RUN_KEYS_H
#define TOOLS_RUN_KEYS_H

#include "run.h"

/* Splits r->key into r->items.  Returns 0, or an exit status after a
 * message. */
int run_keys_split(struct run *r);

/* The library's calls, applied to all keys.  Each returns 0 or the first error.
 * After -ESTALE, extend and verify set r->lost. */
int run_keys_acquire(struct run *r, const struct lh_acquire_opts *opts);
int run_keys_extend(struct run *r);
int run_keys_verify(struct run *r);
int run_keys_release(struct run *r);

/* Writes the key of that permit of the semaphore (<leasehold/sem.h>). */
void run_keys_permit(char key[PERMIT_KEY_SIZE], const char *name,
    uint32_t number);

/* True if that error of the calls above means that the leases are lost: one
 * ended, or the table was removed by force and erased.  (One that is damaged
 * otherwise still has them, and an error may pass.)  lh_error_detail() says
 * which. */
bool run_keys_are_lost(struct run *r, int error);

/* True if a process has asked for one of the keys since the last call. */
bool run_keys_asked(struct run *r);

/* Returns that part of each lease, with commas between: allocated, or NULL. */
enum run_keys_text { RUN_KEYS_TOKENS, RUN_KEYS_IDS };
char *run_keys_list(const struct run *r, enum run_keys_text what);

#endif
