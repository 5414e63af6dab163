/* SPDX-License-Identifier: MIT */
/* The second sign of life of a session: see session_sign.c. */
#ifndef LHI_SESSION_SIGN_H
#define LHI_SESSION_SIGN_H

#include "shm/view.h"

/*
 * Makes a second sign for record idx, of which the caller holds the bytes.
 * Returns a descriptor, and *file is what lhi_sign_note() takes; or -errno.
 */
int lhi_sign_make(const struct lhi_view *v, uint32_t idx, uint64_t *file);

/* Removes the file of our own sign for record idx. */
void lhi_sign_remove(const struct lhi_view *v, uint32_t idx);

/* Returns 1 if a socket is bound to that file of the directory, 0 if none is;
 * -errno. */
int lhi_sign_is_bound(int dir, const char *leaf);

/* Removes the signs' files of the removed table whose id begins with uuid from
 * the directory that it stood in. */
void lhi_sign_sweep(int dir, uint64_t uuid);

/* Says in the record that its session has that sign, made by this user; 0: it
 * has none. */
void lhi_sign_note(struct shm_session *se, uint64_t file);

/* Record idx, of which the caller holds the bytes, begins another session: it
 * has no sign, and if the last one was this user's its file is removed. */
void lhi_sign_begin(const struct lhi_view *v, uint32_t idx);

/* True if record idx says that there is a second sign. */
bool lhi_sign_is_promised(const struct lhi_view *v, uint32_t idx);

/* Returns the id of the user whose directory has the sign of record idx. */
uint32_t lhi_sign_user(const struct lhi_view *v, uint32_t idx);

/* Asks for the second sign of record idx, which says that there is one.
 * Returns 1: it is held; 0: it is not; -errno: this process cannot tell. */
int lhi_sign_held(const struct lhi_view *v, uint32_t idx);

#endif
