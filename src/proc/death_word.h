/* SPDX-License-Identifier: MIT */
/* Arms the death word of an attachment: see death_word.c. */
#ifndef LHI_PROC_DEATH_WORD_H
#define LHI_PROC_DEATH_WORD_H

#include "proc/attachment.h"

/* Arms the word of the attachment's session by the calling thread, if no thread
 * that lives has armed it.  Where that cannot be done, nothing changes.  Under
 * lhi_proc_lock(). */
void lhi_death_word_arm(struct lh *lh);

/* Ends it, before the session ends.  Under lhi_proc_lock(). */
void lhi_death_word_disarm(struct lh *lh);

#endif
