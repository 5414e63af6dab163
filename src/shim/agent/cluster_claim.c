/* SPDX-License-Identifier: MIT */
/*
 * The host's claim of a key in the cluster, as the daemon keeps it.
 * cluster_claim_hooks.c handles the events of claims; key_step.c decides what
 * to do.  The states of a claim are CC1 to CC7 in doc/protocol.md ("Cluster
 * claim"). A claim that ends, or fails after its grant, makes the right void at
 * once.  A claim that the key has left is freed when its deletion is certain.
 *
 * In the cluster, the name of a key lacks the table's prefix, because each host
 * chooses its own prefix.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/daemon_log.h"
#include "shim.h"

static enum claim_mode
claim_mode_of(unsigned right)
{
	return right == RIGHT_SHARED ? CLAIM_SHARED : CLAIM_EXCLUSIVE;
}

static struct cluster_claim *
new_claim(struct key *k, unsigned mode)
{
	struct cluster_claim *p = calloc(1, sizeof(*p));

	if (p != NULL) {
		TAILQ_INSERT_TAIL(&k->s->claims, p, all);
		p->s = k->s;
		p->key = k;
		p->user = k->user;
		p->user->n_claims++;
		p->mode = mode;
		p->asked_ns = shim_now_ns();
	}
	return p;
}

static void
free_claim(struct cluster_claim *p)
{
	TAILQ_REMOVE(&p->s->claims, p, all);
	p->user->n_claims--;
	free(p);
}

int
cluster_claim_request(struct shim *s, struct key *const *k,
    const unsigned *mode, size_t n, bool try)
{
	struct claim_want want[RECIPE_CLAIMS_MAX];
	struct claim *out[RECIPE_CLAIMS_MAX];
	struct cluster_claim *p[RECIPE_CLAIMS_MAX];
	size_t made = 0;
	int e = -ENOMEM;

	while (made < n && (p[made] = new_claim(k[made], mode[made])) != NULL) {
		want[made] = (struct claim_want){ .arg = p[made],
		    .mode = claim_mode_of(mode[made]),
		    .key = { (const uint8_t *)k[made]->name + s->prefix_len,
		    k[made]->len - s->prefix_len } };
		made++;
	}
	if (made == n)
		e = recipe_claim(s->recipe, want, n, (try ? CLAIM_TRY : 0) |
		    CLAIM_LANE(k[0]->user->lane), out);
	for (size_t i = 0; i < made; i++) {
		if (e != 0) {
			free_claim(p[i]);
			continue;
		}
		p[i]->handle = out[i];
		p[i]->try = try;
		p[i]->several = n > 1;
		k[i]->claim = p[i];
		k[i]->recalled = RIGHT_NONE;
	}
	return e;
}

struct cluster_claim *
cluster_claim_keep(struct shim *s, struct key *k, const struct recipe_found *f)
{
	struct cluster_claim *p = new_claim(k, shim_right_of_mode(f->mode));

	if (p == NULL)
		return NULL;
	p->handle = recipe_keep(s->recipe, f, p);
	if (p->handle == NULL) {
		free_claim(p);
		return NULL;
	}
	p->granted = true;
	p->revision = f->revision;
	p->create = f->create;
	k->claim = p;
	k->recalled = RIGHT_NONE;
	return p;
}

void
cluster_claim_leave(struct key *k)
{
	struct cluster_claim *p = k->claim;

	k->claim = NULL;
	k->recalled = RIGHT_NONE;
	p->key = NULL;
	log_line(LOG_DEBUG, "key %s: left, revision %lld", k->name,
	    (long long)p->revision);
	lhi_point("shim.leaving");
	claim_leave(p->handle);
}

bool
cluster_claim_anchor(struct key *k)
{
	if (!k->claim->anchoring)
		k->claim->anchoring = claim_anchor(k->claim->handle);
	return k->claim->anchoring;
}

struct key *
cluster_claim_end(struct cluster_claim *p)
{
	struct key *k = p->key;

	if (k != NULL) {
		k->claim = NULL;
		k->recalled = RIGHT_NONE;
	}
	free_claim(p);
	return k;
}

void
cluster_claims_free(struct shim *s)
{
	struct cluster_claim *p;

	while ((p = TAILQ_FIRST(&s->claims)) != NULL)
		(void)cluster_claim_end(p);
}
