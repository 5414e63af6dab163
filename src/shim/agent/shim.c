/* SPDX-License-Identifier: MIT */
/*
 * Opens, closes and ends a shim.  shim_loop.c and the tests call it.
 *
 * Opening takes these steps:
 *
 * 1. Attach to the table and lock the byte that only one shim can lock.
 * 2. Read the state file.
 * 3. Open the socket.
 * 4. Open the session in the cluster, and adopt the one that the table names.
 * 5. Write to the table where the shim listens.
 *
 * Close ends at once, as if the shim were killed.  Rights stay valid until D,
 * and the next shim adopts the session.  End first returns the keys that no
 * local process holds.  If those were all, it also ends the session, so that no
 * other host has to wait for D.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bsd/string.h>
#include "daemon/daemon_log.h"
#include "daemon/paths.h"
#include "shim.h"
#include "shm/cluster_right.h"

#define END_NS NS_PER_SEC	/* longest time for ending */
#define END_LOOK_NS (10 * NS_PER_MS)

/* Calls ended() once. */
static void
call_ended(struct shim *s)
{
	void (*ended)(void *) = s->ended;

	s->ended = NULL;
	if (ended != NULL)
		ended(s->o.arg);
}

/* The session was removed from the store. */
static void
on_retired(void *arg)
{
	call_ended(arg);
}

static int
open_cluster(struct shim *s, char why[SHIM_WHY_MAX])
{
	struct recipe_opts r = { .base = s->o.base, .engine = s->o.engine,
	    .engine_arg = s->o.engine_arg, .root = s->o.root,
	    .host = s->o.host, .ttl_ms = s->o.ttl_ms,
	    .timeout_ms = s->o.timeout_ms, .hooks = &s->hooks, .arg = s };

	if (host_open(s) != 0) {
		(void)snprintf(why, SHIM_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	cluster_claim_set_hooks(&s->hooks);
	s->hooks.retired = on_retired;
	r.adopt = s->session;
	r.mark = s->mark;
	s->recipe = recipe_open(&r);
	if (s->recipe != NULL)
		return 0;
	(void)snprintf(why, SHIM_WHY_MAX, "cannot start the session with the "
	    "cluster: %s",
	    strerror(errno));
	return errno != 0 ? -errno : -ENOMEM;
}

static int
open_all(struct shim *s, char why[SHIM_WHY_MAX])
{
	bool keep = s->o.state_file[0] != '\0';
	char place[PATHS_ERROR_MAX];
	int e = shim_table_open(s, why);
	unsigned most;

	/* each key takes one of the table's, whose other users need some */
	most = e != 0 ? 0 : s->v->geo.n_slots - s->v->geo.n_slots / 8;
	if (s->o.max_keys > most)
		s->o.max_keys = most;
	if (e == 0 && keep &&
	    paths_make_directory(s->o.state_file, place) != 0) {
		(void)snprintf(why, SHIM_WHY_MAX, "%.500s", place);
		e = -EACCES;
	}
	if (e == 0 && keep)
		e = shim_state_read(s->o.state_file, &s->mark, why);
	if (e == 0 && keep &&
	    (s->saver = state_saver_new(s->o.state_file)) == NULL) {
		(void)snprintf(why, SHIM_WHY_MAX, "cannot start the thread for "
		    "the state file");
		e = -ENOMEM;
	}
	if (e == 0 && ((s->self = user_of(s, geteuid())) == NULL ||
	    questions_open(s) != 0 || requests_open(s) != 0 ||
	    turns_open(s) != 0)) {
		(void)snprintf(why, SHIM_WHY_MAX, "out of memory");
		e = -ENOMEM;
	}
	if (e == 0)
		e = client_listen(s, why);
	if (e == 0 && keys_open(s) != 0) {
		(void)snprintf(why, SHIM_WHY_MAX, "out of memory");
		e = -ENOMEM;
	}
	if (e == 0)
		e = open_cluster(s, why);
	if (e == 0)
		lhi_cluster_listen(s->v, (uint32_t)getpid(), s->socket);
	return e;
}

static void
drop_client(struct client *c)
{
	requests_free(c);
	questions_drop(c);
}

int
shim_open(struct shim **out, const struct shim_opts *o, char why[SHIM_WHY_MAX])
{
	struct shim *s = calloc(1, sizeof(*s));
	int e;

	if (s == NULL) {
		(void)snprintf(why, SHIM_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	s->o = *o;
	s->byte_fd = s->listen_fd = -1;
	s->on_key = key_step;
	s->on_frame = dispatch_frame;
	s->on_client_gone = drop_client;
	RB_INIT(&s->keys);
	TAILQ_INIT(&s->claims);
	TAILQ_INIT(&s->users);
	TAILQ_INIT(&s->asked);
	TAILQ_INIT(&s->tries);
	TAILQ_INIT(&s->clients);
	e = open_all(s, why);
	if (e != 0)
		shim_close(s);
	else
		*out = s;
	return e;
}

void
shim_close(struct shim *s)
{
	client_end(s);
	if (s->recipe != NULL)
		recipe_close(s->recipe);
	s->recipe = NULL;
	questions_close(s);
	requests_close(s);
	turns_close(s);
	cluster_claims_free(s);
	keys_close(s);
	users_free(s);
	host_close(s);
	if (!state_saver_free(s->saver, s->byte_fd))
		s->byte_fd = -1;
	shim_table_close(s);
	if (s->end_timer != NULL)
		event_free(s->end_timer);
	free(s);
}

/* True if all keys were returned.  A claim whose deletion takes long may not be
 * deletable any more; it ends with the session. */
static bool
has_left_all(const struct shim *s)
{
	const struct cluster_claim *p;

	TAILQ_FOREACH(p, &s->claims, all)
		if (p->key != NULL || s->store != KV_HERE ||
		    shim_now_ns() < s->end_ns - END_NS / 2)
			return false;
	return s->n_rights == 0;
}

static void
on_end_timer(evutil_socket_t fd, short what, void *arg)
{
	struct timeval tv = { 0, END_LOOK_NS / 1000 };
	struct shim *s = arg;

	/* not if the session's claims were not read yet */
	if ((s->looked || s->session.name == 0) && has_left_all(s) &&
	    !s->retiring && s->recipe != NULL) {
		log_line(LOG_DEBUG, "all keys were returned");
		s->retiring = true;
		(void)lhi_cluster_end(s->v);
		recipe_retire(s->recipe);
	}
	if (s->ended == NULL)
		return;
	if (shim_now_ns() < s->end_ns) {
		(void)evtimer_add(s->end_timer, &tv);
		return;
	}
	log_line(LOG_INFO, "%u keys stay with this host, until the next shim "
	    "adopts them or the session ends", s->n_rights);
	call_ended(s);
}

void
shim_end(struct shim *s, void (*ended)(void *arg))
{
	if (s->ended != NULL)
		return;
	s->ended = ended;
	s->ending = true;
	s->end_ns = shim_now_ns() + END_NS;
	requests_fail_all(s, FRAME_AWAY, 0, "the shim is ending");
	keys_touch(s);
	s->end_timer = evtimer_new(s->o.base, on_end_timer, s);
	if (s->end_timer != NULL)
		event_active(s->end_timer, EV_TIMEOUT, 0);
	else
		call_ended(s);
}
