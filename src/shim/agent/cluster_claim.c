/* SPDX-License-Identifier: MIT */
/*
 * Our claim of a key in the cluster, as recipe.h tells of it.
 *
 *	asked	-> granted	a revision, the base of tokens
 *		-> busy, failed	gone
 *	granted	-> failed	gone: the right is void at once
 *	left	by us; the key forgets it, and it goes when that is certain
 *
 * In the cluster a key goes by its name without the table's prefix: that is a
 * matter of each host.
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

static unsigned
right_of(enum claim_mode mode)
{
	return mode == CLAIM_SHARED ? RIGHT_SHARED : RIGHT_EXCLUSIVE;
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
	struct part *p = new_part(k, right_of(f->mode));

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

/* It is gone: its key, if it is not being left. */
static struct key *
gone(struct part *p)
{
	struct key *k = p->key;

	if (k != NULL) {
		k->part = NULL;
		k->recalled = RIGHT_NONE;
	}
	free_part(p);
	return k;
}

static void
on_granted(struct claim *c, int64_t revision, void *arg)
{
	struct part *p = arg;

	p->granted = true;
	p->revision = revision;
	if (p->key == NULL)
		return;
	log_line(LOG_DEBUG, "key %s: granted, revision %lld", p->key->name,
	    (long long)revision);
	count_latency(p->s, shim_now_ns() - p->asked_ns);
	key_step(p->key);
}

static void
on_anchored(struct claim *c, int64_t revision, void *arg)
{
	struct part *p = arg;

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
	struct part *p = arg;
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
	struct part *p = arg;
	struct key *k = p->key;

	if (k == NULL)
		return;
	if (k->recalled == RIGHT_NONE)
		k->s->count.recalls++;
	if (right_of(mode) > k->recalled)
		k->recalled = right_of(mode);
	log_line(LOG_DEBUG, "key %s: recalled", k->name);
	key_step(k);
}

static void
on_busy(struct claim *c, const char *who, void *arg)
{
	struct part *p = arg;
	struct key *k;

	if (p->key != NULL)
		count_latency(p->s, shim_now_ns() - p->asked_ns);
	k = gone(p);
	if (k == NULL)
		return;
	key_insist(k, who);
	key_step(k);
}

static void
on_failed(struct claim *c, int error, const char *why, void *arg)
{
	struct part *p = arg;
	bool granted = p->granted, several = p->several;
	unsigned mode = p->mode;
	struct key *k = gone(p);

	if (k == NULL)
		return;
	if (error != EHOSTUNREACH && error != ESTALE)
		log_line(LOG_WARNING, "key %s: %s", k->name, why);
	/* what it was about to be given is wanted still */
	if (granted) {
		key_void(k);
	} else if (error == EACCES) {
		/* of several, who knows which: each is asked for by itself */
		if (!several)
			key_deny(k, mode, why);
	} else if (error == EHOSTUNREACH) {
		wish_fail(k, true, FRAME_AWAY, 0, why);
	} else if (error == ENOMEM) {
		wish_fail(k, false, FRAME_FAILED, ENOMEM, why);
		k->crowd = RIGHT_NONE;	/* they ask, and are told, too */
	}
	key_step(k);
}

static void
on_left(struct claim *c, void *arg)
{
	struct part *p = arg;
	struct key *k = gone(p);

	if (k != NULL)
		key_step(k);
}

void
part_hooks(struct recipe_hooks *h)
{
	h->granted = on_granted;
	h->anchored = on_anchored;
	h->not_anchored = on_not_anchored;
	h->recalled = on_recalled;
	h->busy = on_busy;
	h->failed = on_failed;
	h->left = on_left;
}

void
part_end(struct shim *s)
{
	struct part *p;

	while ((p = TAILQ_FIRST(&s->parts)) != NULL)
		(void)gone(p);
}
