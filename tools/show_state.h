/* SPDX-License-Identifier: MIT */
/* Whether a key is held, by whomever.  See show_state.c. */
#ifndef TOOLS_SHOW_STATE_H
#define TOOLS_SHOW_STATE_H

#include <stdbool.h>
#include <leasehold.h>

enum key_state {
	KEY_FREE,
	KEY_HELD,		/* by a process of this host */
	KEY_ELSEWHERE,		/* another host has it in the cluster */
	KEY_UNKNOWN		/* the cluster does not say */
};

/* Said of a key that is held elsewhere. */
#define SHOW_STATE_IN_USE "whether a process uses it there at the moment, " \
	"only that host can tell"

enum key_state show_state(const struct lh_key_info *info);

/* Returns it in words, as text and JSON have them. */
const char *show_state_words(enum key_state state);

/* Returns it as an exit status: is the key held? */
int show_state_status(enum key_state state);

/* True if that holder in the table is one: not the shim, which keeps a key from
 * the processes here, and no lease that ended with this host's right. */
bool show_state_holds(const struct lh_party *p);

/* True if a process or session of this host holds the key. */
bool show_state_is_held_here(const struct lh_key_info *info);

/* True if the table still has a lease of it that ended with the right. */
bool show_state_has_ended(const struct lh_key_info *info);

/* True if only the shim is its holder in the table. */
bool show_state_by_shim(const struct lh_key_info *info);

/* Returns which hosts have the key, in words, or why that is not known. */
const char *show_state_where(const struct lh_key_info *info);

/* True if `key`, in a table that does not exist here, may be one of a cluster,
 * which cannot be asked then. */
bool show_state_may_be_elsewhere(const char *key);

#endif
