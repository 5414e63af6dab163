/* SPDX-License-Identifier: MIT */
/* Operations on a table that somebody has destroyed, for zeros-*.c. */
#ifndef TESTS_ZEROS_H
#define TESTS_ZEROS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "prim/sigbus.h"
#include "support/child.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

/* The subject's objects before its table is destroyed. */
struct world {
	const char *table;
	struct lh *lh;
	struct lh_key *key;
	struct lh_lease held, shared, other, in_session, permit, asked;
	struct lh_session *session;
	struct lh_lock *lock, *idle;	/* one is held */
	struct lh_ticket *ticket;
	struct lh_sem *sem;
	struct lh_watch *watch;
	struct lh_cancel cancel;
};

static inline void
must(int error, const char *what)
{
	if (error < 0)
		bail_out("%s: %d %s", what, error, lh_error_detail());
}

static inline void
zeros_enter(struct world *w, const char *table)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(600000, 0);
	struct lh_lock_opts lock = LH_LOCK_OPTS_INIT;
	struct lh_open_opts open = t_open_opts();

	memset(w, 0, sizeof(*w));
	w->table = table;
	open.flags = LH_CATCH_SIGBUS;
	must(lh_open(&w->lh, table, &open), "open");
	must(lh_key_open(w->lh, "opened", 0, &w->key), "key");
	must(lh_acquire(w->lh, "held", NULL, &w->held), "held");
	must(lh_acquire(w->lh, "other", &o, &w->other), "other");
	o.mode = LH_SHARED;
	must(lh_acquire(w->lh, "shared", &o, &w->shared), "shared");
	o.mode = LH_EXCLUSIVE;
	must(lh_session_open(w->lh, "named", NULL, &w->session), "session");
	more.session = w->session;
	o.more = &more;
	must(lh_acquire(w->lh, "in-session", &o, &w->in_session), "in it");
	more.session = NULL;
	more.request[0] = 7;
	must(lh_acquire(w->lh, "asked", &o, &w->asked), "with a request");
	o.more = NULL;
	must(lh_lock_open(w->lh, "live", &lock, &w->lock), "live");
	must(lh_lock_acquire(w->lock, &o), "live");
	must(lh_lock_open(w->lh, "idle", NULL, &w->idle), "idle");
	must(lh_lock_watch(w->lock, 0, &w->watch), "watch");
	must(lh_sem_open(w->lh, "sem", 2, &w->sem), "sem");
	must(lh_sem_acquire(w->sem, &o, &w->permit), "permit");
	o.max_wait_ms = LH_WAIT_FOREVER;
	must(lh_acquire_start(w->lh, "other", &o, &w->ticket), "ticket");
}

enum { TRUNCATED, PUNCHED, SCRIBBLED, CUT };	/* CUT + i: at array i */

/* Where the table's arrays begin, in the order of the layout. */
static inline int
zeros_cuts(const char *table, uint64_t *at)
{
	struct t_object o = t_map_object(table);
	const struct lhi_geometry *g = &o.geo;
	const uint64_t off[] = { g->sessions_off, g->chunks_off, g->claims_off,
	    g->buckets_off, g->slots_off, g->long_off, g->rings_off,
	    g->requests_off, g->values_off, g->asides_off, g->rights_off };
	int n = sizeof(off) / sizeof(off[0]);

	t_unmap_object(&o);
	memcpy(at, off, sizeof(off));
	return n;
}

static inline void
zeros_scribble(int fd, off_t len)
{
	static const char none[65536];
	off_t from = 0, to;

	while (from < len && (from = lseek(fd, from, SEEK_DATA)) >= 0) {
		to = lseek(fd, from, SEEK_HOLE);
		for (; from < to; from += (off_t)sizeof(none)) {
			size_t n = to - from < (off_t)sizeof(none) ?
			    (size_t)(to - from) : sizeof(none);

			if (pwrite(fd, none, n, from) != (ssize_t)n)
				bail_out("cannot overwrite the table");
		}
		from = to;
	}
}

/* By somebody who may write to it. */
static inline void
zeros_destroy(const char *table, int way)
{
	int fd = open(t_object(table), O_RDWR | O_CLOEXEC), error = 0;
	uint64_t cuts[16];
	struct stat st;

	(void)zeros_cuts(table, cuts);
	if (fd < 0 || fstat(fd, &st) != 0)
		bail_out("cannot open the table's object");
	if (way == TRUNCATED)
		error = ftruncate(fd, 0);
	else if (way == PUNCHED)
		error = fallocate(fd, FALLOC_FL_PUNCH_HOLE |
		    FALLOC_FL_KEEP_SIZE, 0, st.st_size);
	else if (way == SCRIBBLED)
		zeros_scribble(fd, st.st_size);
	else
		error = ftruncate(fd, (off_t)cuts[way - CUT]);
	if (error != 0)
		bail_out("cannot destroy the table");
	(void)close(fd);
}


static int
no_key(const struct lh_key_info *info, void *arg)
{
	return 0;
}

static int
no_session(const struct lh_session_info *info, void *arg)
{
	return 0;
}

static int
no_stats(const struct lh_session_stats *stats, void *arg)
{
	return 0;
}

static void
no_text(const char *text, void *arg)
{
}

static int
no_with(const struct lh_held *held, void *arg)
{
	return 0;	/* of a table that is cut it may be */
}

static int
no_event(const struct lh_log_entry *event, void *arg)
{
	return 0;
}

static struct lh_lease got, both[2];
static const uint64_t request[2] = { 7, 0 }, new_request[2] = { 8, 0 };

#define OP(name, call) \
	static int name(struct world *w) { return (int)(call); }

static struct lh_acquire_opts
opts_for(unsigned mode, int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(600000, wait_ms);

	o.mode = mode;
	return o;
}

#define TRY(m) &(struct lh_acquire_opts){ sizeof(struct lh_acquire_opts), \
	(m), 0, 0, 0, 600000, 0, 0, NULL, NULL }
#define WAIT &(struct lh_acquire_opts){ sizeof(struct lh_acquire_opts), 0, 0, \
	0, 0, 600000, 300, 0, NULL, NULL }

static int
with_more(struct world *w, const char *key, struct lh_acquire_more *more)
{
	struct lh_acquire_opts o = opts_for(LH_EXCLUSIVE, 0);

	o.more = more;
	return lh_acquire(w->lh, key, &o, &got);
}

#define MORE(key, ...) with_more(w, key, &(struct lh_acquire_more){ \
	.size = sizeof(struct lh_acquire_more), __VA_ARGS__ })

OP(acquire, lh_acquire(w->lh, "new", NULL, &got))
OP(acquire_again, lh_acquire(w->lh, "held", TRY(0), &got))
OP(acquire_busy, lh_acquire(w->lh, "other", WAIT, &got))
OP(acquire_shared, lh_acquire(w->lh, "shared", TRY(1), &got))
OP(acquire_in_session, MORE("new", .session = w->session))
OP(acquire_request, MORE("new", .request = { new_request[0] }))
OP(acquire_repeat, MORE("asked", .request = { request[0] }))
OP(acquire_reentrant, MORE("new", .holder = "me"))
OP(acquire_value, MORE("new", .value = "v", .value_len = 1))
OP(acquire_info, MORE("new", .info = "words"))
OP(acquire_strict, MORE("new", .policy = LH_POLICY_STRICT))
OP(acquire_live, MORE("new", .policy = LH_POLICY_LIVE))
OP(key_acquire, lh_key_acquire(w->key, NULL, &got))
OP(key_acquire_try, lh_key_acquire(w->key, TRY(0), &got))
OP(key_acquire_shared, lh_key_acquire(w->key, TRY(1), &got))
OP(key_open, lh_key_open(w->lh, "new", 0, &w->key))
OP(key_create, lh_key_create(w->lh, "new"))
OP(destroy, lh_destroy(w->lh, "opened"))
OP(evict, lh_evict(w->lh, "", 0))
OP(release, lh_release(w->lh, &w->held))
OP(release_other, lh_release(w->lh, &w->other))
OP(release_shared, lh_release(w->lh, &w->shared))
OP(release_in_session, lh_release(w->lh, &w->in_session))
OP(release_value, lh_release_value(w->lh, &w->held, "v", 1))
OP(release_request, lh_release_request(w->lh, NULL, request))
OP(release_many, lh_release_many(w->lh, &w->held, 1))
OP(extend, lh_extend(w->lh, &w->held, 60000))
OP(extend_shared, lh_extend(w->lh, &w->shared, 60000))
OP(extend_in_session, lh_extend(w->lh, &w->in_session, 60000))
OP(verify, lh_verify(w->lh, &w->held))
OP(verify_shared, lh_verify(w->lh, &w->shared))
OP(verify_in_session, lh_verify(w->lh, &w->in_session))
OP(verify_token, lh_verify_token(w->lh, "held", w->held.token))
OP(convert_down, lh_convert(w->lh, &w->held, LH_SHARED))
OP(convert_up, lh_convert(w->lh, &w->shared, LH_EXCLUSIVE))
OP(convert_wait, lh_convert_wait(w->lh, &w->shared, LH_EXCLUSIVE, WAIT))
OP(handoff, lh_handoff(w->lh, &w->held, w->session))
OP(recall, lh_lease_recall(w->lh, "held", w->held.id, w->held.token, &got))
OP(asked, lh_lease_asked(w->lh, &w->held))
OP(ask, lh_ask_release(w->lh, "held", w->held.id, w->held.token))
OP(break_lease, lh_break(w->lh, "held", w->held.id, w->held.token))
OP(many, lh_acquire_many(w->lh, (struct lh_item[]){ { "a", 0, 0 }, { "b", 0, 0
    } }, 2, TRY(0), both))
OP(with, lh_with(w->lh, "new", NULL, no_with, NULL, &(int){ 0 }))
OP(lock_acquire, lh_lock_acquire(w->idle, NULL))
OP(lock_release, lh_lock_release(w->lock))
OP(lock_open, lh_lock_open(w->lh, "new", NULL, &w->lock))
OP(lock_adopt, lh_lock_adopt(w->lh, &w->held, 60000, NULL, &w->lock))
OP(session_open, lh_session_open(w->lh, "new", NULL, &w->session))
OP(session_renew, lh_session_renew(w->session))
OP(session_destroy, lh_session_destroy(w->session))
OP(session_keep, lh_session_keep(w->session, 1))
OP(session_info, lh_session_info(w->session, &(struct lh_session_info){
    .size = sizeof(struct lh_session_info) }))
OP(session_list, lh_session_list(w->lh, "", no_session, NULL))
OP(ticket_start, lh_acquire_start(w->lh, "held", WAIT, &(struct
    lh_ticket *){ NULL }))

static int
ticket_finish(struct world *w)
{
	int error = lh_ticket_finish(w->ticket, &got);

	if (error != -EAGAIN)
		w->ticket = NULL;
	return error;
}

OP(wait_free, lh_wait_free(w->lh, "held", WAIT))
OP(sem_open, lh_sem_open(w->lh, "new", 2, &w->sem))
OP(sem_acquire, lh_sem_acquire(w->sem, TRY(0), &got))
OP(sem_release, lh_sem_release(w->sem, &w->permit))
OP(sem_status, lh_sem_status(w->sem, &(struct lh_sem_status){ .size =
    sizeof(struct lh_sem_status) }))
OP(sem_destroy, lh_sem_destroy(w->lh, "sem"))
OP(value_get, lh_value_get(w->lh, "held", &(char[256]){ 0 }, &(size_t){ 256 },
    NULL))
OP(value_set, lh_value_set(w->lh, &w->held, "v", 1))
OP(list, lh_list(w->lh, "", no_key, NULL))
OP(status, lh_status(w->lh, "held", NULL, no_key, NULL))
OP(explain, lh_explain(w->lh, "held", no_key, NULL))
OP(stats, lh_stats(w->lh, &(struct lh_stats){ .size =
    sizeof(struct lh_stats) }))
OP(stats_sessions, lh_stats_sessions(w->lh, no_stats, NULL))
OP(check, lh_check(w->lh, no_text, NULL))
OP(log_grants, lh_log_grants(w->lh, 1))
OP(read_log, lh_log(w->table, NULL, no_event, NULL))
OP(dump, lh_dump(w->table, NULL, 0, &(struct lh_dump_to){ .size =
    sizeof(struct lh_dump_to) }, NULL))
OP(repair, lh_table_repair(w->table, 0, no_text, NULL))
OP(reopen, lh_open(&(struct lh *){ NULL }, w->table, NULL))

#define RUN(op) { #op, op, false }
#define EARLY(op) { #op, op, true }
static const struct operation {
	const char *name;
	int (*run)(struct world *w);
	bool early;		/* may be done before the memory is missing, or
				 * before a thread that it starts meets that */
} operations[] = {
	RUN(acquire), RUN(acquire_again), RUN(acquire_busy),
	RUN(acquire_shared), RUN(acquire_in_session), RUN(acquire_request),
	RUN(acquire_repeat), RUN(acquire_reentrant), RUN(acquire_value),
	RUN(acquire_info), RUN(acquire_strict), RUN(acquire_live),
	RUN(key_acquire), RUN(key_acquire_try), RUN(key_acquire_shared),
	RUN(key_open), RUN(key_create), RUN(destroy), RUN(evict), RUN(release),
	EARLY(release_other), RUN(release_shared), RUN(release_in_session),
	RUN(release_value), RUN(release_request), RUN(release_many),
	RUN(extend), RUN(extend_shared), RUN(extend_in_session), RUN(verify),
	RUN(verify_shared), RUN(verify_in_session), RUN(verify_token),
	RUN(convert_down), RUN(convert_up), RUN(convert_wait), RUN(handoff),
	RUN(recall), RUN(asked), RUN(ask), RUN(break_lease), RUN(many),
	RUN(with), RUN(lock_acquire), RUN(lock_release), EARLY(lock_open),
	EARLY(lock_adopt), RUN(session_open), RUN(session_renew),
	RUN(session_destroy), RUN(session_keep), RUN(session_info),
	RUN(session_list), RUN(ticket_start), RUN(ticket_finish),
	RUN(wait_free), RUN(sem_open), RUN(sem_acquire), RUN(sem_release),
	RUN(sem_status), EARLY(sem_destroy), RUN(value_get), RUN(value_set),
	RUN(list), RUN(status), RUN(explain), RUN(stats), RUN(stats_sessions),
	RUN(check), RUN(log_grants), RUN(read_log), RUN(dump), RUN(repair),
	RUN(reopen),
};

/* How an operation by name says that it met no table any more. */
static inline bool
is_refusal(const struct operation *op, int error)
{
	return error == -EUCLEAN || (error == -EPROTO && (op->run == read_log ||
	    op->run == dump || op->run == repair || op->run == reopen));
}

static void
close_all(struct world *w)
{
	(void)lh_watch_close(w->watch);
	(void)lh_lock_close(w->lock);
	(void)lh_lock_close(w->idle);
	if (w->ticket != NULL)
		(void)lh_ticket_cancel(w->ticket);
	(void)lh_sem_close(w->sem);
	lh_session_close(w->session);
	is(lh_key_close(w->key), 0, "the key is closed");
	is(lh_close(w->lh), 0, "the table is closed");
}

struct job {
	const struct operation *op;
	const char *table;
	int way;
};

#define AGAIN 3		/* exit status */

/*
 * One operation after the table is destroyed.  A table that is cut may still
 * have all that the operation wants.  Then it may succeed, and another thread
 * (the ticket looks again every 20 ms) meets the missing part just after it:
 * AGAIN.
 */
static int
subject(void *arg)
{
	struct job *j = arg;
	int before = t_descriptors(), error;
	struct world w;

	zeros_enter(&w, j->table);
	zeros_destroy(j->table, j->way);
	error = j->op->run(&w);
	if (error >= 0 && j->way >= CUT && !j->op->early &&
	    lhi_sigbus_count() > 0)
		_exit(AGAIN);
	if (!ok(is_refusal(j->op, error) || (j->way >= CUT &&
	    error != -ENOSPC && (lhi_sigbus_count() == 0 || j->op->early)),
	    "it is refused"))
		diag_failed("%d %s (%s)", error, error < 0 ?
		    strerrorname_np(-error) : "", lh_error_detail());
	close_all(&w);
	is(t_descriptors(), before, "no descriptor is left over");
	return 0;
}

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* In a process of its own. */
static inline bool
zeros_try(const char *table, size_t op, int way)
{
	struct job j = { &operations[op], table, way };
	int status = AGAIN;

	for (int i = 0; status == AGAIN && i < 4; i++) {
		status = t_reap(t_fork(subject, &j), T_HANG_MS);
		(void)lh_table_remove(table, LH_FORCE);
	}
	if (status != 0)
		diag_failed("%s: %d", j.op->name, status);
	t_watch();
	return status == 0;
}

#endif
