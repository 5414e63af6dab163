/* SPDX-License-Identifier: MIT */
/*
 * What stands in the way: see busy.h.  Only copies facts; the sentence is made
 * when somebody asks for it (base/error.h).
 */
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "op/busy.h"
#include "shm/lock.h"
#include "shm/slot.h"

int
lhi_busy_fail(struct lhi_view *v, struct shm_slot *s, uint64_t w, int code)
{
	char key[SHM_KEY_MAX + 1];
	uint32_t ci = word_idx(w);
	struct lhi_busy b;

	memset(&b, 0, sizeof(b));
	b.now_ns = lhi_now_ns();
	if (word_mode(w) == WORD_X && lhi_claim(v, ci) != NULL) {
		uint32_t si = sid_idx(lhi_claim_owner(v, ci));
		struct shm_session *se = &v->sessions[
		    si < v->geo.max_sessions ? si : 0];

		b.pid = sh32_load_rlx(&se->pid);
		memcpy(b.application, se->application,
		    sizeof(b.application) - 1);
		b.since_ns = (int64_t)sh64_load_rlx(&v->claims[ci].since_ns);
		b.expires_ns = lhi_deadline_ns(v, state_deadline(
		    sh64_load(&v->claims[ci].state)));
		b.token = lhi_lock_token(s, w);
	}
	if (lhi_slot_key(v, s, key) != 0)
		memcpy(b.key, key, strnlen(key, sizeof(b.key) - 1));
	return lhi_fail_busy(code, &b);
}
