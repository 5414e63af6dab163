/* SPDX-License-Identifier: MIT */
/* test: slow 8 */
/*
 * Guarantees G1, G4, G5 and G6, crash rows S3 to S5: idle readers, and readers
 * that leave, against callers that come at that moment.
 *
 * A reader's release is stopped before each of its accesses to shared memory
 * while a writer queues: the reader must not stay idle before the writer, and
 * the writer must acquire the key.  An idle reader is revived while a writer
 * tries, or while the key is evicted, each of them stopped in turn: exactly one
 * of the two may hold the key.  A reader that takes others out of the chain is
 * stopped or killed while those behind it leave: the writer must not wait for
 * it.
 *
 * Otherwise a writer would wait for a reader that holds nothing, or would
 * acquire the key beside a revived one.
 */
#include "sweep.h"

static const char *table;
static struct lh *lh, *other, *third;

/* A call in a thread of its own. */
struct caller {
	struct sweep s;
	const char *point;
	int n;
	struct lh *lh;
	struct lh_acquire_opts o;
	char key[32];
	struct t_event ready, on;
	struct lh_lease l;
	int64_t ended_ns;
};

static int
acquire(void *arg)
{
	struct caller *c = arg;
	int r;

	sweep_warm_up(c->lh);
	sweep_now(&c->s, c->point, c->n);
	r = lh_acquire(c->lh, c->key, &c->o, &c->l);
	c->ended_ns = t_now_ns();
	return r;
}

/* Reads the key, and releases it when `on` is posted. */
static int
read_release(void *arg)
{
	struct caller *c = arg;

	if (t_read(c->lh, c->key, HOUR_MS, 0, &c->l) != 0)
		bail_out("%s cannot be read", c->key);
	t_post(&c->ready);
	(void)t_await(&c->on, 1, REPLAY_MS);
	sweep_now(&c->s, c->point, c->n);
	return lh_release(c->lh, &c->l);
}

/* The same, and reads it again at the second post. */
static int
read_again(void *arg)
{
	struct caller *c = arg;

	if (t_read(c->lh, c->key, HOUR_MS, 0, &c->l) != 0)
		bail_out("%s cannot be read", c->key);
	t_post(&c->ready);
	(void)t_await(&c->on, 1, REPLAY_MS);
	(void)lh_release(c->lh, &c->l);
	t_post(&c->ready);
	(void)t_await(&c->on, 2, REPLAY_MS);
	sweep_now(&c->s, c->point, c->n);
	return t_read(c->lh, c->key, HOUR_MS, 0, &c->l);
}

static struct caller
caller(struct lh *h, const char *kind, int k, const char *point, int n)
{
	struct caller c = { .lh = h, .point = point, .n = n,
	    .o = t_opts(HOUR_MS, 3000) };

	(void)snprintf(c.key, sizeof(c.key), "%s%d", kind, k);
	return c;
}

static unsigned
state_of(const struct lh_lease *l)
{
	return state_st(sh64_load(
	    &lh->v.claims[lid_claim(l->id[1])].state));
}

/* True if that lease's claim is idle. */
static bool
idle(const struct lh_lease *l)
{
	return state_of(l) == ST_IDLE;
}

/* The release is stopped, a writer comes to `point`, the release goes on. */
static void
dekker(const char *what, const char *kind, const char *point)
{
	bool stands = true, queued;
	int n, idled = 0;

	for (n = 1; stands; n++) {
		struct caller o = caller(lh, kind, n, NULL, n);
		struct caller w = caller(third, kind, n, point, 1);
		struct lh_lease d = t_read_hold(other, o.key);
		int64_t from;

		sweep_go(&o.s, read_release, &o);
		ok(t_await(&o.ready, 1, REPLAY_MS), "%s is read", o.key);
		t_post(&o.on);
		stands = sweep_stands(&o.s);
		idled += idle(&o.l);
		sweep_go(&w.s, acquire, &w);
		queued = sweep_stands(&w.s);
		if (!queued)
			sweep_bad(what, n, "the writer does not queue");
		if (sweep_end(&o.s) != 0)
			sweep_bad(what, n, "the reader's release fails");
		if (queued && strcmp(point, "wait.parked") != 0)
			(void)sweep_on(&w.s, "wait.parked", 1);
		if (idle(&o.l))
			sweep_bad(what, n, "it stays idle before the writer");
		from = t_now_ns();
		if (lh_release(other, &d) != 0)
			sweep_bad(what, n, "the other reader cannot release");
		if (sweep_end(&w.s) != 0)
			sweep_bad(what, n, "the writer does not acquire it");
		else if ((w.ended_ns - from) / T_NS_PER_MS > T3_MS)
			sweep_bad(what, n, "the writer acquires it late");
		(void)lh_release(third, &w.l);
	}
	cmp(n, >, 8, "%s: stopped %d times", what, n - 2);
	cmp(idled, >, 0, "it was idle %d times", idled);
	is(t_findings(other), 0, "the table is sound");
}

/* Starts a reader that is idle and alone, to be stopped at access n when it
 * reads again. */
static void
lone_idle(struct caller *o)
{
	struct replay_call d = REPLAY_CALL(other, o->key, 0, 0);

	/* no reader stays idle soon after a revocation */
	t_sleep_ms(25);
	d.lease = t_read_hold(other, o->key);
	sweep_go(&o->s, read_again, o);
	ok(t_await(&o->ready, 1, REPLAY_MS), "%s is read", o->key);
	t_post(&o->on);
	ok(t_await(&o->ready, 2, REPLAY_MS), "and released");
	/* in another thread, so that this reader is not idle as well */
	replay_go("d", replay_release_lease, &d);
	is(replay_result("d"), 0, "the other reader leaves");
	ok(idle(&o->l), "one reader is left, idle");
}

/* Checks that exactly one of the two holds the key. */
static void
one_has_it(const char *what, int n, int reader, int writer, struct caller *o,
    struct lh_lease *x)
{
	if ((reader == 0) + (writer == 0) != 1 ||
	    (reader != 0 && reader != -EAGAIN) ||
	    (writer != 0 && writer != -EAGAIN))
		sweep_bad(what, n, "reader %d, writer %d", reader, writer);
	if (reader == 0 && lh_verify(lh, &o->l) != 0)
		sweep_bad(what, n, "the reader's lease is lost");
	if (writer == 0 && lh_verify(third, x) != 0)
		sweep_bad(what, n, "the writer's lease is lost");
	if (t_try(other, o->key, LH_EXCLUSIVE, 0) != -EAGAIN)
		sweep_bad(what, n, "a third caller acquires it");
	if (reader == 0)
		(void)lh_release(lh, &o->l);
	if (writer == 0)
		(void)lh_release(third, x);
	if (t_try(other, o->key, LH_EXCLUSIVE, 0) != 0)
		sweep_bad(what, n, "the key is not free at the end");
}

/* Stops the revival at the nth arrival at point, or access.  True if it
 * stopped. */
static bool
take_in_revival(const char *kind, const char *point, int n)
{
	struct caller o = caller(lh, kind, n, point, n);
	struct lh_lease x;
	bool stands;
	int r;

	lone_idle(&o);
	t_post(&o.on);
	stands = sweep_stands(&o.s);
	r = replay_try(third, o.key, &x);
	one_has_it(kind, n, sweep_end(&o.s), r, &o, &x);
	return stands;
}

static void
revived_or_taken(void)
{
	bool stands = true;
	int n = 1, m, r;

	while (take_in_revival("before", NULL, n))
		n++;
	ok(take_in_revival("behind", "shared.revived", 1),
	    "and once after the revival");
	for (stands = true, m = 1; stands; m++) {
		struct caller o = caller(lh, "take", m, NULL, 0);
		struct caller w = caller(third, "take", m, NULL, m);

		lone_idle(&o);
		w.o.max_wait_ms = 0;
		sweep_go(&w.s, acquire, &w);
		stands = sweep_stands(&w.s);
		t_post(&o.on);
		r = sweep_end(&o.s);
		one_has_it("taking", m, r, sweep_end(&w.s), &o, &w.l);
	}
	cmp(n, >, 3, "revival stopped %d times", n - 1);
	cmp(m, >, 8, "a writer's try stopped %d times", m - 2);
	is(t_findings(other), 0, "the table is sound");
}

static int
evict(void *arg)
{
	struct caller *c = arg;

	sweep_now(&c->s, c->point, c->n);
	return (int)lh_evict(c->lh, c->key, 0);
}

/* Checks that the key was evicted and read again, or revived; not both. */
static void
still_right(const char *what, int n, int evicted, uint64_t token, int reader,
    struct caller *o)
{
	if (evicted != 0 && evicted != 1)
		sweep_bad(what, n, "lh_evict() says %d", evicted);
	if (reader != 0 || lh_verify(lh, &o->l) != 0)
		sweep_bad(what, n, "the reader does not hold it: %d", reader);
	if (evicted ? o->l.token <= token : o->l.token < token)
		sweep_bad(what, n, "evicted: %d, token %lld after %lld",
		    evicted, (long long)o->l.token, (long long)token);
	if (t_try(third, o->key, LH_EXCLUSIVE, 0) != -EAGAIN)
		sweep_bad(what, n, "a writer acquires the key beside it");
	(void)lh_release(lh, &o->l);
	if (t_try(third, o->key, LH_EXCLUSIVE, 0) != 0)
		sweep_bad(what, n, "the key is not free at the end");
	(void)lh_evict(third, NULL, 0);
}

static bool
evict_in_revival(const char *kind, const char *point, int n, int *evicted)
{
	struct caller o = caller(lh, kind, n, point, n);
	uint64_t token;
	bool stands;

	lone_idle(&o);
	token = o.l.token;
	t_post(&o.on);
	stands = sweep_stands(&o.s);
	*evicted = (int)lh_evict(third, o.key, 0);
	still_right(kind, n, *evicted, token, sweep_end(&o.s), &o);
	return stands;
}

/* Uses a table of few keys, because lh_evict() reads each. */
static void
revived_or_evicted(void)
{
	struct lh *many[3] = { lh, other, third };
	struct lh_open_opts opts = t_open_opts();
	const char *few = t_table();
	bool stands = true;
	int n = 1, m, r, gone, went = 0;
	uint64_t token;

	opts.max_keys = 8;
	if (lh_open(&lh, few, &opts) != 0 || lh_open(&other, few, &opts) != 0 ||
	    lh_open(&third, few, &opts) != 0)
		bail_out("a table of 8 keys: %s", lh_error_detail());
	for (; evict_in_revival("back", NULL, n, &gone); n++)
		went += gone;
	cmp(went, >, 0,
	    "an idle reader does not keep its key: evicted %d times", went);
	ok(evict_in_revival("held", "shared.revived", 1, &gone),
	    "a revived reader");
	is(gone, 0, "keeps its key");
	for (stands = true, m = 1; stands; m++) {
		struct caller o = caller(lh, "gone", m, NULL, 0);
		struct caller e = caller(third, "gone", m, NULL, m);

		lone_idle(&o);
		token = o.l.token;
		sweep_go(&e.s, evict, &e);
		stands = sweep_stands(&e.s);
		t_post(&o.on);
		r = sweep_end(&o.s);
		still_right("eviction", m, sweep_end(&e.s), token, r, &o);
	}
	cmp(n, >, 3, "revival stopped %d times", n - 1);
	cmp(m, >, 15, "eviction stopped %d times", m - 2);
	t_close(third);
	t_close(other);
	t_close(lh);
	lh = many[0];
	other = many[1];
	third = many[2];
}

#define BEHIND 3

/* The head's release is stopped, the readers behind it leave, a writer
 * waits. */
static void
stopped_collapser(void)
{
	struct lh *by[BEHIND];
	const char *what = "head's release";
	bool stands = true;
	int n, early = 0;

	for (int i = 0; i < BEHIND; i++)
		by[i] = replay_open(table, 0);
	for (n = 1; stands; n++) {
		struct caller o = caller(lh, "head", n, NULL, n);
		struct caller w = caller(third, "head", n, NULL, 0);
		struct lh_lease d[BEHIND];
		bool in;

		for (int i = 0; i < BEHIND; i++)
			d[i] = t_read_hold(by[i], o.key);
		sweep_go(&o.s, read_release, &o);
		ok(t_await(&o.ready, 1, REPLAY_MS), "%s is read", o.key);
		sweep_go(&w.s, acquire, &w);
		ok(t_await_waiters(other, o.key, 1), "a writer waits");
		t_post(&o.on);
		stands = sweep_stands(&o.s);
		for (int i = BEHIND; i-- > 0;)
			if (lh_release(by[i], &d[i]) != 0)
				sweep_bad(what, n,
				    "the release of reader %d fails", i);
		/* the writer must not wait for a stopped reader that has ended
		 * (guarantee G5) */
		in = stands && state_of(&o.l) != ST_READ;
		early += in;
		if (in && !t_until(T3_MS, atomic_load(&w.s.ended.count) > 0))
			sweep_bad(what, n,
			    "the writer waits for the stopped reader");
		if (sweep_end(&o.s) != 0)
			sweep_bad(what, n, "the head's release fails");
		if (!t_until(T3_MS, atomic_load(&w.s.ended.count) > 0))
			sweep_bad(what, n, "the writer acquires it late");
		if (sweep_end(&w.s) != 0 || lh_verify(third, &w.l) != 0)
			sweep_bad(what, n, "the writer does not acquire it");
		(void)lh_release(third, &w.l);
	}
	cmp(n, >, 8, "%s: stopped %d times", what, n - 2);
	cmp(early, >, 3, "%d times after its lease had ended", early);
	is(t_findings(other), 0, "the table is sound");
	for (int i = 0; i < BEHIND; i++)
		t_close(by[i]);
}

static int
child(void *arg)
{
	struct caller *c = arg;

	if (lh_open(&c->lh, table, NULL) != 0)
		return -EINVAL;
	return read_release(c);
}

/* The same, but the head is killed there. */
static void
killed_collapser(const char *point)
{
	struct caller *o = t_shared(sizeof(*o));
	struct caller w = caller(third, "", 0, NULL, 0);
	struct lh_lease d[2];

	(void)snprintf(o->key, sizeof(o->key), "%s", point);
	memcpy(w.key, o->key, sizeof(w.key));
	d[0] = t_read_hold(lh, o->key);
	d[1] = t_read_hold(other, o->key);
	replay_hold("head", point);
	replay_fork("head", child, o);
	ok(t_await(&o->ready, 1, REPLAY_MS), "a process reads before two");
	sweep_go(&w.s, acquire, &w);
	ok(t_await_waiters(other, o->key, 1), "a writer waits");
	/* the second marks itself, and finds that it is not the head */
	is(lh_release(other, &d[1]), 0, "the second leaves");
	t_post(&o->on);
	replay_wait_held("head");
	is(lh_release(lh, &d[0]), 0, "the last leaves");
	replay_kill("head");
	ok(t_until(T2_MS, atomic_load(&w.s.ended.count) > 0),
	    "killed at %s: the writer does not wait", point);
	is(sweep_end(&w.s), 0, "the writer acquires the key");
	is(lh_release(third, &w.l), 0, "released");
	is(t_findings(other), 0, "the table is sound");
}

int
main(void)
{
	table = sweep_begin();
	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	third = replay_open(table, 0);
	killed_collapser("shared.revoked");
	killed_collapser("chain.leaving");
	killed_collapser("chain.marked");
	killed_collapser("lock.reader_out");
	dekker("a writer in its place", "place", "wait.parked");
	dekker("a writer on its way", "way", "queue.linked");
	revived_or_taken();
	revived_or_evicted();
	stopped_collapser();
	t_close(third);
	t_close(other);
	t_close(lh);
	return done();
}
