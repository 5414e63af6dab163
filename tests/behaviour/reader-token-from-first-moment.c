/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2, G3 and G11: from the moment in which a reader is granted the
 * key, through the queue or without it, others see its token or none.  Never a
 * number that is no token, and never the token of an earlier lease.  Tokens of
 * ended writers are verified while readers of several priorities queue: each
 * answer must be no.  Lists must report only larger tokens than those of all
 * writers before; a wrong token of a list is verified next, so that a short
 * moment is met again.
 *
 * Otherwise a server would accept the token of a writer that has lost the key.
 */
#include <errno.h>
#include "readers.h"

#define READERS	4
#define WRITES	5000
#define CROWD	40
#define RUN_MS	900

static _Atomic uint32_t *stop;
static struct lh *lh;

static int
read_on(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_read_opts(HOUR_MS, T_HANG_MS);
	struct lh_lease l;
	int r = 0;

	o.priority = (uint32_t)(uintptr_t)arg;
	while (r == 0 && !*stop) {
		r = lh_acquire(a->lh, "k", &o, &l);
		if (r == 0)
			r = lh_release(a->lh, &l);
	}
	return r;
}

static int
write_on(struct t_actor *a, void *arg)
{
	struct lh_lease l;
	int r = 0;

	(void)arg;
	while (r == 0 && !*stop) {
		r = t_acquire(a->lh, "k", HOUR_MS, T_HANG_MS, &l);
		t_nap();
		if (r == 0)
			r = lh_release(a->lh, &l);
	}
	return r;
}

static void *
one_waits(void *arg)
{
	return (void *)(intptr_t)write_on(arg, NULL);
}

static int
many_wait(struct t_actor *a, void *arg)
{
	unsigned long threads[CROWD];
	int wrong = 0;

	(void)arg;
	for (int i = 0; i < CROWD; i++)
		threads[i] = t_thread(one_waits, a);
	for (int i = 0; i < CROWD; i++)
		wrong += t_join(threads[i]) != NULL;
	return wrong;
}

int
main(void)
{
	static const uint32_t priority[READERS] = { 1, 1, 1, 1 };
	const char *table = t_table();
	struct t_actor *a[READERS + 1];
	uint64_t first = 0, last = 0, about;
	int64_t end_ns;
	int told = 0, wrong_told = 0, asked = 0, wrong_yes = 0;
	struct lh_lease l;
	struct t_view v;

	stop = t_shared(sizeof(*stop));
	for (int i = 0; i <= READERS; i++)
		a[i] = t_actor(table);
	lh = t_open(table);
	for (int i = 0; i < WRITES; i++) {
		if (t_acquire(lh, "k", HOUR_MS, 0, &l) != 0 ||
		    lh_release(lh, &l) != 0)
			bail_out("no writer: %s", lh_error_detail());
		first = i == 0 ? l.token : first;
		last = l.token;
	}
	about = first;
	for (int i = 0; i < READERS; i++)
		t_begin(a[i], read_on, (void *)(uintptr_t)priority[i]);
	t_begin(a[READERS], many_wait, NULL);
	end_ns = t_now_ns() + t_ms(RUN_MS) * T_NS_PER_MS;
	while (t_now_ns() < end_ns) {
		if (t_look(lh, "k", &v) != 0)
			bail_out("no status: %s", lh_error_detail());
		for (uint32_t i = 0; i < v.info.n_holders; i++) {
			uint64_t token = v.holders[i].token;

			told++;
			/* 0: it has none that anybody could know */
			if (token == 0 || token > last)
				continue;
			wrong_told++;
			about = token > first ? token : about;
		}
		for (uint64_t t = about; t < about + 4 && t <= last; t++) {
			asked++;
			wrong_yes += lh_verify_token(lh, "k", t) == 0;
		}
	}
	*stop = 1;
	for (int i = 0; i <= READERS; i++) {
		is(t_result(a[i]), 0, "who works has no trouble");
		t_actor_end(a[i]);
	}
	cmp(told, >, 0, "a holder was reported %d times", told);
	is(wrong_told, 0, "each with a token of its time");
	cmp(asked, >, 0, "%d times an old token was asked about", asked);
	is(wrong_yes, 0, "and refused");
	t_close(lh);
	return done();
}
