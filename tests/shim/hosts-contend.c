/* SPDX-License-Identifier: MIT */
/* test: slow 24 */
/*
 * Guarantees G1 and G2 over hosts: processes of three hosts, each with its
 * table and its shim, acquire one cluster key with lh_acquire() while hosts are
 * cut off and shims are killed and stopped.  A gate that all of them share
 * finds no two holders at once, and only growing tokens.
 *
 * Otherwise two hosts would hold one key.
 */
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>
#include "support/hosts.h"

#define HOSTS 3
#define WORKERS 6		/* two a host */
#define GRANTS 3000

static const char key[] = "cluster:contended";

static struct shared {
	char table[HOSTS][80];
	struct t_event go;
	_Atomic bool stop;
	_Atomic uint32_t grants, moves, away, lost;
	_Atomic uint32_t odd_tokens, together, errors;
	_Atomic int error;
	_Atomic uint32_t inside;	/* whose visit; 0: nobody's */
	_Atomic uint32_t met;		/* one that somebody came in beside */
	_Atomic int last;		/* who was, before */
	_Atomic uint64_t token;
} *sh;

struct worker {
	int number, host;
};

/* Inside: with a lease that is good when we leave.  A process that finds
 * another one there marks it: two were inside if the other's lease is good
 * after that.  (A stopped process's lease may be over, which is no fault.) */
static void
enter(struct lh *lh, const struct lh_lease *l, int me)
{
	static uint32_t visits;
	uint32_t visit = ++visits * (WORKERS + 1) + (uint32_t)me, before = 0;
	bool alone = atomic_compare_exchange_strong(&sh->inside, &before,
	    visit), met;
	uint64_t token = atomic_load(&sh->token);
	int host = me % HOSTS + 1;

	if (!alone)
		atomic_store(&sh->met, before);

	while (token < l->token &&
	    !atomic_compare_exchange_weak(&sh->token, &token, l->token))
		;
	if (sh->grants % 16 == 0)
		t_sleep_ms(1);
	/* past its end nothing was promised but the token's order */
	met = atomic_load(&sh->met) == visit;
	if (lh_verify(lh, l) == 0) {
		if (met)
			sh->together++;
		if (token >= l->token)
			sh->odd_tokens++;
	} else {
		sh->lost++;
	}
	if (alone)
		atomic_store(&sh->inside, 0);
	if (atomic_exchange(&sh->last, host) != host)
		sh->moves++;
	sh->grants++;
}

static int
work(void *arg)
{
	const struct worker *w = arg;
	struct lh_acquire_opts o = t_opts(t_ms(20000), t_ms(2000));
	struct lh_lease l;
	struct lh *lh;
	int error;

	if (!t_await(&sh->go, 1, T_HANG_MS))
		return 1;
	lh = t_open(sh->table[w->host]);
	while (!sh->stop) {
		error = lh_acquire(lh, key, &o, &l);
		if (error == 0) {
			enter(lh, &l, w->number);
			(void)lh_release(lh, &l);
		} else if (error == -EHOSTUNREACH) {
			sh->away++;
			t_sleep_ms(5);
		} else if (error != -ETIMEDOUT) {
			sh->errors++;
			sh->error = error;
			diag("worker: %s", lh_error_detail());
		}
	}
	lh_close(lh);
	return 0;
}

static void
until(uint32_t grants)
{
	uint32_t want = sh->grants + grants;

	ok(t_until(4 * T_HANG_MS, sh->grants >= want), "%u grants more",
	    grants);
}

int
main(void)
{
	struct worker w[WORKERS];
	pid_t pid[WORKERS];
	int64_t began;

	sh = t_shared(sizeof(*sh));
	for (int i = 0; i < WORKERS; i++) {
		w[i] = (struct worker){ i + 1, (i + 1) % HOSTS };
		pid[i] = t_fork(work, &w[i]);
	}
	for (int i = 0; i < HOSTS; i++)
		hosts[i].opts.ttl_ms = (unsigned)t_ms(HOSTS_SHORT_MS);
	hosts_begin(HOSTS);
	for (int i = 0; i < HOSTS; i++)
		snprintf(sh->table[i], sizeof(sh->table[i]), "%s",
		    hosts[i].table);
	began = t_now_ns();
	t_post(&sh->go);
	until(GRANTS);
	diag("%u grants, %u of them on another host, in %lld ms",
	    sh->grants, sh->moves, (long long)t_since_ms(began));
	host_cut(&hosts[0], true);
	until(100);
	t_sleep_ms(HOSTS_SHORT_MS + 500);
	host_cut(&hosts[0], false);
	until(100);
	host_down(&hosts[1]);
	until(100);
	is(host_up(&hosts[1]), 0, "its shim is started again");
	until(200);
	hosts_stop(HOSTS_SHORT_MS + 500);
	until(200);
	sh->stop = true;
	for (int i = 0; i < WORKERS; i++)
		is(t_reap(pid[i], T_HANG_MS), 0, "worker %d", i + 1);
	diag("%u grants, %u moves; %u times away, %u leases lost", sh->grants,
	    sh->moves, sh->away, sh->lost);
	is(sh->together, 0, "no two were inside at once");
	is(sh->odd_tokens, 0, "tokens rose from grant to grant");
	is(sh->errors, 0, "no other failures (%d)", sh->error);
	cmp(sh->moves, >, 10, "the key went from host to host");
	hosts_end();
	return done();
}
