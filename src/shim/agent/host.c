/* SPDX-License-Identifier: MIT */
/*
 * The session of this host with the cluster, as recipe.h tells of it, and what
 * the table says about it: which session, its deadline (D), and the epoch that
 * all rights belong to.
 *
 *	up, adopted	the session goes on: rights of this epoch stay valid.
 *			A claim that is found in the cluster and has a right is
 *			kept.  One without a right is kept only to be returned
 *			once it is held locally, because a right may have been
 *			cleared and not all steps after it be done.  It is never
 *			used again, because the earlier shim may have asked for
 *			its deletion, which may be done late.  A right without a
 *			claim is void
 *	up, new		a new epoch, in which there are no rights
 *	alive		D moves on
 *	expired		D is past, and nothing is valid: a new epoch of the same
 *			session, which may still be alive.  A D that comes late
 *			makes no lease valid again that was not (G9)
 *	lost		a new epoch, no session
 *	nothing		neither a session nor a first D for as long as TTL: the
 *			cluster is treated as away
 *	adopt timed out	adopted, and for as long as TTL it was not learnt what
 *			the session has: clients are told so.  Rights and claims
 *			stay, as D moves on
 *
 * The epoch is written before D (shm/cluster_right.c, I2).  A stopped shim goes
 * on with the write that it was about to do: a D, which was true when it was
 * computed and is past; or a right of an epoch that this D belongs to.
 *
 * Leases under rights that became void are broken.  Their holders would also
 * learn it from the clock or the epoch, but this lets the waiters go on.
 *
 * Model: tests/model/adopt.pml.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <bsd/string.h>
#include "daemon/daemon_log.h"
#include "shim.h"
#include "shm/cluster_right.h"

#define FOREIGN_NS (10 * NS_PER_SEC)	/* the log has it so often */

/* Until D; or as long as a first one is waited for. */
static void
set_deadline_timer(struct shim *s)
{
	uint64_t now_ns = shim_boot_ns();
	int64_t left_us = s->until_ns == 0 ? s->o.ttl_ms * INT64_C(1000) :
	    s->until_ns <= now_ns ? 0 :
	    (int64_t)((s->until_ns - now_ns) / 1000) + 1;
	struct timeval tv = { left_us / 1000000, left_us % 1000000 };

	(void)evtimer_add(s->deadline_timer, &tv);
}

/* A right that another shim left here. */
static void
adopt_right(struct shim *s, const char *name, unsigned mode)
{
	struct key *k = keys_new(s, name, strlen(name), s->self);

	if (k != NULL && k->right == RIGHT_NONE &&
	    shim_table_find_slot(s, k) == 0)
		keys_adopt(k, mode);
}

/* An epoch in which nothing has a right yet. */
static void
begin_epoch(struct shim *s)
{
	uint64_t name[2] = { s->session.name, 0 };

	if (!s->looked)		/* leases under those are to be broken, too */
		shim_table_each_right(s, adopt_right);
	s->looked = true;
	if (s->session.name != 0)
		s->epoch = lhi_cluster_begin(s->v, name,
		    (uint64_t)s->session.create_revision, s->mark.cluster);
	else
		s->epoch = lhi_cluster_end(s->v);
	lhi_point("shim.epoch");
	s->until_ns = 0;
	keys_void_rights(s);
}

/* Who waits for what does not come is told that, and why. */
static void
fail_requests(struct shim *s)
{
	requests_fail_all(s, FRAME_AWAY, 0, s->why);
	keys_touch(s);
}

/* Nothing may be granted from here on. */
static void
expire_session(struct shim *s, const char *why)
{
	if (s->expired)
		return;
	s->expired = true;
	(void)evtimer_del(s->deadline_timer);
	(void)strlcpy(s->why, why, sizeof(s->why));
	begin_epoch(s);
	fail_requests(s);
}

/* Who asks is not told to wait any more until there is a session. */
static void
end_start(struct shim *s)
{
	if (s->starting) {
		s->starting = false;
		fail_requests(s);
	}
}

/* The session is alive, and the look at what it has does not end. */
static void
note_adopt_timeout(struct shim *s)
{
	(void)snprintf(s->why, sizeof(s->why), "the cluster has not told in "
	    "time which keys this host has: %s", recipe_why(s->recipe));
	if (!s->adopt_timed_out)
		log_line(LOG_ERR, "%s", s->why);
	s->adopt_timed_out = true;
	fail_requests(s);
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct shim *s = arg;
	char why[SHIM_WHY_MAX];
	const char *said;

	if (shim_boot_ns() < s->until_ns) {
		set_deadline_timer(s);
		return;
	}
	if (!s->up) {
		(void)snprintf(s->why, sizeof(s->why), "the cluster has not "
		    "made a session for this host in time: %s",
		    recipe_why(s->recipe));
		log_line(LOG_ERR, "%s", s->why);
		end_start(s);
		return;
	}
	said = s->store == KV_HERE ? recipe_why(s->recipe) : s->why;
	(void)snprintf(why, sizeof(why), "the cluster has not confirmed this "
	    "host's session in time%s%.400s", said[0] == '\0' ? "" : ": ",
	    said);
	log_line(LOG_ERR, "%s; leases of cluster keys are lost", why);
	expire_session(s, why);
}

bool
host_can_grant(const struct shim *s)
{
	return s->starting ||
	       (s->up && !s->expired && !s->adopt_timed_out && !s->ending &&
		   (s->until_ns == 0 || shim_boot_ns() < s->until_ns));
}

static void
on_store(enum kv_state state, const char *why, void *arg)
{
	struct shim *s = arg;
	bool news = state != s->store || s->starting;

	s->store = state;
	if (state == KV_HERE) {
		if (news)
			log_line(LOG_INFO, "the cluster is there");
		return;
	}
	(void)strlcpy(s->why, why, sizeof(s->why));
	if (news)
		log_line(state == KV_REFUSED ? LOG_ERR : LOG_WARNING,
		    "the cluster %s: %s", state == KV_REFUSED ?
		    "cannot be used" : "is away", why);
	end_start(s);
}

static void
on_up(const struct recipe_session *session, bool adopted, void *arg)
{
	struct shim *s = arg;
	struct lhi_cluster c;

	s->session = *session;
	s->up = true;
	s->up_ns = shim_boot_ns();
	s->settled = s->adopt_timed_out = s->expired = false;
	log_line(LOG_INFO, "session %016llx with the cluster%s",
	    (unsigned long long)session->name, adopted ? ", adopted" : "");
	lhi_cluster_read(s->v, &c);
	s->epoch = c.epoch;
	/* D was past at some time: so was each lease under a right */
	if (!adopted || c.until_ns <= shim_boot_ns())
		begin_epoch(s);
	else
		s->until_ns = c.until_ns;
	set_deadline_timer(s);
}

static void
on_alive(uint64_t until_ns, void *arg)
{
	struct shim *s = arg;
	uint64_t now_ns = shim_boot_ns();

	if (s->until_ns != 0 && s->until_ns <= now_ns)
		expire_session(s,
		    "the cluster did not confirm this host's session in time");
	if (until_ns <= now_ns)
		return;		/* so late that it is worth nothing */
	if (s->until_ns > now_ns &&
	    (int64_t)(s->until_ns - now_ns) < s->count.margin_min_ns)
		s->count.margin_min_ns = (int64_t)(s->until_ns - now_ns);
	if (s->expired)
		log_line(LOG_INFO, "the cluster confirms this host's session "
		    "again");
	s->expired = false;
	s->starting = false;
	s->until_ns = until_ns;
	lhi_cluster_go_on(s->v, until_ns);
	set_deadline_timer(s);
	if (s->settled)
		keys_touch(s);
	else if (now_ns >= s->up_ns + s->o.ttl_ms * (uint64_t)NS_PER_MS)
		note_adopt_timeout(s);
}

/* f->key is without the table's prefix. */
static struct key *
find_or_make_key(struct shim *s, const struct kv_bytes *b)
{
	char name[SHM_KEY_MAX + 1];
	size_t n = s->prefix_len;

	memcpy(name, s->v->hdr->cluster_prefix, n);
	memcpy(name + n, b->p, b->len);
	return keys_new(s, name, n + b->len, s->self);
}

/*
 * There are two claims of it, both shared: one was being left.  Is the right of
 * that one, and not of k->part?  The base is a revision that its claim was
 * granted at, or anchored: so it was queued before, and put for the last time
 * then or later.  The other one may have been anchored later, too, by what was
 * asked before it was left; but the right is of the one queued last.  (If it
 * has been cleared since, some may still go by it: tests/model/adopt.pml.)
 */
static bool
is_its_claim(struct key *k, const struct recipe_found *f)
{
	int64_t base;

	if (shim_table_find_slot(k->s, k) != 0)
		return false;
	base = (int64_t)cluster_revision(lhi_right_base(k->s->v,
	    k->ref.slot));
	return f->create <= base && base <= f->revision &&
	    (base < k->claim->create || k->claim->revision < base ||
	    k->claim->create < f->create);
}

/* What is found and not kept would be left, and another host be granted it
 * while somebody here goes by a right that he has checked.  So nothing is left:
 * the next shim adopts what there is, or it ends with its session, after D. */
static void
end_shim(struct shim *s, const char *why)
{
	s->over = true;
	(void)evtimer_del(s->deadline_timer);
	recipe_close(s->recipe);
	s->recipe = NULL;
	s->o.over(why, s->o.arg);
}

static void
on_found(const struct recipe_found *f, void *arg)
{
	struct shim *s = arg;
	struct key *k;

	/* it never had a right, or is no key that could be here: it is left */
	if (!f->first || f->key.len == 0 ||
	    f->key.len + s->prefix_len > SHM_KEY_MAX ||
	    memchr(f->key.p, 0, f->key.len) != NULL)
		return;
	k = find_or_make_key(s, &f->key);
	if (k != NULL && k->claim != NULL) {
		if (!is_its_claim(k, f))
			return;
		cluster_claim_leave(k);
	}
	if (k == NULL || cluster_claim_keep(s, k, f) == NULL) {
		end_shim(s, "out of memory");
		return;
	}
	if (shim_table_find_slot(s, k) == 0) {
		uint64_t r = lhi_right_load(s->v, k->ref.slot);

		if (lhi_right_now(s->v, k->ref.slot) &&
		    right_mode(r) <= k->claim->mode)
			keys_adopt(k, right_mode(r));
	}
	/* that shim may have asked for its deletion, which may be done yet; or
	 * it waited, and its revision is from before those of who was ahead */
	k->claim->returning = k->right == RIGHT_NONE;
	log_line(LOG_DEBUG, "key %s: found, %s", k->name,
	    k->right != RIGHT_NONE ? "with its right" : "without a right");
}

static void
void_if_unknown(struct shim *s, const char *name, unsigned mode)
{
	struct key *k = keys_find(s, name, strlen(name));

	if (k != NULL && k->right == mode)
		return;
	log_line(LOG_WARNING, "key %s: it has a right that the cluster does "
	    "not know of", name);
	shim_table_clear_right_of(s, name);
	shim_table_break_leases(s, name);
}

static void
on_settled(void *arg)
{
	struct shim *s = arg;

	shim_table_each_right(s, void_if_unknown);
	s->settled = s->looked = true;
	s->starting = s->adopt_timed_out = false;
	log_line(LOG_INFO, "%u keys of the cluster are here", s->n_rights);
	keys_touch(s);
}

static void
on_lost(const char *why, void *arg)
{
	struct shim *s = arg;
	char text[SHIM_WHY_MAX];

	s->count.lost += s->up;
	if (s->up)
		log_line(LOG_ERR, "the session with the cluster is lost: %s; "
		    "leases of cluster keys are lost", why);
	else
		log_line(LOG_WARNING, "the earlier session with the cluster "
		    "is over: %s", why);
	(void)snprintf(text, sizeof(text), "this host's session with the "
	    "cluster was lost: %.400s", why);
	s->up = s->settled = s->adopt_timed_out = s->expired = false;
	s->session.name = 0;
	expire_session(s, text);
}

/* Someone who locks with other means, `etcdctl lock` perhaps: it does not
 * exclude us, nor we it. */
static void
on_foreign(const char *key, bool at_start, void *arg)
{
	char why[SHIM_WHY_MAX];
	struct shim *s = arg;
	int64_t now_ns = shim_now_ns();

	(void)snprintf(why, sizeof(why), "%.160s in the cluster is a lock of "
	    "another program, which does not exclude ours: let it use another "
	    "prefix, or this host another root (key 'root' of the "
	    "configuration)", key);
	if (at_start) {
		end_shim(s, why);
		return;
	}
	s->count.foreign++;
	if (s->foreign_ns == 0 || now_ns - s->foreign_ns >= FOREIGN_NS)
		log_line(LOG_ERR, "%s", why);
	s->foreign_ns = now_ns;
}

static void
on_mark(const struct kv_mark *m, void *arg)
{
	struct shim *s = arg;

	s->mark = *m;
	if (s->saver != NULL)
		state_saver_save(s->saver, m);
}

int
host_open(struct shim *s)
{
	struct lhi_cluster c;

	s->starting = true;
	s->store = KV_AWAY;
	s->count.margin_min_ns = INT64_MAX;
	s->deadline_timer = evtimer_new(s->o.base, on_deadline, s);
	s->hooks = (struct recipe_hooks){ .store = on_store, .up = on_up,
	    .alive = on_alive, .found = on_found, .settled = on_settled,
	    .lost = on_lost, .mark = on_mark, .foreign = on_foreign };
	if (s->deadline_timer == NULL)
		return -ENOMEM;
	set_deadline_timer(s);
	lhi_cluster_read(s->v, &c);
	s->epoch = c.epoch;
	/* of another cluster: over, whatever that one says */
	if (c.session[0] != 0 && s->mark.cluster != 0 && c.id != 0 &&
	    c.id != s->mark.cluster) {
		c.session[0] = 0;
		begin_epoch(s);
	}
	s->session.name = c.session[0];
	s->session.create_revision = (int64_t)c.created;
	return 0;
}

void
host_close(struct shim *s)
{
	if (s->deadline_timer != NULL)
		event_free(s->deadline_timer);
	s->deadline_timer = NULL;
}
