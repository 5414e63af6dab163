/* SPDX-License-Identifier: MIT */
/*
 * The facts of a named session: what its record says from the start, and a sum.
 *
 *	name, maker, ttl, lock-delay, on_end
 *	pid, pid namespace, start time	of the process that it is bound to
 *				(session_bound.c); else the pid of its maker
 *				and zeros
 *
 * They are written while the record is RESERVED, and `sum` last.  A fact whose
 * sum does not fit is not acted upon: a flipped bit of `pid` would otherwise be
 * a death.
 */
#include <string.h>
#include "base/hash.h"
#include "shm/session_facts.h"
#include "shm/session_liveness.h"

#define NAME_WORDS SESSION_NAME_WORDS

struct lhi_session_name
lhi_session_name_of(const char *text)
{
	struct lhi_session_name n;

	memset(&n, 0, sizeof(n));
	memcpy(&n, text, strnlen(text, NAMED_NAME_MAX));
	return n;
}

/* Each word's load comes before the next look at the state. */
struct lhi_session_name
lhi_session_name_in(const struct shm_session *se)
{
	const shm_u64 *w = (const shm_u64 *)(const void *)se->application;
	struct lhi_session_name n;

	for (unsigned i = 0; i < NAME_WORDS; i++)
		n.w[i] = sh64_load(&w[i]);
	return n;
}

/* The facts in a record. */
struct facts {
	uint64_t w[NAME_WORDS + 7];
};

static struct facts
facts_of(const struct shm_session *se)
{
	const struct lhi_session_name n = lhi_session_name_in(se);
	struct facts f;

	memcpy(f.w, n.w, sizeof(n.w));
	f.w[NAME_WORDS] = sh64_load(&se->maker);
	f.w[NAME_WORDS + 1] = sh32_load(&se->ttl_ms);
	f.w[NAME_WORDS + 2] = sh32_load(&se->lock_delay_ms);
	f.w[NAME_WORDS + 3] = sh32_load(&se->on_end);
	f.w[NAME_WORDS + 4] = sh32_load(&se->pid);
	f.w[NAME_WORDS + 5] = sh64_load(&se->pidns_ino);
	f.w[NAME_WORDS + 6] = sh64_load(&se->start_ticks);
	return f;
}

/* What `sum` has to be. */
static uint32_t
sum_of(const struct facts *f)
{
	return (uint32_t)lhi_hash(f, sizeof(*f));
}

uint32_t
lhi_session_facts_sum(const struct shm_session *se)
{
	const struct facts f = facts_of(se);

	return sum_of(&f);
}

bool
lhi_session_facts_fit(const struct shm_session *se)
{
	return sh32_load(&se->sum) == lhi_session_facts_sum(se);
}

bool
lhi_session_has_facts(uint64_t s)
{
	return sess_st(s) == SESS_NAMED || (sess_st(s) == SESS_DEAD &&
	    sess_marked(s));
}

void
lhi_session_facts_correct(struct lhi_view *v, uint32_t idx)
{
	struct shm_session *se = &v->sessions[idx];
	shm_u64 *name = (shm_u64 *)(void *)se->application;
	struct facts f = facts_of(se);
	uint32_t sum = sh32_load(&se->sum);

	if (!lhi_session_has_facts(sh64_load(&se->state)) || sum_of(&f) == sum)
		return;
	for (unsigned bit = 0; bit < 8 * sizeof(f); bit++) {
		f.w[bit / 64] ^= UINT64_C(1) << bit % 64;
		if (sum_of(&f) == sum)
			break;
		f.w[bit / 64] ^= UINT64_C(1) << bit % 64;
	}
	for (unsigned i = 0; i < NAME_WORDS; i++)
		sh64_store(&name[i], f.w[i]);
	sh64_store(&se->maker, f.w[NAME_WORDS]);
	sh32_store(&se->ttl_ms, (uint32_t)f.w[NAME_WORDS + 1]);
	sh32_store(&se->lock_delay_ms, (uint32_t)f.w[NAME_WORDS + 2]);
	sh32_store(&se->on_end, (uint32_t)f.w[NAME_WORDS + 3]);
	sh32_store(&se->pid, (uint32_t)f.w[NAME_WORDS + 4]);
	sh64_store(&se->pidns_ino, f.w[NAME_WORDS + 5]);
	sh64_store(&se->start_ticks, f.w[NAME_WORDS + 6]);
}
