/* SPDX-License-Identifier: MIT */
/*
 * Our claim of a key in the cluster: asked for, kept, anchored, left.  What the
 * cluster tells of it: cluster_claim_hooks.c.
 *
 *	asked	-> granted	a revision, the base of tokens
 *		-> busy, failed	gone
 *	granted	-> failed	gone: the right is void at once
 *	left	by us; the key forgets it, and it goes when that is certain
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

static struct part *
new_part(struct key *k, unsigned mode)
{
	struct part *p = calloc(1, sizeof(*p));

	if (p != NULL) {
		TAILQ_INSERT_TAIL(&k->s->parts, p, all);
		p->s = k->s;
		p->key = k;
		p->mode = mode;
		p->asked_ns = shim_now_ns();
	}
	return p;
}

static void
free_part(struct part *p)
{
	TAILQ_REMOVE(&p->s->parts, p, all);
	free(p);
}

int
part_ask(struct shim *s, struct key *const *k, const unsigned *mode, size_t n,
    bool try)
{
	struct claim_want want[RECIPE_CLAIMS_MAX];
	struct claim *out[RECIPE_CLAIMS_MAX];
	struct part *p[RECIPE_CLAIMS_MAX];
	size_t made = 0;
	int e = -ENOMEM;

	while (made < n && (p[made] = new_part(k[made], mode[made])) != NULL) {
		want[made] = (struct claim_want){ .arg = p[made],
		    .mode = claim_mode_of(mode[made]),
		    .key = { (const uint8_t *)k[made]->name + s->prefix_len,
		    k[made]->len - s->prefix_len } };
		made++;
	}
	if (made == n)
		e = recipe_claim(s->recipe, want, n, try ? CLAIM_TRY : 0, out);
	for (size_t i = 0; i < made; i++) {
		if (e != 0) {
			free_part(p[i]);
			continue;
		}
		p[i]->claim = out[i];
		p[i]->try = try;
		p[i]->several = n > 1;
		k[i]->part = p[i];
		k[i]->recalled = RIGHT_NONE;
	}
	return e;
}

struct part *
part_keep(struct shim *s, struct key *k, const struct recipe_found *f)
{
	struct part *p = new_part(k, right_of_mode(f->mode));

	if (p == NULL)
		return NULL;
	p->claim = recipe_keep(s->recipe, f, p);
	if (p->claim == NULL) {
		free_part(p);
		return NULL;
	}
	p->granted = true;
	p->revision = f->revision;
	p->create = f->create;
	k->part = p;
	k->recalled = RIGHT_NONE;
	return p;
}

void
part_leave(struct key *k)
{
	struct part *p = k->part;

	k->part = NULL;
	k->recalled = RIGHT_NONE;
	p->key = NULL;
	log_line(LOG_DEBUG, "key %s: left, revision %lld", k->name,
	    (long long)p->revision);
	lhi_point("shim.leaving");
	claim_leave(p->claim);
}

bool
part_anchor(struct key *k)
{
	if (!k->part->anchoring)
		k->part->anchoring = claim_anchor(k->part->claim);
	return k->part->anchoring;
}

struct key *
part_gone(struct part *p)
{
	struct key *k = p->key;

	if (k != NULL) {
		k->part = NULL;
		k->recalled = RIGHT_NONE;
	}
	free_part(p);
	return k;
}

void
part_end(struct shim *s)
{
	struct part *p;

	while ((p = TAILQ_FIRST(&s->parts)) != NULL)
		(void)part_gone(p);
}
