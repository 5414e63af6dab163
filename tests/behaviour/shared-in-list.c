/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3, lh_status() and lh_list(): all living readers of a key are
 * reported as its holders, each with its own id and deadline, and all waiters,
 * in the order in which they are due, with their modes.  Never a reader that
 * has released, died or expired.  While others work, each report is consistent:
 * one writer or readers only, nobody twice, ranks without a gap.
 *
 * Otherwise an operator would break the wrong lease.
 */
#include <errno.h>
#include <unistd.h>
#include "readers.h"

#define READERS		3
#define WAITERS		4
#define BUSY_MS		400

static struct lh *lh;

static struct lh_party *
holder(struct t_view *v, const struct t_actor *a)
{
	for (uint32_t i = 0; i < v->info.n_holders; i++)
		if (v->holders[i].id[0] == a->lease.id[0] &&
		    v->holders[i].id[1] == a->lease.id[1])
			return &v->holders[i];
	return NULL;
}

static void
everybody(const char *table)
{
	static const uint32_t mode[WAITERS] = { LH_EXCLUSIVE, LH_SHARED,
		LH_SHARED, LH_EXCLUSIVE };
	static const uint32_t priority[WAITERS] = { 0, 0, 5, 5 };
	static const int due[WAITERS] = { 3, 2, 0, 1 };
	struct t_actor *r[READERS], *gone[3], *w[WAITERS];
	int64_t now;
	struct t_view v;
	int tokens = 0;

	/* those who are no readers any more, between those who are */
	for (int i = 0; i < READERS; i++) {
		gone[i] = t_actor(table);
		is(t_do_read(gone[i], "k", i == 2 ? t_ms(30) : HOUR_MS, 0), 0,
		    "one comes");
		r[i] = t_actor(table);
		is(t_do_read(r[i], "k", (i + 1) * HOUR_MS, 0), 0, "and stays");
	}
	is(t_do_release(gone[0]), 0, "one releases");
	t_actor_kill(gone[1]);
	t_sleep_until(gone[2]->lease.expires_ns + T_NS_PER_MS);
	ok(t_await_holders(lh, "k", READERS, T2_MS), "three stay");
	/* the priority of who came first would keep it first */
	t_queue(lh, w[0] = t_actor(table), mode[0], priority[0], 1);
	t_queue(lh, w[1] = t_actor(table), mode[1], priority[1], 2);
	t_queue(lh, w[3] = t_actor(table), mode[3], priority[3], 3);
	t_queue(lh, w[2] = t_actor(table), mode[2], priority[2], 4);

	is(t_look(lh, "k", &v), 0, "status");
	now = lh_clock_ns(lh);
	is(v.calls, 1, "tells the key once");
	is(v.info.mode, LH_SHARED, "its mode");
	is(v.info.n_holders, READERS, "those who read");
	is(v.info.n_waiters, WAITERS, "those who wait");
	for (int i = 0; i < READERS; i++) {
		struct lh_party *p = holder(&v, r[i]);

		if (!ok(p != NULL, "reader %d is reported", i))
			continue;
		is(p->pid, r[i]->pid, "its process");
		is(p->tid, r[i]->pid, "its thread");
		is(p->uid, getuid(), "its user");
		is(p->mode, LH_SHARED, "its mode");
		is(p->rank, 0, "no rank");
		is(p->expires_ns, r[i]->lease.expires_ns, "its deadline");
		cmp(p->since_ns, <=, now, "since when");
		cmp(p->since_ns, >=, r[i]->began_ns - 20 * T_NS_PER_MS,
		    "since it came");
		tokens += v.info.token == r[i]->lease.token;
		is(lh_status(lh, "k", r[i]->lease.id, t_view_keep, &v), 0,
		    "asked for by its id it holds");
	}
	cmp(tokens, >=, 1, "the key's token is one of theirs");
	for (int i = 0; i < 3; i++) {
		ok(holder(&v, gone[i]) == NULL,
		    "a reader that has gone is not reported");
		is(lh_status(lh, "k", gone[i]->lease.id, t_view_keep, &v),
		    -ESTALE, "nor by its id");
	}
	for (int i = 0; i < WAITERS; i++) {
		struct lh_party *p = &v.waiters[i];

		is(p->pid, w[due[i]]->pid, "due as number %d", i + 1);
		is(p->rank, i + 1, "its rank");
		is(p->mode, mode[due[i]], "its mode");
		is(p->priority, priority[due[i]], "its priority");
		is(p->expires_ns, 0, "no deadline");
	}
	for (int i = 0; i < READERS; i++) {
		is(t_do_release(r[i]), 0, "a reader leaves");
		is(lh_status(lh, "k", r[i]->lease.id, t_view_keep, &v),
		    -ESTALE, "and is no longer reported");
		t_actor_end(r[i]);
	}
	for (int left = WAITERS; left > 0; left--) {
		bool had[WAITERS] = { false };
		int who;

		for (int i = 0; i < WAITERS; i++)
			had[i] = w[i] == NULL;
		who = t_who(w, WAITERS, had);
		if (who < 0)
			bail_out("nobody is granted");
		is(w[who]->result, 0, "those who waited have their turns");
		is(t_do_release(w[who]), 0, "one after the other");
		t_actor_end(w[who]);
		w[who] = NULL;
	}
	t_actor_end(gone[0]);
	t_actor_free(gone[1]);
	t_actor_end(gone[2]);
}

static _Atomic uint32_t *stop;

/* Reads, writes, converts, on four keys. */
static int
work(struct t_actor *a, void *arg)
{
	unsigned seed = (unsigned)a->pid;
	struct lh_lease l;
	char name[16];

	while (!*stop) {
		unsigned dice = (unsigned)rand_r(&seed) >> 3;
		struct lh_acquire_opts o = t_opts(HOUR_MS, T_HANG_MS);
		int r;

		(void)arg;
		o.mode = dice % 3 == 0 ? LH_EXCLUSIVE : LH_SHARED;
		o.priority = dice / 4 % 2;
		snprintf(name, sizeof(name), "g/%u", dice / 16 % 4);
		r = lh_acquire(a->lh, name, &o, &l);
		if (r != 0)
			return r;
		if (dice / 64 % 4 == 0) {
			r = lh_convert(a->lh, &l, 1 - o.mode);
			if (r != 0 && r != -EAGAIN)
				return r;
		}
		if (dice / 256 % 4 == 0)
			t_nap();
		r = lh_release(a->lh, &l);
		if (r != 0)
			return r;
	}
	return 0;
}

struct tally {
	int reports, held, shared, several, waited, odd;
};

static int
consistent(const struct lh_key_info *info, void *arg)
{
	struct tally *t = arg;
	uint32_t n = info->n_holders, w = info->n_waiters;

	t->reports++;
	t->held += n > 0;
	t->shared += n > 0 && info->mode == LH_SHARED;
	t->several += n > 1;
	t->waited += w > 0;
	t->odd += strncmp(info->key, "g/", 2) != 0;
	t->odd += n > 1 && info->mode != LH_SHARED;
	for (uint32_t i = 0; i < n; i++) {
		const struct lh_party *p = &info->holders[i];

		t->odd += p->mode != info->mode || p->rank != 0 ||
		    p->id[0] == 0 || p->expires_ns == 0;
		for (uint32_t j = 0; j < i; j++)
			t->odd += p->id[0] == info->holders[j].id[0] &&
			    p->id[1] == info->holders[j].id[1];
	}
	for (uint32_t i = 0; i < w; i++) {
		const struct lh_party *p = &info->waiters[i];

		t->odd += p->mode > LH_SHARED || p->rank != i + 1 ||
		    p->expires_ns != 0;
		t->odd += i > 0 && p->priority > p[-1].priority;
	}
	return 0;
}

static void
while_others_work(const char *table)
{
	struct t_actor *a[4];
	struct tally t = { .reports = 0 };
	int64_t end_ns;
	int lists = 0, wrong = 0;

	for (int i = 0; i < 4; i++) {
		a[i] = t_actor(table);
		t_begin(a[i], work, NULL);
	}
	end_ns = t_now_ns() + t_ms(BUSY_MS) * T_NS_PER_MS;
	while (t_now_ns() < end_ns) {
		lists++;
		wrong += lh_list(lh, "g/", consistent, &t) != 0;
	}
	*stop = 1;
	for (int i = 0; i < 4; i++) {
		is(t_result(a[i]), 0, "who works has no trouble");
		t_actor_end(a[i]);
	}
	is(wrong, 0, "%d lists", lists);
	is(t.odd, 0, "all consistent");
	diag("%d reports: %d held, %d shared, %d by several, %d waited for",
	    t.reports, t.held, t.shared, t.several, t.waited);
	cmp(t.shared, >, 0, "readers were among them");
	cmp(t.waited, >, 0, "and waiters");
}

int
main(void)
{
	const char *table = t_table();

	stop = t_shared(sizeof(*stop));
	lh = t_open(table);
	everybody(table);
	while_others_work(table);
	t_close(lh);
	return done();
}
