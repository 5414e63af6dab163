/* SPDX-License-Identifier: MIT */
/* The first tokens of a slot's next key: see key_token.c. */
#ifndef LHI_KEY_TOKEN_H
#define LHI_KEY_TOKEN_H

#include "shm/view.h"

/*
 * For a slot that is being made: raises hint and word to the floor of its key,
 * and makes the word FREE. Before each attempt to link it.  Returns 0;
 * -EUCLEAN.
 */
int lhi_slot_publish(struct lhi_view *v, struct shm_slot *s);

/*
 * Prepares an ordinary slot for that token, although it is not granted: the
 * ceiling goes before it, as for a grant (op/token_ceiling.c). Not at the very
 * end of all tokens, where nothing is granted, nor in a removed table.
 */
int lhi_slot_cover(struct lhi_view *v, uint64_t token);

#endif
