/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7: a writer and a reader of high priority and a writer of low
 * priority wait.  They are granted the key in exactly that order, whichever
 * came first, except that the reader goes before the writer of its own priority
 * if it came before it.  Behind a writer and behind a reader; one at a time,
 * with tokens in order.
 *
 * Otherwise priorities would be ignored between readers and writers.
 */
#include <errno.h>
#include "readers.h"

enum who { W_HIGH, R_HIGH, W_LOW, N };

struct shape {
	const char *name;
	enum who arrive[N], due[N];
	uint32_t held;		/* enum lh_mode of the present holder */
};

static struct lh *lh;
static struct t_actor *w[N];

static bool
exactly(void *arg)
{
	static const uint32_t mode[N] = { LH_EXCLUSIVE, LH_SHARED,
		LH_EXCLUSIVE };
	static const uint32_t priority[N] = { 9, 9, 3 };
	bool had[N] = { false }, in_order = true;
	struct shape *s = arg;
	struct lh_lease l = s->held == LH_SHARED ? t_read_hold(lh, "k") :
	    t_hold(lh, "k");
	uint64_t last = l.token;
	struct t_view v;

	for (int i = 0; i < N; i++)
		t_queue(lh, w[s->arrive[i]], mode[s->arrive[i]],
		    priority[s->arrive[i]], i + 1);
	is(t_look(lh, "k", &v), 0, "status");
	for (int i = 0; i < N; i++) {
		is(v.waiters[i].pid, w[s->due[i]]->pid, "%s: number %d",
		    s->name, i + 1);
		is(v.waiters[i].mode, mode[s->due[i]], "its mode");
		is(v.waiters[i].rank, i + 1, "its rank");
	}
	is(lh_release(lh, &l), 0, "released");
	for (int i = 0; i < N; i++) {
		int who = t_who(w, N, had);

		if (who < 0)
			bail_out("nobody is granted");
		had[who] = true;
		is(w[who]->result, 0, "granted");
		is(t_waiters(lh, "k"), N - 1 - i, "the others wait");
		is(t_holders(lh, "k"), 1, "it has it alone");
		cmp(w[who]->lease.token, >, last, "with a larger token");
		last = w[who]->lease.token;
		if (who != (int)s->due[i]) {
			diag("turn %d went to number %d", i, who);
			in_order = false;
		}
		is(t_do_release(w[who]), 0, "and releases");
	}
	return in_order;
}

int
main(void)
{
	static struct shape shapes[] = {
		{ "as they are due", { W_HIGH, R_HIGH, W_LOW },
		    { W_HIGH, R_HIGH, W_LOW }, LH_EXCLUSIVE },
		{ "the low one first", { W_LOW, W_HIGH, R_HIGH },
		    { W_HIGH, R_HIGH, W_LOW }, LH_EXCLUSIVE },
		{ "the low one between", { W_HIGH, W_LOW, R_HIGH },
		    { W_HIGH, R_HIGH, W_LOW }, LH_EXCLUSIVE },
		{ "the reader first", { R_HIGH, W_LOW, W_HIGH },
		    { R_HIGH, W_HIGH, W_LOW }, LH_EXCLUSIVE },
		{ "behind a reader", { W_HIGH, R_HIGH, W_LOW },
		    { W_HIGH, R_HIGH, W_LOW }, LH_SHARED },
		{ "behind a reader, the low one first",
		    { W_LOW, W_HIGH, R_HIGH }, { W_HIGH, R_HIGH, W_LOW },
		    LH_SHARED },
	};
	const char *table = t_table();

	for (int i = 0; i < N; i++)
		w[i] = t_actor(table);
	lh = t_open(table);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		ok(t_tries(3, exactly, &shapes[i]), "%s: exactly so",
		    shapes[i].name);
	for (int i = 0; i < N; i++)
		t_actor_end(w[i]);
	t_close(lh);
	return done();
}
