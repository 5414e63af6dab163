/* SPDX-License-Identifier: MIT */
/*
 * A disk that loses its power: see disk.h.  Here: what can be left.
 *
 * Playing a recording as far as a call gives for each node what is on disk for
 * certain and a list of changes that are not yet.  An image is a choice: for
 * each node the set of its changes that got through.
 */
#include <stdio.h>
#include <string.h>
#include "fence/disk_parts.h"
#include "tap.h"

#define SEEN	(1u << 17)

struct change {
	const struct call *call;
	unsigned sector;	/* WRITE: which; SECTOR_LEN: the length */
	bool stuck;		/* by a failed sync */
};

#define SECTOR_LEN	UINT32_MAX

struct node {
	bool is_dir;
	struct content sure;
	struct change changes[CHANGES];
	unsigned n_changes;
};

static struct node nodes[NODES];
static uint64_t seen[SEEN];
static unsigned n_seen;

static void
remove_entry(struct content *c, const char *name)
{
	for (unsigned i = 0; i < c->n; i++)
		if (strcmp(c->u.at[i].name, name) == 0) {
			memmove(&c->u.at[i], &c->u.at[i + 1],
			    (c->n - i - 1) * sizeof(c->u.at[0]));
			c->n--;
			return;
		}
}

static void
add_entry(struct content *c, const char *name, int node)
{
	remove_entry(c, name);
	if (c->n == ENTRIES)
		bail_out("a directory of the replayer is full");
	/* in order: images are compared */
	unsigned i = c->n++;
	for (; i > 0 && strcmp(c->u.at[i - 1].name, name) > 0; i--)
		c->u.at[i] = c->u.at[i - 1];
	memset(&c->u.at[i], 0, sizeof(c->u.at[i]));
	snprintf(c->u.at[i].name, NAME, "%s", name);
	c->u.at[i].node = node;
}

static void
lengthen(struct content *c, unsigned n)
{
	if (c->n < n) {
		memset(c->u.bytes + c->n, 0, n - c->n);
		c->n = n;
	}
}

static void
apply(struct content *c, const struct change *ch)
{
	const struct call *k = ch->call;
	unsigned from, to;

	switch (k->what) {
	case MAKE:
	case LINK:
		add_entry(c, k->name, k->node);
		break;
	case UNLINK:
		remove_entry(c, k->name);
		break;
	case RENAME:
		remove_entry(c, k->name);
		add_entry(c, k->to, k->node);
		break;
	default:
		if (ch->sector == SECTOR_LEN) {
			lengthen(c, k->off + k->len);
			break;
		}
		from = ch->sector * SECTOR > k->off ? ch->sector * SECTOR :
		    k->off;
		to = (ch->sector + 1) * SECTOR < k->off + k->len ?
		    (ch->sector + 1) * SECTOR : k->off + k->len;
		lengthen(c, to);
		memcpy(c->u.bytes + from, k->data + (from - k->off),
		    to - from);
	}
}

static void
add_change(struct node *n, const struct call *k, unsigned sector)
{
	if (n->n_changes == CHANGES)
		bail_out("too much is not synced for the replayer");
	n->changes[n->n_changes++] = (struct change){ k, sector, false };
}

/* Is an entry of that name changed again, by something that is synced? */
static bool
overtaken(const struct node *n, unsigned i)
{
	for (unsigned j = i + 1; j < n->n_changes; j++)
		if (n->is_dir && !n->changes[j].stuck &&
		    strcmp(n->changes[i].call->name,
		    n->changes[j].call->name) == 0)
			return true;
	return false;
}

static void
sync_node(struct node *n, bool failed)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < n->n_changes; i++) {
		struct change ch = n->changes[i];

		if (!failed && !ch.stuck)
			apply(&n->sure, &ch);
		if (!failed && (!ch.stuck || overtaken(n, i)))
			continue;
		ch.stuck = true;
		n->changes[kept++] = ch;
	}
	n->n_changes = kept;
}

/* One more call; *used is how far ranges may have been used. */
static void
play(const struct call *k, uint64_t *used)
{
	struct node *n = &nodes[k->what == MAKE || k->what == LINK ||
	    k->what == UNLINK || k->what == RENAME ? k->dir : k->node];

	switch (k->what) {
	case MARK:
		*used = *used > k->n ? *used : k->n;
		break;
	case SYNC:
	case FAILED_SYNC:
		sync_node(n, k->what == FAILED_SYNC);
		break;
	case WRITE:
		add_change(n, k, SECTOR_LEN);
		for (unsigned s = k->off / SECTOR;
		    s * SECTOR < k->off + k->len; s++)
			add_change(n, k, s);
		break;
	case MAKE:
		nodes[k->node].is_dir = k->is_dir;
		/* fall through */
	default:
		add_change(n, k, 0);
	}
}

/* The next choice of a node's changes; false: it was the last. */
static bool
next_choice(enum disk_how how, const struct node *n, unsigned *chosen)
{
	unsigned all = (1u << n->n_changes) - 1;

	if (*chosen == all) {
		*chosen = 0;
		return false;
	}
	if (how == DISK_PREFIX && n->is_dir)
		*chosen = *chosen * 2 + 1;
	else
		++*chosen;
	return true;
}

static void
choose(struct disk_image *im)
{
	for (unsigned i = 0; i < im->n; i++) {
		im->is_dir[i] = nodes[i].is_dir;
		im->content[i] = nodes[i].sure;
		for (unsigned j = 0; j < nodes[i].n_changes; j++)
			if (im->chosen[i] & 1u << j)
				apply(&im->content[i], &nodes[i].changes[j]);
	}
}

/* Was that one looked at? */
static bool
is_new(uint64_t sum)
{
	unsigned at = (unsigned)(sum & (SEEN - 1));

	sum |= 1;
	for (; seen[at] != 0; at = (at + 1) & (SEEN - 1))
		if (seen[at] == sum)
			return false;
	if (++n_seen > SEEN / 2)
		bail_out("too many images for the replayer");
	seen[at] = sum;
	return true;
}

void
disk_forget(void)
{
	n_seen = 0;
	memset(seen, 0, sizeof(seen));
}

static unsigned
images_here(enum disk_how how, uint64_t used, const char *root, disk_fn *fn,
    void *arg, unsigned *bad)
{
	static struct disk_image im;
	unsigned made = 0, i;

	im.n = disk_n_nodes;
	memset(im.chosen, 0, sizeof(im.chosen));
	do {
		choose(&im);
		if (is_new(disk_digest(&im, 0, used * 0x9e3779b97f4a7c15u))) {
			disk_lay_out(root, &im);
			made++;
			if (!fn(root, used, &im, arg))
				++*bad;
		}
		for (i = 0; i < disk_n_nodes; i++)
			if (next_choice(how, &nodes[i], &im.chosen[i]))
				break;
	} while (i < disk_n_nodes);
	return made;
}

unsigned
disk_images(enum disk_how how, unsigned first, const char *root, disk_fn *fn,
    void *arg, unsigned *bad)
{
	struct lhi_range_sys recorder = lhi_range_sys;
	const struct disk_image *from = disk_beginning;
	unsigned made = 0;
	uint64_t used = 0;

	memset(nodes, 0, sizeof(nodes));
	nodes[0].is_dir = true;
	for (unsigned i = 0; from != NULL && i < from->n; i++) {
		nodes[i].is_dir = from->is_dir[i];
		nodes[i].sure = from->content[i];
	}
	lhi_range_sys = disk_real;
	for (unsigned i = 0; i <= disk_n_calls; i++) {
		if (i > 0)
			play(&disk_call[i - 1], &used);
		if (i >= first)
			made += images_here(how, used, root, fn, arg, bad);
	}
	lhi_range_sys = recorder;
	return made;
}
