/* SPDX-License-Identifier: MIT */
/*
 * Handles the events that recipe.h reports of our claims (cluster_claim.c).
 * Each handler records the change and then steps the claim's key (key_step.c).
 */
#include <errno.h>
#include "daemon/daemon_log.h"
#include "shim.h"

static void
on_granted(struct claim *c, int64_t revision, void *arg)
{
	struct cluster_claim *p = arg;

	p->granted = true;
	p->revision = revision;
	if (p->key == NULL)
		return;
	log_line(LOG_DEBUG, "key %s: granted, revision %lld", p->key->name,
	    (long long)revision);
	metrics_add_latency(p->s, shim_now_ns() - p->asked_ns);
	key_step(p->key);
}

static void
on_anchored(struct claim *c, int64_t revision, void *arg)
{
	struct cluster_claim *p = arg;

	p->anchoring = false;
	p->revision = revision;
	if (p->key == NULL)
		return;
	p->s->count.reanchored++;
	key_step(p->key);
}

static void
on_not_anchored(struct claim *c, const char *why, void *arg)
{
	struct cluster_claim *p = arg;
	struct key *k = p->key;

	p->anchoring = false;
	if (k == NULL)
		return;
	log_line(LOG_WARNING, "key %s: %s", k->name, why);
	key_deny(k, DENY_NEWER, why);
	key_step(k);
}

static void
on_recalled(struct claim *c, enum claim_mode mode, void *arg)
{
	struct cluster_claim *p = arg;
	struct key *k = p->key;

	if (k == NULL)
		return;
	if (k->recalled == RIGHT_NONE)
		k->s->count.recalls++;
	if (shim_right_of_mode(mode) > k->recalled)
		k->recalled = shim_right_of_mode(mode);
	log_line(LOG_DEBUG, "key %s: recalled", k->name);
	key_step(k);
}

static void
on_busy(struct claim *c, const char *who, void *arg)
{
	struct cluster_claim *p = arg;
	struct key *k;

	if (p->key != NULL)
		metrics_add_latency(p->s, shim_now_ns() - p->asked_ns);
	k = cluster_claim_end(p);
	if (k == NULL)
		return;
	key_defer_busy(k, who);
	key_step(k);
}

static void
on_failed(struct claim *c, int error, const char *why, void *arg)
{
	struct cluster_claim *p = arg;
	bool granted = p->granted, several = p->several;
	unsigned mode = p->mode;
	struct key *k = cluster_claim_end(p);

	if (k == NULL)
		return;
	if (error != EHOSTUNREACH && error != ESTALE)
		log_line(LOG_WARNING, "key %s: %s", k->name, why);
	/* requests for the key stay open: the key is still wanted */
	if (granted) {
		key_void_right(k);
	} else if (error == EACCES) {
		/* any of several may be the denied one: each is requested by
		 * itself next */
		if (!several)
			key_deny(k, mode, why);
	} else if (error == EHOSTUNREACH) {
		requests_fail(k, true, FRAME_AWAY, 0, why);
	} else if (error == ENOMEM) {
		requests_fail(k, false, FRAME_FAILED, ENOMEM, why);
		k->waiters_mode = RIGHT_NONE; /* they ask again and get this
					       * answer */
	}
	key_step(k);
}

static void
on_left(struct claim *c, void *arg)
{
	struct cluster_claim *p = arg;
	struct key *k = cluster_claim_end(p);

	if (k != NULL)
		key_step(k);
}

void
cluster_claim_set_hooks(struct recipe_hooks *h)
{
	h->granted = on_granted;
	h->anchored = on_anchored;
	h->not_anchored = on_not_anchored;
	h->recalled = on_recalled;
	h->busy = on_busy;
	h->failed = on_failed;
	h->left = on_left;
}
