/* SPDX-License-Identifier: MIT */
/* Where the tokens of a slot's next key begin: see key_token.c. */
#ifndef LHI_KEY_TOKEN_H
#define LHI_KEY_TOKEN_H

#include "shm/view.h"

/*
 * Of a slot that is being made: brings hint and word up to the floor of its
 * key, and makes the word FREE.  Before each attempt to link it.
 * 0; -EUCLEAN.
 */
int lhi_slot_publish(struct lhi_view *v, struct shm_slot *s);

/*
 * An ordinary slot is to have that token, though nobody is granted it: the
 * ceiling goes before it, as for a grant (op/token_ceiling.c).  Not at the very
 * end of all tokens, where nothing is granted, nor in a table that was removed.
 */
int lhi_slot_cover(struct lhi_view *v, uint64_t token);

#endif
