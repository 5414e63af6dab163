/* SPDX-License-Identifier: MIT */
/* Asks all files of second signs of life of a record: see sign_files.c. */
#ifndef LHI_SIGN_FILES_H
#define LHI_SIGN_FILES_H

#include "shm/view.h"

/* Asks every second sign of record idx that has a file, whatever the record
 * says.  Returns 1: one is held; 0: none is; -1: of one that is not known. */
int lhi_sign_files_held(const struct lhi_view *v, uint32_t idx);

/* True if a process of that user may have made a session of the table. */
bool lhi_sign_files_is_user(const struct lhi_view *v, uid_t uid);

#endif
