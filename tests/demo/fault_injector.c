/* SPDX-License-Identifier: MIT */
/*
 * Starts the workers, and is cruel to those who hold a key.
 *
 * A victim is somebody who, by its journal, is at work between reading its file
 * and writing it.  Journals go on while we look, so after the blow it is looked
 * at again: only a lease that was still held then is printed as held.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker.h"
#include "report_line.h"

#define MS	INT64_C(1000000)

static int64_t
clock_of(const struct demo *d)
{
	return now_ns() - d->began_ns;
}

static void
start(struct demo *d, uint32_t slot)
{
	struct worker *w = &d->w[slot];

	if (d->n_lives == MAX_LIVES)
		return;
	w->life = d->n_lives++;
	w->stopped = w->in_time = false;
	w->held = NULL;
	d->lives[w->life] = (struct life){ 0, NEVER, NEVER };
	w->pid = fork();
	if (w->pid == 0)
		crew_main(d, slot, w->life);
	if (w->pid < 0) {
		fprintf(stderr, "demo: fork: %s\n", strerror(errno));
		exit(71);
	}
}

void
director_start(struct demo *d)
{
	uint32_t i;

	d->director = getpid();
	for (i = 0; i < N_WORKERS; i++)
		start(d, i);
}

/* The acquire of what that worker holds, or NULL; with `at_work`, only if it is
 * between reading and writing, and has some time left. */
static const struct op *
holds(const struct demo *d, uint32_t slot, bool at_work)
{
	const struct log *log = &d->j->logs[slot];
	uint32_t n = atomic_load_explicit(&log->n, memory_order_acquire);
	const struct op *last, *held;
	int64_t ret;

	if (!n)
		return NULL;
	last = &d->j->ops[log->base + n - 1];
	ret = atomic_load_explicit(&last->ret_ns, memory_order_acquire);
	if (last->life != d->w[slot].life)
		return NULL;
	if (last->kind == OP_ACQUIRE)
		return !at_work && ret && !last->result ? last : NULL;
	if (last->kind != OP_WRITE)
		return NULL;
	held = &d->j->ops[last->of];
	if (at_work && (!ret || last->result || last->how != GATE_READ ||
	    held->deadline_ns - now_ns() < TTL_MS * MS / 2))
		return NULL;
	return held;
}

/* Somebody at work on that file; N_WORKERS if there is none for a while. */
static uint32_t
victim(struct demo *d, uint32_t file)
{
	int64_t until = now_ns() + 300 * MS;
	uint32_t i;

	while (now_ns() < until) {
		for (i = 0; i < N_WORKERS; i++) {
			const struct op *held = holds(d, i, true);

			if (held && held->key == file && !d->w[i].stopped)
				return i;
		}
		story_go_on(d);
		sleep_until_ns(now_ns() + MS / 5);
	}
	return N_WORKERS;
}

/* However it died. */
static void
bury(struct demo *d, uint32_t slot, int status)
{
	struct worker *w = &d->w[slot];

	d->lives[w->life].gone_ns = now_ns();
	w->pid = 0;
	w->stopped = false;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		d->crashed += !WIFEXITED(status) || WEXITSTATUS(status);
}

static int
reap(pid_t pid, int flags)
{
	int status = 0;

	while (waitpid(pid, &status, flags) < 0 && errno == EINTR)
		;
	return status;
}

void
director_kill(struct demo *d, uint32_t file)
{
	uint32_t slot = victim(d, file);
	const struct op *held;
	int64_t at;
	pid_t pid;

	if (slot == N_WORKERS)
		return;
	pid = d->w[slot].pid;
	at = d->lives[d->w[slot].life].kill_ns = now_ns();
	kill(pid, SIGKILL);
	bury(d, slot, reap(pid, 0));
	held = holds(d, slot, false);
	start(d, slot);
	if (!held) {
		report_event(at - d->began_ns, BAD, "KILLED", "worker %u (pid "
		    "%d, replaced by %d), who had just given \"%s\" back",
		    slot + 1, (int)pid, (int)d->w[slot].pid, file_names[file]);
		return;
	}
	d->kills++;
	d->watch[file] = (struct watch){ true, true, held->token, at };
	report_event(at - d->began_ns, BAD, "KILLED", "worker %u (pid %d, "
	    "replaced by %d), who held \"%s\" with token %s", slot + 1,
	    (int)pid, (int)d->w[slot].pid, file_names[file],
	    report_token(held->token));
}

void
director_stop(struct demo *d, uint32_t file, bool in_time)
{
	uint32_t slot = victim(d, file);
	struct worker *w = &d->w[slot % N_WORKERS];
	struct stop *st = &d->stops[d->n_stops];
	int status;

	if (slot == N_WORKERS || d->n_stops == MAX_STOPS)
		return;
	*st = (struct stop){ w->life, now_ns(), 0, NEVER };
	kill(w->pid, SIGSTOP);
	status = reap(w->pid, WUNTRACED);
	if (!WIFSTOPPED(status)) {
		bury(d, slot, status);
		start(d, slot);
		return;
	}
	st->stopped_ns = now_ns();
	w->stop = d->n_stops++;
	w->stopped = true;
	w->held = holds(d, slot, true);
	w->in_time = in_time;
	if (!w->held) {		/* it had got on; let it */
		w->resume_ns = 0;
		return;
	}
	report_event(clock_of(d), WARN, "STOPPED", "worker %u (pid %d), who "
	    "holds \"%s\" with token %s, for %.0f ms more", slot + 1,
	    (int)w->pid, file_names[file], report_token(w->held->token),
	    (double)(w->held->deadline_ns - now_ns()) / 1e6);
	if (in_time) {
		d->short_stops++;
		w->resume_ns = now_ns() + TTL_MS * MS / 8;
		return;
	}
	d->long_stops++;
	d->watch[file] = (struct watch){ true, false, w->held->token,
	    w->held->deadline_ns };
	w->resume_ns = w->held->deadline_ns + between(&d->dice, 150 * MS,
	    350 * MS);
}

static void
resume(struct demo *d, uint32_t slot)
{
	struct worker *w = &d->w[slot];
	int64_t left = w->held ? w->held->deadline_ns - now_ns() : 0;

	if (w->held && left > 0)
		report_event(clock_of(d), NEWS, "AWAKE", "worker %u goes on, "
		    "with %.0f ms left", slot + 1, (double)left / 1e6);
	else if (w->held)
		report_event(clock_of(d), NEWS, "AWAKE", "worker %u goes on as "
		    "if nothing had happened; its lease ended %.0f ms ago",
		    slot + 1, (double)-left / 1e6);
	kill(w->pid, SIGCONT);
	d->stops[w->stop].after_ns = now_ns();
	w->stopped = false;
}

void
director_attend(struct demo *d)
{
	uint32_t i;

	for (i = 0; i < N_WORKERS; i++) {
		struct worker *w = &d->w[i];
		int status;

		if (w->stopped && now_ns() >= w->resume_ns)
			resume(d, i);
		if (w->pid && waitpid(w->pid, &status, WNOHANG) == w->pid) {
			report_event(clock_of(d), BAD, "FAILED", "worker %u "
			    "ended by itself, with status %#x", i + 1, status);
			bury(d, i, status);
			if (!atomic_load(&d->j->quit))
				start(d, i);
		}
	}
}

void
director_finish(struct demo *d)
{
	int64_t until = now_ns() + 5000 * MS;
	uint32_t i, left = N_WORKERS;

	for (i = 0; i < N_WORKERS; i++)
		if (d->w[i].stopped)
			resume(d, i);
	atomic_store(&d->j->quit, 1);
	while (left && now_ns() < until) {
		for (i = left = 0; i < N_WORKERS; i++) {
			int status;

			if (d->w[i].pid && waitpid(d->w[i].pid, &status,
			    WNOHANG) == d->w[i].pid)
				bury(d, i, status);
			left += d->w[i].pid != 0;
		}
		story_go_on(d);
		sleep_until_ns(now_ns() + MS);
	}
	for (i = 0; i < N_WORKERS; i++) {
		if (!d->w[i].pid)
			continue;
		d->crashed++;
		report_event(clock_of(d), BAD, "FAILED", "worker %u does not "
		    "come home", i + 1);
		d->lives[d->w[i].life].kill_ns = now_ns();
		kill(d->w[i].pid, SIGKILL);
		bury(d, i, reap(d->w[i].pid, 0));
	}
}
