/* SPDX-License-Identifier: MIT */
/*
 * Describes what blocks a waiter: the exclusive holder, or the number of
 * readers and one of them.  For a waiting reader it also names the writer that
 * is queued before it, because other readers alone would not block it.
 *
 *	held by backup[4711] for 12 s, 18 s left
 *	held by 3 readers, one of them report[4712] for 40 s, 25 s left
 *	held by 1 reader, report[4712] for 40 s, 25 s left; the writer
 *	    backup[4711] goes first
 *
 * Of several readers the oldest is named, so that the sentence stays the same
 * while others come and go.  "left" is the time until the last of their leases
 * ends.
 */
#include <inttypes.h>
#include <stdio.h>
#include <leasehold.h>
#include "daemon/text.h"
#include "blocker.h"
#include "show.h"
#include "show_state.h"

const struct lh_party *
blocker_first_writer(const struct lh_key_info *info, uint32_t rank)
{
	uint32_t i;

	for (i = 0; i < info->n_waiters; i++) {
		const struct lh_party *p = &info->waiters[i];

		if (rank != 0 && p->rank >= rank)
			break;
		if (p->mode == LH_EXCLUSIVE)
			return p;
	}
	return NULL;
}

/* Returns "N readers, one of them ", or "" if there is one holder and it is not
 * a reader. */
static const char *
readers_prefix(char buf[64], const struct lh_key_info *info)
{
	if (info->mode != LH_SHARED)
		return "";
	if (info->n_holders == 1)
		return "1 reader, ";
	(void)snprintf(buf, 64, "%" PRIu32 " readers, one of them ",
	    info->n_holders);
	return buf;
}

const char *
blocker_text(char buf[BLOCKER_TEXT_MAX], struct lh *lh,
    const struct lh_key_info *info, uint32_t mode, uint32_t rank)
{
	char party[PARTY_MAX], many[64], held[SPAN_MAX], left[SPAN_MAX];
	const struct lh_party *p;
	int64_t now = lh_clock_ns(lh);
	int n;

	if (info->n_holders == 0) {
		(void)snprintf(buf, BLOCKER_TEXT_MAX, "free, others go first");
		return buf;
	}
	if (show_state_by_shim(info)) {
		(void)snprintf(buf, BLOCKER_TEXT_MAX, info->others ==
		    LH_OTHERS_HOLD ? "held on another host: %s" :
		    "leasehold-shimd keeps it for the cluster: %s",
		    show_state_where(info));
		return buf;
	}
	p = show_oldest(info);
	if (!show_state_holds(p)) {
		(void)snprintf(buf, BLOCKER_TEXT_MAX, "%s has lost it with "
		    "this host's right to it: %s", show_party(party, p),
		    show_state_where(info));
		return buf;
	}
	n = snprintf(buf, BLOCKER_TEXT_MAX, "held by %s%s for %s, %s%s",
	    readers_prefix(many, info), show_party(party, p),
	    text_span(held, now - p->since_ns),
	    show_left(left, show_last(info), now),
	    show_last(info)->expires_ns == INT64_MAX ? "" : " left");
	p = blocker_first_writer(info, rank);
	if (mode == LH_SHARED && info->mode == LH_SHARED && p != NULL)
		(void)snprintf(buf + n, BLOCKER_TEXT_MAX - (size_t)n,
		    "; the writer %s goes first", show_party(party, p));
	return buf;
}
