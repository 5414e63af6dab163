/* SPDX-License-Identifier: MIT */
/*
 * Asks the shim which hosts have a cluster key, for reports and for sentences.
 * lh_status(), lh_explain() and cluster_acquire.c call it.
 *
 * The table of this host does not show what another host holds.  So a key that
 * is free here is reported as free only if this host has the exclusive right to
 * it, or the cluster said that no other host has it.  Otherwise another host
 * has it, or it is not known: no shim, no answer in time, or no definite one.
 *
 * A host that has the right to a key may not use it at the moment.  Only that
 * host could tell, so it counts as held there.
 *
 * Nothing is written, and no decision of the library depends on the answer.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "op/cluster_acquire.h"
#include "op/cluster_holders.h"

#define REPORT_NS NS_PER_SEC		/* how long a report waits for it, */
#define OF_LEASE_NS (50 * NS_PER_MS)	/* and one of a lease that is held */
#define OURS " (this host)"		/* src/shim/agent/questions.c */

/*
 * Copies the shim's words for people, without bytes that a terminal would obey.
 */
const char *
lhi_cluster_holders_printable(const struct lhi_frame *f, char *buf, size_t size)
{
	size_t n = f->text_len < size - 1 ? f->text_len : size - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] = f->text[i] >= ' ' && f->text[i] < 0x7f ? f->text[i] :
		    '?';	/* char may be signed or not */
	buf[n] = '\0';
	return n > 0 ? buf : "no reason was given";
}

/* "a, b and 3 more hold it; 4 wait" */
static void
print_parties(const struct lhi_frame *f, char *buf, size_t size)
{
	size_t at = 0;
	uint32_t told = 0;
	int n;

	buf[0] = '\0';
	for (uint8_t i = 0; i < f->n && told < 2; i++) {
		const struct lhi_frame_party *q = &f->party[i];
		struct lhi_frame name = { .text = q->name,
		    .text_len = q->len };
		char who[FRAME_NAME_MAX + 1];

		if (q->what != FRAME_HOLDS)
			continue;
		n = snprintf(buf + at, size - at, "%s%s%s", told++ > 0 ? ", " :
		    "", lhi_cluster_holders_printable(&name, who, sizeof(who)),
		    q->mode == LH_SHARED ? " (shared)" : "");
		if (n < 0 || (size_t)n >= size - at)
			return;
		at += (size_t)n;
	}
	if (f->holders > told)
		n = snprintf(buf + at, size - at, " and %u more",
		    f->holders - told);
	else
		n = 0;
	if (n < 0 || (size_t)n >= size - at)
		return;
	at += (size_t)n;
	(void)snprintf(buf + at, size - at, f->holders == 0 ? "no host has "
	    "it; %u wait" : f->waiting == 0 ? " in the cluster" : " in the "
	    "cluster; %u wait there", f->waiting);
}

/* True if another host than this is among the holders. */
static bool
has_other_holder(const struct lhi_frame *f)
{
	uint32_t others = f->holders;

	for (uint8_t i = 0; i < f->n; i++) {
		const struct lhi_frame_party *q = &f->party[i];
		size_t len = sizeof(OURS) - 1;

		/* a host's name is followed by its session, so it cannot
		 * end so by itself */
		others -= q->what == FRAME_HOLDS && q->len > len &&
		    memcmp(q->name + q->len - len, OURS, len) == 0;
	}
	return others > 0;
}

/* Says why it is not known. */
static enum lh_others
report_unknown(const char *why, char *buf, size_t size)
{
	(void)snprintf(buf, size, "the cluster does not say which hosts have "
	    "it: %s", why);
	return LH_OTHERS_UNKNOWN;
}

enum lh_others
lhi_cluster_holders_read(struct lh *lh, const char *key, int64_t wait_ns,
    char *buf, size_t size)
{
	const struct lhi_shim_request_wait wait = {
		.until_ns = lhi_now_ns(&lh->v) + wait_ns,
	};
	struct lhi_shim_request p = { .lh = lh, .question = {
		.type = FRAME_STATUS, .n = 1, .key = { { .key = key,
		    .len = (uint8_t)strlen(key) } },
	} };
	enum lh_others others;
	char why[200];
	int error;

	error = lhi_shim_request_begin(&p);
	if (error == 0)
		error = lhi_shim_request_await(&p, &wait);
	if (error != 0) {
		others = report_unknown(lh_error_detail(), buf, size);
	} else if (p.answer.type == FRAME_HOLDERS) {
		print_parties(&p.answer, buf, size);
		others = has_other_holder(&p.answer) ? LH_OTHERS_HOLD :
		    LH_OTHERS_NONE;
	} else {
		others = report_unknown(lhi_cluster_holders_printable(
		    &p.answer, why, sizeof(why)), buf, size);
	}
	lhi_shim_request_end(&p);
	return others;
}

void
lhi_cluster_holders_report(struct lhi_snapshot *sn, bool of_lease)
{
	struct lh_key_info *info = &sn->info;

	if (info->cluster == LH_CLUSTER_LOCAL || sn->lh->serves)
		return;
	info->others = lhi_cluster_holders_read(sn->lh, sn->key, of_lease ?
	    OF_LEASE_NS : REPORT_NS, sn->elsewhere, sizeof(sn->elsewhere));
	info->elsewhere = sn->elsewhere;
	/* whatever the cluster says, or does not */
	if (info->cluster == LH_CLUSTER_EXCLUSIVE)
		info->others = LH_OTHERS_NONE;
}

int
lhi_cluster_holders_of_unknown(struct lhi_snapshot *sn, const char *key,
    int error)
{
	struct lhi_key_name n;

	if (error != -ENOENT || lhi_name_set(&n, key) != 0 ||
	    !lhi_cluster_acquire_is_needed(sn->lh, &n))
		return error;
	memcpy(sn->key, key, n.len + 1);
	sn->info = (struct lh_key_info){ .size = sizeof(sn->info),
	    .key = sn->key, .mode = LH_EXCLUSIVE, .scope = LH_QUORUM,
	    .cluster = LH_CLUSTER_NONE };
	lhi_cluster_holders_report(sn, false);
	return sn->info.others != LH_OTHERS_NONE ? 0 : lhi_fail(-ENOENT,
	    "there is no key '%.64s' in table %s, and no other host has it",
	    key, sn->lh->name);
}
