/* SPDX-License-Identifier: MIT */
/*
 * T2 and T5 with the daemon running.  A waiter is granted soon after the
 * holder's death (5 ms are promised, ten times that is asserted).  A due lease
 * that nobody waits for is freed soon after its deadline (10 ms).
 *
 * The daemon is the program itself ($REAPERD), in the foreground.  Whether the
 * key is free is read from its lock word: asking would free it.
 */
#include <stdlib.h>
#include "proc/attachment.h"
#include "reaperd.h"
#include "support/actor.h"

#define ROUNDS 20
#define REAPED_MS t_ms(50)	/* 10 x T2 */
#define FREED_MS t_ms(100)	/* 10 x T5 */

static int
by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* ROUNDS of them: the median is asserted, the worst is printed. */
static bool
judge(const char *what, int64_t *us, int64_t most_ms)
{
	qsort(us, ROUNDS, sizeof(*us), by_number);
	diag("%s: median %lld us, 18th of 20 %lld us, worst %lld us", what,
	    (long long)us[ROUNDS / 2], (long long)us[ROUNDS - 3],
	    (long long)us[ROUNDS - 1]);
	return us[ROUNDS - 3] <= most_ms * 1000;
}

static bool
deaths(void *arg)
{
	struct lh *lh = arg;
	struct t_actor *w = t_actor(lh_table_name(lh));
	int64_t us[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		struct t_actor *h = t_actor(lh_table_name(lh));
		int64_t then;

		is(t_do_acquire(h, "dead", 3600000, 0), 0, "held");
		t_begin_acquire(w, "dead", 3600000, T_HANG_MS);
		ok(t_await_waiters(lh, "dead", 1), "waited for");
		t_sleep_ms(60);	/* the daemon has looked */
		then = t_now_ns();
		t_actor_kill(h);
		is(t_result(w), 0, "granted");
		us[i] = (w->ended_ns - then) / 1000;
		is(w->lease.notes, LH_NOTE_PREVIOUS_DIED, "with a note");
		is(t_do_release(w), 0, "released");
		t_actor_free(h);
	}
	t_actor_end(w);
	return judge("from death to grant", us, REAPED_MS);
}

static bool
deadlines(void *arg)
{
	struct lh *lh = arg;
	struct t_actor *h = t_actor(lh_table_name(lh));
	int64_t us[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		struct shm_slot *s;

		is(t_do_acquire(h, "due", t_ms(100), 0), 0, "held");
		s = lhi_slot(&lh->v, (uint32_t)h->lease.key);
		ok(t_until(T_HANG_MS, word_mode(sh64_load(&s->word)) ==
		    WORD_FREE), "freed though nobody asks");
		us[i] = (t_now_ns() - h->lease.expires_ns) / 1000;
		cmp(us[i], >=, 0, "not before its deadline");
	}
	t_actor_end(h);
	return judge("from deadline to free", us, FREED_MS);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	pid_t pid = reaperd_start(table);

	ok(t_until(T_HANG_MS, sh32_load(&lh->v.hdr->reaper_pid) ==
	    (uint32_t)pid), "the daemon has looked");
	ok(t_tries(3, deaths, lh), "T2 with the daemon");
	ok(t_tries(3, deadlines, lh), "T5 with the daemon");
	reaperd_end(pid);
	t_close(lh);
	return done();
}
