/* SPDX-License-Identifier: MIT */
/*
 * Starts the participants of a round; kills and stops them; knows when.
 *
 * Every time is stamped on the side on which the checker is safe: before a
 * SIGKILL or SIGSTOP is sent, after the body was reaped, after the kernel said
 * that the process had stopped, after SIGCONT was sent.
 *
 * Blows are aimed: the striker looks into the logs for somebody who is waiting,
 * holding, or inside a short call; a blow at random mostly meets a sleeper.
 * Now and then one falls on a process that is stopped, and now and then two
 * fall at once.
 *
 * No stray processes: a child asks to be killed when this process is gone, and
 * a stopped one is killed too.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "round.h"
#include "tap.h"

#define MS	INT64_C(1000000)

enum doing { IDLE, WAITS, HOLDS, INSIDE, ANYTHING };

struct party {
	pid_t pid;		/* 0: to be born at `due` */
	uint32_t slot, life;
	bool stopped;
	uint32_t stop;		/* which */
	int64_t due_ns;		/* of birth, or of SIGCONT */
};

struct striker {
	struct fault_injector *h;
	struct round *r;
	struct party *p;
	unsigned n;
	uint64_t dice;
};

int
fault_injector_new(struct fault_injector *h)
{
	memset(h, 0, sizeof(*h));
	h->lives = calloc(MAX_LIVES, sizeof(*h->lives));
	h->stops = calloc(MAX_STOPS, sizeof(*h->stops));
	return h->lives && h->stops ? 0 : -ENOMEM;
}

void
fault_injector_free(struct fault_injector *h)
{
	free(h->lives);
	free(h->stops);
}

static void
child(struct round *r, uint32_t slot, uint32_t life, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	_exit(participate(r, NULL, slot, life) ? 3 : 0);
}

static void
bear(struct striker *s, struct party *p)
{
	pid_t parent = getpid();

	if (s->h->n_lives == MAX_LIVES)
		return;
	p->life = s->h->n_lives++;
	s->h->lives[p->life] = (struct life){ 0, NEVER, NEVER };
	p->stopped = false;
	p->pid = fork();
	if (p->pid == 0)
		child(s->r, p->slot, p->life, parent);
	if (p->pid < 0)
		bail_out("fork: %s", strerror(errno));
}

static void
buried(struct striker *s, struct party *p)
{
	s->h->lives[p->life].gone_ns = now_ns();
	if (p->stopped)
		s->h->stops[p->stop].after_ns = NEVER;
	p->stopped = false;
	p->pid = 0;
}

/* It ended by itself: its log is full, or something is wrong. */
static void
ended(struct striker *s, struct party *p, int status, bool told)
{
	buried(s, p);
	p->due_ns = NEVER;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		diag_failed("life %u ended with status %#x", p->life, status);
		s->h->crashed++;
	} else if (!told) {
		s->h->full++;
	}
}

/* Guesses what it is in the middle of: it goes on meanwhile. */
static enum doing
doing(const struct round *r, const struct party *p)
{
	const struct log *log = &r->j->logs[p->slot];
	uint32_t n = atomic_load_explicit(&log->n, memory_order_acquire);
	const struct op *op;
	int64_t ret;

	if (!n)
		return IDLE;
	op = &r->j->ops[log->base + n - 1];
	ret = atomic_load_explicit(&op->ret_ns, memory_order_acquire);
	if (!ret)
		return op->kind == OP_ACQUIRE ? WAITS : INSIDE;
	if (op->kind == OP_RELEASE || op->kind == OP_AGAIN ||
	    op->kind == OP_EVICT || op->kind == OP_OLD ||
	    (op->result && op->kind != OP_CONVERT))
		return IDLE;
	return HOLDS;
}

/*
 * Somebody who is doing that, if one is found within a moment; else anybody.
 * Those who are stopped are as good as the others.
 */
static struct party *
find_victim(struct striker *s, enum doing what)
{
	unsigned first = (unsigned)(dice(&s->dice) % s->n), i;
	int64_t until = now_ns() + 2 * MS;

	while (what != ANYTHING && now_ns() < until)
		for (i = 0; i < s->n; i++) {
			struct party *p = &s->p[(first + i) % s->n];

			if (p->pid && doing(s->r, p) == what)
				return p;
		}
	return &s->p[first];
}

static void
strike_dead(struct striker *s, struct party *p)
{
	struct life *l = &s->h->lives[p->life];
	enum doing what = doing(s->r, p);
	int status;

	s->h->kills++;
	s->h->kills_holding += what == HOLDS;
	s->h->kills_waiting += what == WAITS;
	s->h->kills_inside += what == INSIDE;
	s->h->kills_stopped += p->stopped;
	l->kill_ns = now_ns();
	kill(p->pid, SIGKILL);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	buried(s, p);
	p->due_ns = now_ns();
	if (percent(&s->dice, 30))
		p->due_ns += between(&s->dice, 0, 20 * MS);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		ended(s, p, status, false);
}

static void
stop(struct striker *s, struct party *p)
{
	struct stop *st;
	int status;

	if (s->h->n_stops == MAX_STOPS)
		return;
	st = &s->h->stops[s->h->n_stops];
	*st = (struct stop){ p->life, now_ns(), 0, NEVER };
	kill(p->pid, SIGSTOP);
	while (waitpid(p->pid, &status, WUNTRACED) < 0 && errno == EINTR)
		;
	if (!WIFSTOPPED(status)) {
		ended(s, p, status, false);
		return;
	}
	st->stopped_ns = now_ns();
	p->stop = s->h->n_stops++;
	p->stopped = true;
	p->due_ns = now_ns() + (percent(&s->dice, 50) ?
	    between(&s->dice, 1 * MS, 20 * MS) :
	    between(&s->dice, 20 * MS, 150 * MS));
}

static void
resume(struct striker *s, struct party *p)
{
	kill(p->pid, SIGCONT);
	s->h->stops[p->stop].after_ns = now_ns();
	p->stopped = false;
}

static void
blow(struct striker *s)
{
	static const enum doing at[] = { ANYTHING, WAITS, WAITS, HOLDS, HOLDS,
	    INSIDE };
	struct party *p = find_victim(s, at[dice(&s->dice) % 6]);
	unsigned i, down = 0;

	if (p->pid <= 0)
		return;
	for (i = 0; i < s->n; i++)
		down += s->p[i].stopped || !s->p[i].pid;
	if (p->stopped) {
		if (percent(&s->dice, 40))
			strike_dead(s, p);
	} else if (percent(&s->dice, 55)) {
		strike_dead(s, p);
		if (percent(&s->dice, 15))	/* and its neighbour */
			blow(s);
	} else if (down < (s->n + 1) / 2) {
		stop(s, p);
	}
}

/* Births, resumptions and deaths that are due. */
static void
attend(struct striker *s, bool told)
{
	unsigned i;
	int status;

	for (i = 0; i < s->n; i++) {
		struct party *p = &s->p[i];

		if (p->pid && waitpid(p->pid, &status, WNOHANG) == p->pid)
			ended(s, p, status, told);
		else if (p->stopped && (told || now_ns() >= p->due_ns))
			resume(s, p);
		else if (!p->pid && !told && now_ns() >= p->due_ns)
			bear(s, p);
	}
}

/* Told to quit, everybody comes home: nobody may wait for ever. */
static void
come_home(struct striker *s)
{
	int64_t until = now_ns() + (int64_t)(10e9 * s->r->slow);
	unsigned i, left = s->n;

	while (left && now_ns() < until) {
		attend(s, true);
		for (i = left = 0; i < s->n; i++)
			left += s->p[i].pid != 0;
		sleep_until_ns(now_ns() + MS);
	}
	for (i = 0; i < s->n; i++) {
		if (!s->p[i].pid)
			continue;
		diag_failed("life %u, pid %d, did not come home: doing %d",
		    s->p[i].life, (int)s->p[i].pid, doing(s->r, &s->p[i]));
		s->h->hung++;
		s->h->lives[s->p[i].life].kill_ns = now_ns();
		kill(s->p[i].pid, SIGKILL);
		waitpid(s->p[i].pid, NULL, 0);
		buried(s, &s->p[i]);
	}
}

/* The observers (observers.c), in processes of their own. */
static pid_t
bystander(struct round *r, bool counts)
{
	pid_t parent = getpid(), pid = fork();
	struct lh *lh;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (!counts) {
		metronome_run(r);
		_exit(0);
	}
	if (lh_open(&lh, r->table, &r->open))
		_exit(2);
	observers_run(r, lh);
	_exit(lh_close(lh) ? 3 : 0);
}

/* However it ended; killed if it does not. */
static void
dismiss(struct fault_injector *h, const struct round *r, pid_t pid)
{
	int64_t until = now_ns() + (int64_t)(10e9 * r->slow);
	int status = 0;
	pid_t got;

	if (pid < 0) {
		h->crashed++;
		return;
	}
	while ((got = waitpid(pid, &status, WNOHANG)) == 0 && now_ns() < until)
		sleep_until_ns(now_ns() + MS);
	if (got == 0) {
		diag_failed("a bystander, pid %d, does not end", (int)pid);
		h->hung++;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	} else if (got < 0 || status) {
		diag_failed("a bystander ended with status %#x", status);
		h->crashed++;
	}
}

void
fault_injector_processes(struct fault_injector *h, struct round *r,
    double seconds)
{
	unsigned procs = r->j->n_logs, i;
	struct party party[MAX_WORKERS + 1] = { 0 };
	struct striker s = { h, r, party, procs, r->seed };
	int64_t until = now_ns() + (int64_t)(seconds * 1e9), next = 0;
	pid_t by[2] = { bystander(r, false), bystander(r, true) };

	for (i = 0; i < procs; i++)
		party[i].slot = i;
	while (now_ns() < until) {
		attend(&s, false);
		if (now_ns() >= next) {
			if (next)
				blow(&s);
			next = now_ns() + between(&s.dice, 5 * MS, 50 * MS);
		}
		sleep_until_ns(now_ns() + MS);
	}
	atomic_store(&r->j->quit, 1);
	come_home(&s);
	dismiss(h, r, by[0]);
	dismiss(h, r, by[1]);
	for (i = 0; i < h->n_lives; i++)
		h->lives[i].session = atomic_load(&r->session[i]);
}
