/* SPDX-License-Identifier: MIT */
/*
 * Rights: what this host may do with a cluster key, under which session with
 * the cluster, and where its tokens begin.
 *
 * A cluster key is a key like any other: word, queue, chain, deadlines.  Its
 * name has the table's cluster prefix, which is stored with it (KEY_CLUSTER, by
 * the reserver), and next to its slot i it has record i of this array.  One
 * process writes here, the shim: the one that has the shim's byte of the table.
 * Every process reads it.
 *
 *	right	epoch (30) | gen (32) | mode.  Valid: it is of this life of the
 *		slot, its epoch is the header's, and the clock is before the
 *		header's `until`
 *	base	tokens of grants are above it (op/token_next.c)
 *
 * Memory.  A page holds the rights of 256 slots.  The maker of a cluster key
 * gives it memory before the slot says that it is one.  No other mark says that
 * a page has memory, and giving it twice does nothing.
 *
 * Invariants.
 *  I1	A right is set, or taken away, and a base raised, by the shim alone,
 *	while it holds that key exclusively.  So a right changes between grants
 *	and never under one except the shim's.
 *  I2	The epoch rises before the `until` of another session is written, and
 *	`until` is 0 before the epoch rises.  So a reader that sees one epoch
 *	before and after has not taken the right of one session for another's.
 *  I3	A base only rises in a life of the slot, and no base, nor any token of
 *	an evicted cluster key, is above the header's cluster_floor, where such
 *	keys begin (key_token.c).  So tokens rise over lives of the key as well,
 *	and a base that is raised late, in the slot's next life, is below its
 *	tokens.
 *  I4	A key that has a right in the present epoch is not evicted (evict.c).
 *
 * Tokens of cluster keys are 2^62 | revision << 20 | count, so that they have
 * the same meaning on all hosts, whatever their tables' own tokens are; these
 * are all below 2^62. Neither the table's ceiling nor ranges on disk limit
 * them, because the cluster says what they are above.
 *
 * The header's words, in the order in which they are written
 *	another session	until = 0; session = 0, 0; epoch + 1; the revision of
 *			its creation, the cluster; session; later until
 *	the end		until = 0; session = 0, 0; epoch + 1
 * A crash or stop in between leaves a session of 0, 0, which is never adopted,
 * and no `until`: rights are void, and the next shim begins a session of its
 * own.  Each of these words may be written late by a shim that was stopped
 * while it had the byte: it still has it, so no other shim is at work.
 *
 * shim_session is written by a shim that has just got the byte, before it has
 * acquired anything: the byte's previous owner is dead, or has no leases here
 * any more.  A process that sees a lease of the shim sees that it is one.
 *
 * The socket's path: seq odd, the bytes, seq even.  A shim that dies in between
 * leaves it odd: no path.  A reader reads seq before and after.
 *
 * A repair clears all rights, bases and these words (offline/repair.c): no
 * process is attached, and the next session's revisions are above the earlier
 * ones.
 */
#include <errno.h>
#include <string.h>
#include <bsd/string.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/backing_grow.h"
#include "shm/cluster_right.h"

#define SOCKET_WORDS (SHM_SOCKET / 8)

bool
lhi_right_wanted(const struct lhi_view *v, const struct lhi_key_name *n)
{
	size_t len = strnlen(v->hdr->cluster_prefix, SHM_PREFIX);

	return len > 0 && len <= n->len &&
	    memcmp(n->key, v->hdr->cluster_prefix, len) == 0;
}

int
lhi_right_refuse_value(const char *key)
{
	return lhi_fail(-EOPNOTSUPP, "'%.64s' is a key of a cluster, and has "
	    "no value: other hosts would not see it; keep the value where all "
	    "hosts read it, with the lease's token", key);
}

int
lhi_right_begin(struct lhi_view *v, const struct shm_slot *s)
{
	struct shm_right *r = &v->rights[lhi_slot_idx(v, s)];
	int error = lhi_grow_part(v, v->geo.rights_off +
	    (uint64_t)lhi_slot_idx(v, s) * sizeof(struct shm_right),
	    sizeof(struct shm_right), "make another cluster key",
	    "the right to another cluster key");

	lhi_point("right.backed");
	if (error != 0)
		return error;
	sh64_store(&r->right, 0);
	sh64_store(&r->base, 0);
	return 0;
}

static struct shm_right *
right_of(const struct lhi_view *v, const struct shm_slot *s)
{
	return lhi_right_has(s) ? &v->rights[lhi_slot_idx(v, s)] : NULL;
}

uint64_t
lhi_right_load(const struct lhi_view *v, const struct shm_slot *s)
{
	const struct shm_right *r = right_of(v, s);
	uint64_t right = r != NULL ? sh64_load_sc(&r->right) : RIGHT_NONE;

	return right_gen(right) == sh32_load(&s->gen) ? right : RIGHT_NONE;
}

uint64_t
lhi_right_base(const struct lhi_view *v, const struct shm_slot *s)
{
	const struct shm_right *r = right_of(v, s);

	return r != NULL ? sh64_load_sc(&r->base) : 0;
}

/* Finds the right of that key, which the shim holds and is about to write. */
static int
right_of_life(const struct lhi_view *v, const struct lhi_ref *ref,
    struct shm_right **r)
{
	*r = right_of(v, ref->slot);
	return *r == NULL ? -EINVAL :
	    sh32_load(&ref->slot->gen) != ref->slot_ref >> 32 ? -ESTALE : 0;
}

int
lhi_right_raise(struct lhi_view *v, const struct lhi_ref *ref, uint64_t base)
{
	struct shm_right *r;
	int error = right_of_life(v, ref, &r);

	if (error == 0 && (base < CLUSTER_FIRST ||
	    base > cluster_base(CLUSTER_REVISION_MAX)))
		error = -EINVAL;
	if (error != 0)
		return error;
	if (lhi_mutant_on(base_before_floor))
		(void)sh64_max(&r->base, base);
	if (!sh64_max(&v->hdr->cluster_floor, base))		/* I3 */
		return lhi_damaged_restless(v, "the floor of cluster keys", 0);
	lhi_point("right.floor");
	if (!sh64_max(&r->base, base))
		return lhi_damaged_restless(v, "the base of a right",
		    lhi_slot_idx(v, ref->slot));
	lhi_point("right.base");
	return 0;
}

int
lhi_right_set(struct lhi_view *v, const struct lhi_ref *ref, unsigned mode,
    uint64_t epoch)
{
	struct shm_right *r;
	int error = right_of_life(v, ref, &r);

	if (error != 0 || mode > RIGHT_EXCLUSIVE)
		return error != 0 ? error : -EINVAL;
	/*
	 * of that life, however late; a swap, so that later steps come after it
	 */
	(void)sh64_xchg(&r->right, mode == RIGHT_NONE ? 0 :
	    right_make(mode, (uint32_t)(ref->slot_ref >> 32), epoch));
	lhi_point("right.set");
	return 0;
}

bool
lhi_right_now(const struct lhi_view *v, const struct shm_slot *s)
{
	uint64_t right = lhi_right_load(v, s);

	return right_mode(right) != RIGHT_NONE && right_epoch(right) ==
	    (lhi_cluster_epoch(v) & MASK(RIGHT_EPOCH_BITS));
}

bool
lhi_right_is_valid(const struct lhi_view *v, const struct lhi_ref *ref,
    bool shared, struct lhi_right_end *end)
{
	uint64_t epoch = lhi_cluster_epoch(v), until;
	int64_t now;
	uint64_t right = lhi_right_load(v, ref->slot);

	lhi_point("right.read");
	if (right_mode(right) < (shared ? RIGHT_SHARED : RIGHT_EXCLUSIVE) ||
	    right_gen(right) != (uint32_t)(ref->slot_ref >> 32) ||
	    right_epoch(right) != (epoch & MASK(RIGHT_EPOCH_BITS)))
		return false;
	until = lhi_cluster_until(v);
	if (lhi_cluster_epoch(v) != epoch || until > (uint64_t)INT64_MAX)
		return false;
	now = lhi_clock_ns(CLOCK_BOOTTIME);
	if (now >= (int64_t)until)
		return false;
	if (end != NULL) {
		end->until_ns = (int64_t)until;
		end->left_ns = (int64_t)until - now;
	}
	return true;
}

/* Returns when, by the table's clock, the right to that key ended, if it was
 * one of the present epoch whose D has passed; 0: that is not known. */
static int64_t
ended_ns(const struct lhi_view *v, const struct shm_slot *s, bool shared)
{
	uint64_t epoch = lhi_cluster_epoch(v), until;
	uint64_t right = lhi_right_load(v, s);
	int64_t ago;

	if (right_mode(right) < (shared ? RIGHT_SHARED : RIGHT_EXCLUSIVE) ||
	    right_epoch(right) != (epoch & MASK(RIGHT_EPOCH_BITS)))
		return 0;
	until = lhi_cluster_until(v);
	if (lhi_cluster_epoch(v) != epoch || until == 0 ||
	    until > (uint64_t)INT64_MAX)
		return 0;
	ago = lhi_clock_ns(CLOCK_BOOTTIME) - (int64_t)until;
	return ago >= 0 ? lhi_now_ns(v) - ago : 0;
}

enum lhi_right_bound
lhi_right_bound(const struct lhi_view *v, const struct shm_slot *s,
    bool shared, int64_t since_ns, int64_t *expires_ns)
{
	const struct lhi_ref ref = { (struct shm_slot *)s,
	    lhi_slot_ref(lhi_slot_idx(v, s), sh32_load(&s->gen)) };
	struct lhi_right_end end;
	int64_t until_ns;

	if (!lhi_right_has(s))
		return BOUND_NONE;
	if (!lhi_right_is_valid(v, &ref, shared, &end)) {
		until_ns = ended_ns(v, s, shared);
		/* (a lease that is being granted may never have had one) */
		if (until_ns < since_ns)
			*expires_ns = 0;
		else if (until_ns < *expires_ns)
			*expires_ns = until_ns;
		return BOUND_ENDED;
	}
	until_ns = lhi_now_ns(v) + end.left_ns;
	if (*expires_ns <= until_ns)
		return BOUND_NONE;
	*expires_ns = until_ns;
	return BOUND_BY_RIGHT;
}

void
lhi_cluster_read(const struct lhi_view *v, struct lhi_cluster *c)
{
	const struct shm_header *h = v->hdr;

	c->session[0] = sh64_load(&h->cluster_session[0]);
	c->session[1] = sh64_load(&h->cluster_session[1]);
	c->created = sh64_load(&h->cluster_created);
	c->id = sh64_load(&h->cluster_id);
	c->epoch = sh64_load(&h->cluster_epoch);
	c->until_ns = sh64_load(&h->cluster_until);
	c->shim_pid = sh32_load(&h->shim_pid);
}

uint64_t
lhi_cluster_end(struct lhi_view *v)
{
	struct shm_header *h = v->hdr;

	(void)sh64_xchg(&h->cluster_until, 0);
	lhi_point("cluster.until");
	(void)sh64_xchg(&h->cluster_session[0], 0);
	(void)sh64_xchg(&h->cluster_session[1], 0);
	lhi_point("cluster.nobody");
	return sh64_fetch_add(&h->cluster_epoch, 1) + 1;
}

uint64_t
lhi_cluster_begin(struct lhi_view *v, const uint64_t session[2],
    uint64_t created, uint64_t id)
{
	struct shm_header *h = v->hdr;
	uint64_t epoch = lhi_cluster_end(v);

	lhi_point("cluster.epoch");
	sh64_store(&h->cluster_created, created);
	sh64_store(&h->cluster_id, id);
	/* half a name belongs to no session */
	if (lhi_mutant_on(half_session))
		sh64_store(&h->cluster_session[0], session[0]);
	sh64_store(&h->cluster_session[1], session[1]);
	sh64_store(&h->cluster_session[0], session[0]);
	lhi_point("cluster.begun");
	return epoch;
}

void
lhi_cluster_go_on(struct lhi_view *v, uint64_t until_ns)
{
	(void)sh64_xchg(&v->hdr->cluster_until, until_ns);
	lhi_point("cluster.goes_on");
}

void
lhi_cluster_here(struct lhi_view *v, uint32_t pid)
{
	sh32_store(&v->hdr->shim_pid, pid);
}

void
lhi_cluster_serve(struct lhi_view *v, uint64_t sid)
{
	(void)sh64_xchg(&v->hdr->shim_session, sid);
	lhi_point("cluster.serves");
}

void
lhi_cluster_listen(struct lhi_view *v, uint32_t pid, const char *path)
{
	struct shm_header *h = v->hdr;
	uint64_t words[SOCKET_WORDS] = { 0 };
	uint32_t seq = sh32_load(&h->shim_seq) | 1;

	(void)strlcpy((char *)words, path, sizeof(words));
	/* pairs with: lhi_cluster_socket(): seq, the bytes, seq again */
	(void)sh32_xchg(&h->shim_seq, seq);
	lhi_point("cluster.listening");
	/* each after seq: a reader that sees one of them sees that it is odd */
	for (unsigned i = 0; i < SOCKET_WORDS; i++)
		sh64_store(&h->shim_socket[i], words[i]);
	sh32_store(&h->shim_pid, pid);
	sh32_store(&h->shim_seq, seq + 1);
}

bool
lhi_cluster_socket(const struct lhi_view *v, char path[SHM_SOCKET])
{
	const struct shm_header *h = v->hdr;
	uint32_t seq = sh32_load(&h->shim_seq);
	uint64_t words[SOCKET_WORDS];

	/* acquire, so that the second look at seq comes after them */
	for (unsigned i = 0; i < SOCKET_WORDS; i++)
		words[i] = sh64_load(&h->shim_socket[i]);
	if ((seq & 1) || sh32_load(&h->shim_seq) != seq)
		return false;
	memcpy(path, words, SHM_SOCKET);
	path[SHM_SOCKET - 1] = '\0';
	return path[0] != '\0';
}
