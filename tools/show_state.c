/* SPDX-License-Identifier: MIT */
/*
 * Whether a key is held: the answer of `status`, `explain`, `list` and `break`.
 *
 * The table shows the whole truth about a key of this host.  Of a
 * cluster key, the table shows the processes of this host, and the shim where
 * it keeps the key from them; whether another host has it, the library asks.
 * While that is not known, the key is neither held nor free.  A lease whose
 * right has ended holds nothing, although the table has it still.
 */
#include <string.h>
#include "daemon/exit_status.h"
#include "show_state.h"

#define PREFIX "cluster:"	/* unless a table was made with another */

static bool
has_flag(const struct lh_key_info *info, uint32_t flag)
{
	for (uint32_t i = 0; i < info->n_holders; i++)
		if ((info->holders[i].flags & flag) != 0)
			return true;
	return false;
}

bool
show_state_holds(const struct lh_party *p)
{
	return p->rank == 0 &&
	    (p->flags & (LH_PARTY_FOR_CLUSTER | LH_PARTY_RIGHT_ENDED)) == 0;
}

bool
show_state_is_held_here(const struct lh_key_info *info)
{
	for (uint32_t i = 0; i < info->n_holders; i++)
		if (show_state_holds(&info->holders[i]))
			return true;
	return false;
}

bool
show_state_by_shim(const struct lh_key_info *info)
{
	return info->n_holders > 0 && !show_state_is_held_here(info) &&
	    !show_state_has_ended(info);
}

bool
show_state_has_ended(const struct lh_key_info *info)
{
	return has_flag(info, LH_PARTY_RIGHT_ENDED);
}

enum key_state
show_state(const struct lh_key_info *info)
{
	if (show_state_is_held_here(info))
		return KEY_HELD;
	if (info->others == LH_OTHERS_HOLD)
		return KEY_ELSEWHERE;
	if (info->others == LH_OTHERS_UNKNOWN || show_state_has_ended(info))
		return KEY_UNKNOWN;
	return info->n_holders > 0 ? KEY_HELD : KEY_FREE;
}

const char *
show_state_words(enum key_state state)
{
	static const char *const words[] = {
		"free", "held", "held elsewhere", "unknown"
	};

	return words[state];
}

int
show_state_status(enum key_state state)
{
	return state == KEY_FREE ? EX_NO : state == KEY_UNKNOWN ? EX_AWAY :
	    EX_YES;
}

const char *
show_state_where(const struct lh_key_info *info)
{
	return info->elsewhere != NULL ? info->elsewhere :
	    show_state_has_ended(info) ? "this host's right to it has ended" :
	    "the cluster was not asked";
}

bool
show_state_may_be_elsewhere(const char *key)
{
	return strncmp(key, PREFIX, sizeof(PREFIX) - 1) == 0;
}
