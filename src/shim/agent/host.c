/* SPDX-License-Identifier: MIT */
/*
 * This host's session in the cluster, and what the table says about it: the
 * session's name, its deadline D, and the epoch that all rights belong to.
 * recipe.h calls the hooks in this file.
 *
 *	up, adopted	The session continues, and rights of this epoch stay
 *			valid.  A claim found in the store that has a right is
 *			kept.  A claim without a right is kept only to be
 *			returned once the key is held locally, because its right
 *			may have been cleared without the steps after that.  It
 *			is never used again, because the earlier shim may have
 *			sent its deletion, which may take effect late.  A right
 *			without a claim is void
 *	up, new		A new epoch begins, without rights
 *	alive		D moves on
 *	expired		D has passed, and nothing is valid.  A new epoch of the
 *			same session begins; the session may still be alive.  A
 *			later D makes no old lease valid again (guarantee G9)
 *	lost		A new epoch begins, without a session
 *	nothing		There was no session, or no first D, for one TTL.  The
 *			cluster is treated as away
 *	adopt timed out	The session was adopted, but for one TTL its claims
 *			could not be read.  Requests fail with that reason.
 *			Rights and claims stay, and D moves
 *
 * The epoch is written before D (shm/cluster_right.c, invariant I2).  A shim
 * that was stopped first completes the write that it was about to do.  That is
 * harmless: a D that was true when computed is in the past, and a right belongs
 * to an epoch that this D belongs to.
 *
 * Leases under void rights are broken.  Their holders would learn it from the
 * clock or the epoch as well; breaking them lets the waiters continue.
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

#define FOREIGN_NS (10 * NS_PER_SEC)	/* interval of log messages about
					 * foreign locks */

/* Sets the timer to D, or to the end of the wait for a first D. */
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

/* Records a right that another shim left in the table. */
static void
adopt_right(struct shim *s, const char *name, unsigned mode)
{
	struct key *k = keys_new(s, name, strlen(name), s->self);

	if (k != NULL && k->right == RIGHT_NONE &&
	    shim_table_find_slot(s, k) == 0)
		keys_adopt(k, mode);
}

/* Begins an epoch without rights, and voids all existing rights. */
static void
begin_epoch(struct shim *s)
{
	uint64_t name[2] = { s->session.name, 0 };

	if (!s->looked)		/* to break the leases under these, too */
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

/* Fails all requests with the reason in s->why. */
static void
fail_requests(struct shim *s)
{
	requests_fail_all(s, FRAME_AWAY, 0, s->why);
	keys_touch(s);
}

/* Marks the session as expired: nothing may be granted. */
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

/* Ends the start phase, in which requests wait for a first session. */
static void
end_start(struct shim *s)
{
	if (s->starting) {
		s->starting = false;
		fail_requests(s);
	}
}

/* Notes that the session is alive but its claims could not be read in time. */
static void
note_adopt_timeout(struct shim *s)
{
	(void)snprintf(s->why, sizeof(s->why), "the cluster did not report in "
	    "time which keys this host holds: %s", recipe_why(s->recipe));
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
		(void)snprintf(s->why, sizeof(s->why), "the cluster did not "
		    "create a session for this host in time: %s",
		    recipe_why(s->recipe));
		log_line(LOG_ERR, "%s", s->why);
		end_start(s);
		return;
	}
	said = s->store == KV_HERE ? recipe_why(s->recipe) : s->why;
	(void)snprintf(why, sizeof(why), "the cluster did not confirm this "
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
			log_line(LOG_INFO, "the cluster is reachable");
		return;
	}
	(void)strlcpy(s->why, why, sizeof(s->why));
	if (news)
		log_line(state == KV_REFUSED ? LOG_ERR : LOG_WARNING,
		    "the cluster %s: %s", state == KV_REFUSED ?
		    "cannot be used" : "is unreachable", why);
	end_start(s);
}

static void
on_refused(const char *why, void *arg)
{
	(void)arg;
	if (why[0] == '\0')
		log_line(LOG_INFO, "the cluster accepts changes again");
	else
		log_line(LOG_ERR, "the cluster refuses changes: %s", why);
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
	/* D has passed, so every lease under a right has ended */
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
		return;		/* too late to be of use */
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

/* Returns the key of a name in the cluster, which lacks the table's prefix. */
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
 * True if the key's right belongs to claim f, not to k->claim.
 *
 * Both claims are shared, and one of them was being left.  The base in the
 * table is a revision at which its claim was granted or anchored.  So that
 * claim queued before the base, and its key was last put at the base or later.
 * The other claim may also have been anchored later, by a call that was sent
 * before it was left; but the right belongs to the one that queued last.  (If
 * the right was cleared since, a process may still rely on it:
 * tests/model/adopt.pml.)
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

/*
 * Ends the shim because a found claim cannot be kept.
 *
 * Otherwise the claim would be left and another host granted the key, while a
 * local process still relies on a right that it has checked.  So nothing is
 * left: the next shim adopts the claims, or they end with the session, after D.
 */
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

	/* it never had a right, or its name is impossible here: it is left */
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
	/* the earlier shim may have sent its deletion; or it was waiting, and
	 * its revision is older than those of the claims that were ahead */
	k->claim->returning = k->right == RIGHT_NONE;
	log_line(LOG_DEBUG, "key %s: found, %s", k->name,
	    k->right != RIGHT_NONE ? "with its right" : "without a right");
}

/* Clears the right of a key that has no claim in the cluster. */
static void
void_if_unknown(struct shim *s, const char *name, unsigned mode)
{
	struct key *k = keys_find(s, name, strlen(name));

	if (k != NULL && k->right == mode)
		return;
	log_line(LOG_WARNING, "key %s: cleared its right, because the cluster "
	    "has no claim of it", name);
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
	log_line(LOG_INFO, "this host holds %u keys of the cluster",
	    s->n_rights);
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
		    "has ended: %s", why);
	(void)snprintf(text, sizeof(text), "this host's session with the "
	    "cluster was lost: %.400s", why);
	s->up = s->settled = s->adopt_timed_out = s->expired = false;
	s->session.name = 0;
	expire_session(s, text);
}

/* Handles a lock of another program, for example `etcdctl lock`.  It does not
 * exclude our locks, nor do ours exclude it. */
static void
on_foreign(const char *key, bool at_start, void *arg)
{
	char why[SHIM_WHY_MAX];
	struct shim *s = arg;
	int64_t now_ns = shim_now_ns();

	(void)snprintf(why, sizeof(why), "%.160s in the cluster is a lock of "
	    "another program and does not exclude ours; use another prefix for "
	    "that program, or another root for this host (key 'root')", key);
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
	    .refused = on_refused, .alive = on_alive, .found = on_found,
	    .settled = on_settled, .lost = on_lost, .mark = on_mark,
	    .foreign = on_foreign };
	if (s->deadline_timer == NULL)
		return -ENOMEM;
	set_deadline_timer(s);
	lhi_cluster_read(s->v, &c);
	s->epoch = c.epoch;
	/* the table's session belongs to another cluster: it is void */
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
