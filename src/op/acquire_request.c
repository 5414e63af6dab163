/* SPDX-License-Identifier: MIT */
/* Checks the caller's options of an acquire and converts them.
 * acquire_options.c and src/live call it. */
#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "inspect/explain.h"
#include "op/handoff.h"
#include "shm/table_words.h"

#define FLAGS (LH_NO_CREATE | LH_SHAREABLE | LH_NO_DEADLOCK | LH_EXPLAIN | \
	LH_ROBUST)
#define HOLDER_MAX 255u

/* Checks the rarer options.  Returns 0; -EINVAL or -EOPNOTSUPP with a
 * detail. */
static int
check_more(const struct lhi_view *v, const struct lh_acquire_more *m)
{
	if (m->size != sizeof(*m) || m->reserved != 0)
		return lhi_fail(-EINVAL, "more acquire options of %zu bytes: "
		    "set them with LH_ACQUIRE_MORE_INIT", m->size);
	if (m->policy > LH_POLICY_LIVE)
		return lhi_fail(-EINVAL, "unknown policy %u", m->policy);
	if (m->session != NULL && m->policy == LH_POLICY_LIVE)
		return lhi_fail(-EINVAL, "policy live is for a process: a "
		    "named session has none that could be seen to run");
	if (m->session != NULL && &m->session->lh->v != v)
		return lhi_fail(-EINVAL, "the session was opened through "
		    "another attachment");
	if (m->info != NULL && strnlen(m->info, SHM_INFO_MAX) == SHM_INFO_MAX)
		return lhi_fail(-EINVAL, "info of more than %u bytes",
		    SHM_INFO_MAX - 1);
	if (m->holder != NULL && (m->holder[0] == '\0' ||
	    strnlen(m->holder, HOLDER_MAX + 1) > HOLDER_MAX))
		return lhi_fail(-EINVAL, "a holder id has 1 to %u bytes",
		    HOLDER_MAX);
	if (m->holder != NULL && (m->request[0] | m->request[1]) != 0)
		return lhi_fail(-EINVAL, "a holder id and a request id: an "
		    "acquire has one of them at most, since the one counts "
		    "its repeats, and the other does not");
	if (m->value != NULL && m->value_len > SHM_VALUE_MAX)
		return lhi_fail(-EINVAL, "a value of %zu bytes: %u are the "
		    "most", m->value_len, SHM_VALUE_MAX);
	return 0;
}

/* True if these options say nothing but that the policy is strict. */
static bool
is_strict_alone(const struct lh_acquire_more *m)
{
	struct lh_acquire_more strict = LH_ACQUIRE_MORE_INIT;

	strict.policy = LH_POLICY_STRICT;
	return memcmp(m, &strict, sizeof(*m)) == 0;
}

int
lhi_acquire_request_set(const struct lhi_view *v,
    struct lhi_acquire_request *ask, const struct lh_acquire_opts *opts)
{
	static const struct lh_acquire_opts usual = LH_ACQUIRE_OPTS_INIT;
	static const struct lh_acquire_more none = LH_ACQUIRE_MORE_INIT;
	const struct lh_acquire_opts *o = opts == NULL ? &usual : opts;
	int64_t now;
	int error;

	if (o->size != sizeof(*o))
		return lhi_fail(-EINVAL, "acquire options of %zu bytes: set "
		    "them with LH_ACQUIRE_OPTS_INIT", o->size);
	if (o->mode > LH_SHARED || o->scope > LH_QUORUM ||
	    (o->flags & ~FLAGS) != 0)
		return lhi_fail(-EINVAL, "unknown mode %u, scope %u or flag in "
		    "0x%x", o->mode, o->scope, o->flags);
	if (o->scope == LH_LOCAL && !lhi_durable(v))
		return lhi_fail(-EOPNOTSUPP, "%s has no fence file, so its "
		    "tokens do not outlive it: make the table with one "
		    "(leasehold init --durable%s, or LH_DURABLE in "
		    "lh_open()), or use scope ephemeral (of a cluster "
		    "key: quorum)", v->path,
		    TABLE_WORDS(v->path));
	if (o->ttl_ms < 1 || o->ttl_ms > LH_TTL_MAX_MS)
		return lhi_fail(-EINVAL, "a ttl of %lld ms: use 1 ms to "
		    "30 days", (long long)o->ttl_ms);
	if (o->max_wait_ms < 0 || o->deadline_ns < 0)
		return lhi_fail(-EINVAL, "a negative time to wait: 0 means "
		    "try, LH_WAIT_FOREVER for ever");
	ask->more = o->more == NULL ? &none : o->more;
	error = check_more(v, ask->more);
	if (error == 0 && ask->more->value != NULL && o->mode != LH_EXCLUSIVE)
		error = lhi_fail(-EINVAL, "a value is set by who holds the key "
		    "alone, not in shared mode");
	if (error == 0 && (o->flags & LH_ROBUST) && o->mode != LH_EXCLUSIVE)
		error = lhi_fail(-EINVAL, "LH_ROBUST is for exclusive leases: "
		    "a reader leaves nothing half-done");
	if (error != 0)
		return error;
	ask->robust = o->flags & LH_ROBUST;
	ask->rare = ask->more != &none || ask->robust;
	ask->strict_alone = !ask->robust && is_strict_alone(ask->more);
	ask->request = NULL;
	ask->how = NULL;
	ask->of = NULL;
	ask->aside = ask->more->info != NULL ||
	    (ask->more->request[0] | ask->more->request[1]) != 0;
	ask->ttl_ns = o->ttl_ms * NS_PER_MS;
	ask->priority = o->priority;
	ask->cancel = o->cancel;
	ask->callback = NULL;
	ask->shared = o->mode == LH_SHARED;
	ask->local = o->scope == LH_LOCAL;
	ask->quorum = o->scope == LH_QUORUM;
	ask->no_create = o->flags & LH_NO_CREATE;
	ask->shareable = o->flags & LH_SHAREABLE;
	ask->no_deadlock = o->flags & LH_NO_DEADLOCK;
	ask->explain = o->flags & LH_EXPLAIN;
	if (ask->explain)
		lhi_explain_forget();
	ask->try_only = o->deadline_ns == 0 && o->max_wait_ms == 0;
	ask->until_ns = 0;
	if (o->deadline_ns != 0) {
		ask->until_ns = o->deadline_ns;
	} else if (o->max_wait_ms > 0) {
		now = lhi_now_ns(v);
		ask->until_ns = o->max_wait_ms > (INT64_MAX - now) / NS_PER_MS ?
		    INT64_MAX : now + o->max_wait_ms * NS_PER_MS;
	}
	return 0;
}
