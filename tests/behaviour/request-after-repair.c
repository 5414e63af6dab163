/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G10 and G12: damage of the index of requests is found; after a
 * repair all requests are forgotten, and new ones work.
 *
 * Otherwise a repeated request would find a lease of another one.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

static int
ask(struct lh *lh, uint64_t id, struct lh_lease *l)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, 0);

	o.more = &more;
	more.request[0] = id;
	return lh_acquire(lh, "k", &o, l);
}

static int
ask_there(struct t_actor *a, void *arg)
{
	return ask(a->lh, (uint64_t)(uintptr_t)arg, &a->lease);
}

/* A request's record that is granted. */
static struct shm_request *
granted(const struct t_object *o)
{
	for (uint32_t i = 0; i < o->geo.n_requests; i++)
		if (req_st(sh64_load(&o->requests[i].state)) == REQ_GRANTED)
			return &o->requests[i];
	return NULL;
}

static void
damaged(unsigned how)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct t_object o;
	struct lh_lease l, again;
	struct shm_request *r;
	struct lh *lh;
	int found;

	is(t_do(a, ask_there, (void *)1), 0, "a request is granted");
	o = t_map_object(table);
	r = granted(&o);
	ok(r != NULL, "and known");
	if (how == 0)
		sh64_store(&r->state, req_make(12, 3, 1, 4));
	else if (how == 1)
		sh64_store(&r->id[1], 99);	/* which belongs elsewhere */
	else
		sh64_store(&r->lease, UINT64_MAX);
	lh = t_open(table);
	found = t_findings(lh);
	if (how < 2)
		is(found, 1, "the damage is found");
	is(ask(lh, 1, &l), -EAGAIN, "requests go on beside it");
	is(lh_close(lh), 0, "close");
	t_actor_kill(a);
	t_actor_free(a);
	cmp(lh_table_repair(table, 0, NULL, NULL), >=, 0, "repaired");
	lh = t_open(table);
	is(t_findings(lh), 0, "it is sound");
	is(ask(lh, 1, &l), 0, "a request is granted");
	is(ask(lh, 1, &again), 0, "and repeated");
	is(again.token, l.token, "the same");
	is(t_findings(lh), 0, "it is sound");
	is(lh_release(lh, &l), 0, "released");
	t_unmap_object(&o);
	t_close(lh);
}

int
main(void)
{
	damaged(0);
	damaged(1);
	damaged(2);
	return done();
}
