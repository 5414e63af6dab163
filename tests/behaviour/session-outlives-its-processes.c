/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G9: a named session and its leases survive every process
 * that used it, SIGKILL included.  A process with a lease's struct can present
 * it through any attachment, and one with key, id and token gets the struct
 * again.  An id whose lease has ended is -ESTALE.
 *
 * Otherwise a job that is restarted would lose the keys of its session.
 */
#include <errno.h>
#include <string.h>
#include "session.h"
#include "support/actor.h"

struct shared {
	struct lh_lease x, r[2], later;
	int renewed;
};

static int
acquire_some(struct t_actor *a, void *arg)
{
	struct shared *sh = arg;
	struct lh_session *s = open_session(a->lh, "job", t_ms(30000), 0, 0);

	is(acquire_into(a->lh, s, "x", LH_EXCLUSIVE, &sh->x), 0, "exclusive");
	is(acquire_into(a->lh, s, "r", LH_SHARED, &sh->r[0]), 0, "shared");
	is(acquire_into(a->lh, s, "r", LH_SHARED, &sh->r[1]), 0, "again");
	return acquire_into(a->lh, s, "later", LH_EXCLUSIVE, &sh->later);
}

static int
count(const struct lh_session_info *info, void *arg)
{
	struct lh_session_info *found = arg;

	*found = *info;
	return 0;
}

int
main(void)
{
	const char *table = t_table();
	struct shared *sh = t_shared(sizeof(*sh));
	struct t_actor *a = t_actor(table);
	struct lh *lh = t_open(table);
	struct lh_session_info info = { 0 };
	struct lh_lease l, copy;
	struct lh_session *s;

	is(t_do(a, acquire_some, sh), 0, "a process acquires into a session");
	t_actor_kill(a);
	t_actor_free(a);
	is(lh_session_list(lh, NULL, count, &info), 0, "killed; list");
	ok(strcmp(info.name, "job") == 0, "the session is there");
	is(info.leases, 4, "with its leases");
	ok(info.id == sh->x.id[0], "whose ids begin with it");
	memset(&info, 0, sizeof(info));
	is(lh_session_list(lh, "jobs", count, &info), 0, "list jobs...");
	ok(info.id == 0, "it is none of them");
	is(lh_session_list(lh, "jo", count, &info), 0, "list jo...");
	ok(info.id == sh->x.id[0], "it is one of them");
	is(t_acquire(lh, "x", 1000, 0, &l), -EAGAIN, "the key is held");
	is(t_holders(lh, "r"), 2, "by readers, too");

	is(lh_verify(lh, &sh->x), 0, "presented by another: verified");
	is(lh_extend(lh, &sh->x, 7200000), 0, "extended");
	is(lh_convert(lh, &sh->x, LH_SHARED), 0, "converted down");
	is(lh_convert(lh, &sh->x, LH_EXCLUSIVE), 0, "and up");
	copy = sh->x;
	is(lh_release(lh, &sh->x), 0, "and released");
	is(lh_release(lh, &sh->x), 0, "again is success");
	is(lh_verify(lh, &copy), -ESTALE, "a copy of it is stale");
	is(lh_lease_recall(lh, "x", copy.id, copy.token, &l), -ESTALE,
	    "a bare id whose lease is gone is stale");
	is(t_acquire(lh, "x", 1000, 0, &l), 0, "the key is free");
	is(lh_release(lh, &copy), -ESTALE, "a copy of it releases nobody");
	is(lh_verify(lh, &l), 0, "the other holds it");
	is(lh_release(lh, &l), 0, "and releases");

	is(lh_lease_recall(lh, "later", sh->later.id, sh->later.token, &l), 0,
	    "recalled by key, id and token");
	ok(l.key == sh->later.key && l.expires_ns == sh->later.expires_ns,
	    "it is the same");
	is(lh_lease_recall(lh, "later", sh->later.id, sh->later.token + 1, &l),
	    -ESTALE, "not with another token");
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(lh, &sh->r[0]), 0, "a reader, released");
	is(t_holders(lh, "r"), 1, "the other one holds it");
	is(t_acquire(lh, "r", 1000, 0, &l), -EAGAIN, "a writer waits for it");
	is(lh_lease_recall(lh, "r", sh->r[1].id, sh->r[1].token, &l), 0,
	    "recalled");
	is(lh_release(lh, &l), 0, "released");
	is(t_acquire(lh, "r", 1000, 0, &l), 0, "free for a writer");
	is(lh_release(lh, &l), 0, "release");

	s = open_session(lh, "job", 1000, 0, 0);
	cmp(lh_session_renew(s), ==, t_ms(30000), "the ttl in force");
	is(lh_session_destroy(s), 0, "destroyed");
	is(lh_session_destroy(s), 0, "twice is success");
	is(lh_session_renew(s), -ESTALE, "not to be renewed");
	is(acquire_into(lh, s, "x", LH_EXCLUSIVE, &l), -ESTALE,
	    "nor acquired into");
	is(t_holders(lh, "x"), 0, "and nothing is held by that");
	lh_session_close(s);
	t_close(lh);
	return done();
}
