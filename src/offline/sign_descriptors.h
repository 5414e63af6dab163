/* SPDX-License-Identifier: MIT */
/* Looks at the descriptors of all processes for second signs of life: see
 * sign_descriptors.c. */
#ifndef LHI_SIGN_DESCRIPTORS_H
#define LHI_SIGN_DESCRIPTORS_H

#include "offline/sign_lists.h"

/* Notes who has the signs that were found open, and signs that no list has. */
void lhi_sign_descriptors_look(struct lhi_sign_holders *h);

#endif
