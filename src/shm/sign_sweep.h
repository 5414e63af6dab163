/* SPDX-License-Identifier: MIT */
/* Files of second signs that nobody asks for: see sign_sweep.c. */
#ifndef LHI_SIGN_SWEEP_H
#define LHI_SIGN_SWEEP_H

#include "shm/view.h"

/* Removes the sign of the dead session of record idx, whose recycle byte the
 * caller holds, if this process may. */
void lhi_sign_bury(const struct lhi_view *v, uint32_t idx);

/* Removes from this user's directory the signs of tables that are gone. */
void lhi_sign_sweep_own(void);

#endif
