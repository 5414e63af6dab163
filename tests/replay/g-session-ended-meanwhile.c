/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G9 and the lock-delay of named sessions.  A call with a lease of a
 * named session is stopped until the session has ended and, in some rows, the
 * lease's deadline has passed too.  Nobody else looks at the key meanwhile.
 * The call must report that the lease is lost, and the key must stay reserved
 * for the lock-delay: the session's end comes first and decides how the lease
 * ended.
 *
 * Otherwise the stopped caller would record that the lease ran out.  The next
 * holder would then get the key at once, although work of the ended session
 * may still be under way.
 */
#include <errno.h>
#include <string.h>
#include "lent.h"

#define SESSION_MS	t_ms(400)
#define LEASE_MS	t_ms(500)	/* passes after the session's end */
#define BOTH_OVER_MS	t_ms(600)
#define DELAY_MS	60000

struct row {
	const char *key;	/* also the name of its role and its session */
	const char *point;	/* where the call is stopped */
	int (*call)(void *row);
	int result;
	bool long_lease;	/* only the session ends */
	bool of_maker;		/* it ends because its maker is killed */
	struct lh *lh;
	struct lh_session *s;
	struct lh_lease lease;
};

static const char *table;
static struct lh *other;
static struct row converter;	/* of the lease whose request is repeated */

static int
extend(void *arg)
{
	struct row *r = arg;

	return lh_extend(r->lh, &r->lease, REPLAY_LONG_MS);
}

static int
downgrade(void *arg)
{
	struct row *r = arg;

	return lh_convert(r->lh, &r->lease, LH_SHARED);
}

static int
hand_over(void *arg)
{
	struct row *r = arg;

	return lh_handoff(r->lh, &r->lease, r->s);
}

static int
verify(void *arg)
{
	struct row *r = arg;

	return lh_verify(r->lh, &r->lease);
}

static int
break_lease(void *arg)
{
	struct row *r = arg;

	return lh_break(other, r->key, NULL, 0);
}

static int
acquire(void *arg)
{
	struct row *r = arg;
	struct lh_acquire_opts o = t_opts(r->long_lease ? REPLAY_LONG_MS :
	    LEASE_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	/* a hand-off gives its lease to the session later */
	more.session = r->call == hand_over ? NULL : r->s;
	more.request[0] = r->call == acquire ? 7 : 0;
	o.more = &more;
	return lh_acquire(r->lh, r->key, &o, &r->lease);
}

/* Acquires another key into the session: finds the first lease on its way. */
static int
acquire_another(void *arg)
{
	struct row *r = arg;

	return replay_into(r->lh, "another", r->s, LH_POLICY_LEASE,
	    LH_EXCLUSIVE, &r->lease);
}

#define ROW(key_, point_, call_, ...) \
	{ .key = (key_), .point = (point_), .call = (call_), \
	  .result = -ESTALE, __VA_ARGS__ }

static struct row rows[] = {
	ROW("extend-checked", "extend.checked", extend, .long_lease = false),
	ROW("extend-swapped", "extend.swapped", extend, .long_lease = false),
	ROW("convert-swapped", "convert.swapped", downgrade,
	    .long_lease = false),
	ROW("convert-looked", "convert.looked", downgrade,
	    .long_lease = false),
	/* the maker's death is not noticed before the call goes on */
	ROW("m-ext-checked", "extend.checked", extend, .of_maker = true),
	ROW("m-ext-swapped", "extend.swapped", extend, .of_maker = true),
	ROW("m-conv-swapped", "convert.swapped", downgrade, .of_maker = true),
	ROW("m-conv-looked", "convert.looked", downgrade, .of_maker = true),
	ROW("handoff-swapped", "handoff.swapped", hand_over,
	    .long_lease = true),
	ROW("handoff-let-go", "handoff.let_go", hand_over, .long_lease = true),
	/* there is nothing left to break */
	{ .key = "break", .point = "break.seen", .call = break_lease,
	  .result = 0, .long_lease = true },
	ROW("request", "request.judging", acquire, .long_lease = false),
	ROW("keeper", "tenant.kept", acquire_another, .long_lease = false),
	ROW(LENT_KEY, "right.read", verify, .long_lease = true),
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static struct lh_session *
open_session(struct lh *lh, const struct row *r, uint32_t flags)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s = NULL;

	o.ttl_ms = r->of_maker ? REPLAY_LONG_MS : SESSION_MS;
	o.lock_delay_ms = DELAY_MS;
	o.flags = flags;
	is(lh_session_open(lh, r->key, &o, &s), 0, "session '%s'", r->key);
	return s;
}

/* The maker of the sessions that end with it. */
static int
make(void *unused)
{
	struct lh *lh = replay_open(table, 0);

	(void)unused;
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].of_maker)
			(void)open_session(lh, &rows[i],
			    LH_SESSION_WITH_MAKER);
	lhi_hook("test.made", NULL);
	return 0;
}

static void
begin(struct row *r)
{
	r->lh = replay_open(table, 0);
	r->s = open_session(r->lh, r, r->of_maker ? LH_NO_CREATE : 0);
	is(acquire(r), 0, "%s: a lease", r->key);
	if (r->call == acquire) {
		/* another attachment repeats what this one converts */
		converter = *r;
		replay_stop("converter", "convert.announced", downgrade,
		    &converter);
		r->lh = replay_open(table, 0);
		r->s = open_session(r->lh, r, 0);
	}
	replay_stop(r->key, r->point, r->call, r);
}

int
main(void)
{
	struct lh_lease l;

	table = replay_begin();
	replay_hold("maker", "test.made");
	(void)replay_fork("maker", make, NULL);
	replay_wait_held("maker");
	other = replay_open(table, 0);
	lent_begin(table);
	lent_give(REPLAY_LONG_MS);
	for (size_t i = 0; i < N_ROWS; i++)
		begin(&rows[i]);
	replay_kill("maker");
	t_sleep_ms(BOTH_OVER_MS);
	lent_pass();		/* this host's right ends as well */
	for (size_t i = 0; i < N_ROWS; i++)
		is(replay_finish(rows[i].key), rows[i].result,
		    "%s: the call reports the end of the lease", rows[i].key);
	is(replay_finish("converter"), -ESTALE, "so does the conversion");
	lent_until_in_ms(REPLAY_LONG_MS);
	for (size_t i = 0; i < N_ROWS; i++)
		is(replay_try(other, rows[i].key, &l), -EAGAIN,
		    "%s: the key is reserved for the lock-delay",
		    rows[i].key);
	for (size_t i = 0; i < N_ROWS; i++) {
		lh_session_close(rows[i].s);
		t_close(rows[i].lh);
	}
	lh_session_close(converter.s);
	t_close(converter.lh);
	t_close(lent_shim);
	t_close(other);
	return done();
}
