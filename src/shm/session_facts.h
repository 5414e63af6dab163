/* SPDX-License-Identifier: MIT */
/* The facts of a named session: see session_facts.c. */
#ifndef LHI_SESSION_FACTS_H
#define LHI_SESSION_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include "shm/view.h"

#define NAMED_NAME_MAX	31u
#define SESSION_NAME_WORDS (sizeof(((struct shm_session *)0)->application) / 8)

struct lhi_session_name {
	uint64_t w[SESSION_NAME_WORDS];
};

/* Returns that name as a record has it. */
struct lhi_session_name lhi_session_name_of(const char *text);

/* Returns the name in a record.  Each word is loaded before what follows. */
struct lhi_session_name lhi_session_name_in(const struct shm_session *se);

/* Returns what `sum` of the record has to be. */
uint32_t lhi_session_facts_sum(const struct shm_session *se);

/* True if the facts of the record fit their sum. */
bool lhi_session_facts_fit(const struct shm_session *se);

/* True if a record in state s has facts: it is, or was, a named session. */
bool lhi_session_has_facts(uint64_t s);

/* For a repair, with nobody attached: makes the facts of such a record fit
 * their sum, if one bit of them is all that was changed. */
void lhi_session_facts_correct(struct lhi_view *v, uint32_t idx);

#endif
