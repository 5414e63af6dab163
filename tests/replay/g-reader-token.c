/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G3: a reader's claim never shows a token that is not its
 * lease's.
 *
 * A reader is stopped right after its grant.  If it did not queue, its claim
 * still has the token of an earlier lease, which a writer ended: that token
 * must not verify.  If it queued, the claim has its place in the queue in the
 * same field: that is no token, and must be neither verified nor reported.
 *
 * Otherwise a server would accept the token of a lease that is over, after a
 * writer has had the key.
 */
#include <errno.h>
#include "replay.h"

struct job {
	struct lh *lh;
	struct lh_cancel cancel;
	int64_t wait_ms;
	bool twice;
	struct lh_lease old, lease;
};

static int
acquire(struct job *j, int64_t wait_ms, struct lh_lease *l)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

	o.mode = LH_SHARED;
	o.ttl_ms = REPLAY_LONG_MS;
	o.max_wait_ms = wait_ms;
	o.priority = 3;	/* as a token it would be unlikely: 3 << 32 */
	o.cancel = &j->cancel;		/* takes the slow path */
	return lh_acquire(j->lh, "k", &o, l);
}

/* Reads the key, lets a writer acquire and release it, and reads again. */
static struct lh *writer;

static int
reader(void *arg)
{
	struct job *j = arg;
	struct lh_lease w;
	int r;

	if (j->twice) {
		r = acquire(j, 0, &j->old);
		if (r != 0 || lh_release(j->lh, &j->old) != 0 ||
		    replay_try(writer, "k", &w) != 0 ||
		    lh_release(writer, &w) != 0)
			return -EINVAL;
		replay_hold("reader", "acquire.granted");
	}
	return acquire(j, j->wait_ms, &j->lease);
}

struct seen {
	uint32_t n;
	uint64_t token, key_token;
};

static int
see(const struct lh_key_info *info, void *arg)
{
	struct seen *s = arg;

	s->n = info->n_holders;
	s->token = info->n_holders > 0 ? info->holders[0].token : 0;
	s->key_token = info->token;
	return 0;
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0);
	struct job j = { .cancel = LH_CANCEL_INIT, .twice = true };
	struct lh_lease w;
	struct seen s;

	writer = replay_open(table, 0);
	j.lh = replay_open(table, 0);
	replay_go("reader", reader, &j);
	replay_wait_held("reader");
	is(lh_verify_token(lh, "k", j.old.token), -ESTALE,
	    "the token of an ended lease, a writer ago, is not verified");
	is(lh_status(lh, "k", NULL, see, &s), 0, "status");
	ok(s.n == 0 || s.token == 0 || s.token == s.key_token,
	    "nor reported (%u holders, token %llu, the key's is %llu)", s.n,
	    (unsigned long long)s.token, (unsigned long long)s.key_token);
	is(replay_finish("reader"), 0, "the reader acquires the key");
	is(lh_verify_token(lh, "k", j.lease.token), 0, "its token verifies");
	is(lh_release(j.lh, &j.lease), 0, "release");

	j.twice = false;
	j.wait_ms = REPLAY_MS;
	is(replay_try(writer, "k", &w), 0, "a writer holds the key");
	replay_stop("reader", "wait.announced", reader, &j);
	replay_hold("reader", "acquire.granted");
	replay_release("reader");
	t_sleep_ms(50);
	is(lh_release(writer, &w), 0,
	    "a reader has queued; the writer releases");
	replay_wait_held("reader");
	is(lh_status(lh, "k", NULL, see, &s), 0, "status");
	ok(s.n == 0 || s.token == 0 || s.token == s.key_token,
	    "a place in the queue is not reported as a token (%u holders, "
	    "token %llu, the key's is %llu)", s.n,
	    (unsigned long long)s.token, (unsigned long long)s.key_token);
	is(replay_finish("reader"), 0, "the reader acquires the key");
	is(lh_release(j.lh, &j.lease), 0, "release");
	t_close(j.lh);
	t_close(writer);
	t_close(lh);
	return done();
}
