/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G6, G7 and G11, crash row S3: a reader that is always the only
 * one stays in the chain, idle, and its pair swaps only its own claim's state.
 *
 * Its acquire and its release are stopped before each of their accesses to
 * shared memory while a writer comes.  Exactly one of the two may hold the key,
 * and the writer must get it after a release.  A writer that has queued, and
 * has not looked at the chain yet, keeps the reader out.  A lease that was
 * extended or converted by a copy is released all the same.  Beside another
 * reader it stays as well.
 *
 * Otherwise a writer would hold the key beside a revived reader, wait for one
 * that holds nothing, or be overtaken for ever.
 */
#include "shm/readers.h"
#include "sweep.h"

#define PAIRS 100		/* alone, until it stays */

static const char *table;
static struct lh *lh, *other;

struct subject {
	struct sweep s;
	struct lh_lease l;
	char key[24];
	int n;
	bool releases;
	int64_t ended_ns;
};

static struct lh_acquire_opts
reader_opts(void)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

	o.mode = LH_SHARED;
	o.max_wait_ms = 0;
	return o;
}

static unsigned
state_of(const struct lh_lease *l)
{
	return state_st(sh64_load(&lh->v.claims[lid_claim(l->id[1])].state));
}

/* Reads by the handle, alone, until the claim stays in the chain. */
static void
stay(struct lh_key *k, struct lh_lease *l)
{
	struct lh_acquire_opts o = reader_opts();

	for (int i = 0; i < PAIRS; i++)
		if (lh_key_acquire(k, &o, l) != 0 || lh_release(lh, l) != 0)
			bail_out("warming up: %s", lh_error_detail());
	if (state_of(l) != ST_IDLE)
		bail_out("a lone reader does not stay");
}

static int
act(void *arg)
{
	struct lh_acquire_opts o = reader_opts();
	struct subject *x = arg;
	struct lh_key *k;
	int error;

	if (lh_key_open(lh, x->key, 0, &k) != 0)
		bail_out("no key: %s", lh_error_detail());
	stay(k, &x->l);
	if (x->releases && lh_key_acquire(k, &o, &x->l) != 0)
		bail_out("not read: %s", lh_error_detail());
	sweep_now(&x->s, NULL, x->n);
	error = x->releases ? lh_release(lh, &x->l) :
	    lh_key_acquire(k, &o, &x->l);
	sweep_now(&x->s, NULL, 0);
	return error;
}

static bool
play_acquire(int n, int *both)
{
	struct subject x = { .n = n };
	struct lh_lease theirs;
	bool stands;
	int r, w;

	(void)snprintf(x.key, sizeof(x.key), "acquire%d", n);
	sweep_go(&x.s, act, &x);
	stands = sweep_stands(&x.s);
	w = replay_try(other, x.key, &theirs);
	r = sweep_end(&x.s);
	both[0] += r == 0;
	both[1] += w == 0;
	if ((r == 0) + (w == 0) != 1)
		sweep_bad("acquire", n, "reader %d, writer %d", r, w);
	if (r == 0 && (lh_verify(lh, &x.l) != 0 || lh_release(lh, &x.l) != 0))
		sweep_bad("acquire", n, "the reader's lease is lost");
	if (w == 0 && (lh_verify(other, &theirs) != 0 ||
	    lh_release(other, &theirs) != 0))
		sweep_bad("acquire", n, "the writer's lease is lost");
	return stands;
}

static int
write_key(void *arg)
{
	struct subject *x = arg;
	struct lh_acquire_opts o = t_opts(HOUR_MS, 3000);
	int error = lh_acquire(other, x->key, &o, &x->l);

	x->ended_ns = t_now_ns();
	return error;
}

static bool
play_release(int n)
{
	struct subject x = { .n = n, .releases = true }, w = { .n = 0 };
	int64_t from;
	bool stands;

	(void)snprintf(x.key, sizeof(x.key), "release%d", n);
	memcpy(w.key, x.key, sizeof(w.key));
	sweep_go(&x.s, act, &x);
	stands = sweep_stands(&x.s);
	sweep_go(&w.s, write_key, &w);
	t_sleep_ms(3);
	from = t_now_ns();
	if (sweep_end(&x.s) != 0)
		sweep_bad("release", n, "it fails");
	if (sweep_end(&w.s) != 0)
		sweep_bad("release", n, "the writer does not get it");
	else if (w.ended_ns - from > 200 * T_NS_PER_MS)
		sweep_bad("release", n, "the writer gets it late");
	if (lh_verify(lh, &x.l) == 0)
		sweep_bad("release", n, "the reader has it still");
	(void)lh_release(other, &w.l);
	return stands;
}

/* A writer is in the queue, and has not looked at the chain. */
static void
queued_writer(void)
{
	struct replay_call w = REPLAY_CALL(other, "queued", HOUR_MS, 3000);
	struct lh_acquire_opts o = reader_opts();
	struct lh_lease l, again;
	struct lh_key *k;

	is(lh_key_open(lh, "queued", 0, &k), 0, "a key");
	stay(k, &l);
	/* the writer finds it read, and queues */
	is(lh_key_acquire(k, &o, &l), 0, "it is read");
	replay_stop("W", "queue.linked", replay_acquire, &w);
	is(lh_release(lh, &l), 0, "the reader releases it");
	is(lh_key_acquire(k, &o, &again), -EAGAIN,
	    "and does not get it again before the writer");
	is(replay_finish("W"), 0, "the writer gets it");
	is(lh_release(other, &w.lease), 0, "and releases it");
	is(lh_key_close(k), 0, "closed");
}

/* In another thread: this one's last attachment must stay `lh`, or it would not
 * take the straight path. */
static int
read_there(void *lease)
{
	struct lh_acquire_opts o = reader_opts();

	return lh_acquire(other, "beside", &o, lease);
}

static int
release_there(void *lease)
{
	return lh_release(other, lease);
}

/* Revived over a writer that queues while another reader keeps it waiting. */
static void
beside_a_reader(void)
{
	struct replay_call w = REPLAY_CALL(other, "beside", HOUR_MS, 3000);
	struct lh_acquire_opts o = reader_opts();
	struct lh_lease l, there, again;
	struct lh_key *k;

	t_sleep_ms(50);
	is(lh_key_open(lh, "beside", 0, &k), 0, "a key");
	stay(k, &l);
	replay_go("D", read_there, &there);
	is(replay_result("D"), 0, "another reader");
	replay_stop("W", "queue.linked", replay_acquire, &w);
	is(state_of(&l), ST_IDLE, "the lone reader is idle yet");
	is(lh_key_acquire(k, &o, &again), -EAGAIN,
	    "it is not revived over a writer that has queued");
	replay_go("D", release_there, &there);
	is(replay_result("D"), 0, "the other reader leaves");
	is(replay_finish("W"), 0, "the writer gets it");
	is(lh_release(other, &w.lease), 0, "and releases it");
	is(lh_key_close(k), 0, "closed");
}

/* Extended, and converted, by a copy. */
static void
moved_by_a_copy(void)
{
	struct lh_acquire_opts o = reader_opts();
	struct lh_lease l, copy, theirs;
	struct lh_key *k;

	t_sleep_ms(50);
	is(lh_key_open(lh, "copy", 0, &k), 0, "a key");
	stay(k, &l);
	is(lh_key_acquire(k, &o, &l), 0, "read");
	copy = l;
	is(lh_extend(lh, &copy, HOUR_MS), 0, "extended by a copy");
	is(lh_release(lh, &l), 0, "released");
	is(lh_verify(lh, &copy), -ESTALE, "it holds nothing any more");
	is(replay_try(other, "copy", &theirs), 0, "a writer gets it");
	is(lh_release(other, &theirs), 0, "and releases it");
	t_sleep_ms(50);
	stay(k, &l);
	is(lh_key_acquire(k, &o, &l), 0, "read");
	copy = l;
	is(lh_convert(lh, &copy, LH_EXCLUSIVE), 0, "converted by a copy");
	is(lh_release(lh, &l), -ESTALE, "the reader's lease is no more");
	is(lh_verify(lh, &copy), 0, "the writer's is");
	is(replay_try(other, "copy", &theirs), -EAGAIN, "and alone");
	is(lh_release(lh, &copy), 0, "until it is released");
	is(lh_key_close(k), 0, "closed");
}

/* The number of its claim's uses wraps round. */
static void
number_wraps(void)
{
	struct lh_acquire_opts o = reader_opts();
	struct lh_lease first, l;
	struct lh_key *k;

	t_sleep_ms(50);
	is(lh_key_open(lh, "wraps", 0, &k), 0, "a key");
	stay(k, &first);
	for (uint64_t i = 0; i <= MASK(SEQ_BITS) + PAIRS; i++)
		if (lh_key_acquire(k, &o, &l) != 0 || lh_release(lh, &l) != 0)
			bail_out("pair %lld: %s", (long long)i,
			    lh_error_detail());
	is(state_of(&l), ST_IDLE, "it stays in its chain yet");
	is(lid_claim(l.id[1]), lid_claim(first.id[1]),
	    "it is the same claim after all of its numbers");
	ok(lid_epoch(l.id[1]) != lid_epoch(first.id[1]), "in another epoch");
	is(lh_key_close(k), 0, "closed");
}

static int
read_often(void *lease)
{
	struct lh_acquire_opts o = reader_opts();

	return lh_acquire(other, "often", &o, lease);
}

/* Beside another reader it stays, too, however often it comes back: the claim
 * that the straight path knows leaves the chain before it may not be revived
 * any more, and is pushed again. */
static void
often_beside_a_reader(void)
{
	struct lh *mine = replay_open(table, 0);
	struct lh_acquire_opts o = reader_opts();
	struct lh_lease there, first, l;
	struct lh_key *k;

	replay_go("D", read_often, &there);
	is(replay_result("D"), 0, "another reader stays");
	is(lh_key_open(mine, "often", 0, &k), 0, "a key");
	is(lh_key_acquire(k, &o, &first), 0, "it is read");
	is(lh_release(mine, &first), 0, "and released");
	is(lid_claim(first.id[1]) % SHM_GROUP, READER_CLAIM,
	    "by the claim that the straight path knows");
	for (uint64_t i = 0; i <= REVIVED_MAX + PAIRS; i++)
		if (lh_key_acquire(k, &o, &l) != 0 || lh_release(mine, &l) != 0)
			bail_out("pair %lld: %s", (long long)i,
			    lh_error_detail());
	is(lid_claim(l.id[1]), lid_claim(first.id[1]),
	    "it is the same claim after more revivals than one push has");
	cmp(l.token, >, first.token, "which has been pushed again");
	is(lh_release(other, &there), 0, "the other reader leaves");
	is(lh_key_close(k), 0, "closed");
	t_close(mine);
}

int
main(void)
{
	int n = 1, m = 1, both[2] = { 0, 0 };

	table = sweep_begin();
	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	while (play_acquire(n, both))
		n++;
	cmp(n, >, 2, "the acquire is stopped %d times", n - 1);
	ok(both[0] > 0 && both[1] > 0, "the reader gets it %d times, the "
	    "writer %d", both[0], both[1]);
	while (play_release(m))
		m++;
	cmp(m, >, 2, "the release is stopped %d times", m - 1);
	queued_writer();
	beside_a_reader();
	moved_by_a_copy();
	number_wraps();
	often_beside_a_reader();
	t_close(other);
	t_close(lh);
	return done();
}
