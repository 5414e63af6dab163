/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of tables that are removed: see scenario.h.
 *
 * The checks are fewer than elsewhere, because users of a removed table are not
 * served.  One is added.  The table that the name leads to afterwards has
 * tokens above all that were seen (G2), and the name is still usable: it can be
 * opened, used, removed and made again.
 *
 * Beside a stop the name may be refused (-EBUSY) for as long as the remover
 * stands there, which is said soon; users of the table do not block it, and
 * keep what they hold.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "crash/subject.h"
#include "proc/attachment.h"
#include "shm/table_object.h"

#define SOON_MS 1000	/* an open gives up after 100 looks, 2 ms apart */
#define ROUNDS 2

static const int says_removed[] = { -EBUSY, -ENOENT, 0 };

/* Through the name: a token above all others, if KEY is free. */
static void
visit(struct trial *p, bool held)
{
	struct lh_acquire_opts o = participant_opts(30000, 0);
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_lease lease;
	struct lh *lh;
	int error = lh_open(&lh, p->table, &p->opts);

	if (error != 0) {
		blame(p, "the name cannot be opened: %s: %s",
		    lh_strerror(error), lh_error_detail());
		return;
	}
	check_findings(p, lh, "a visit");
	error = lh_acquire(lh, KEY, &o, &lease);
	if (error == 0) {
		if (lease.token <= atomic_load(&p->max_token))
			blame(p, "G2: token %llu after %llu",
			    (unsigned long long)lease.token,
			    (unsigned long long)atomic_load(&p->max_token));
		trial_saw_token(p, lease.token);
		error = lh_release(lh, &lease);
	} else if (held && error == -EAGAIN && lh_stats(lh, &st) == 0 &&
	    st.sessions > 1) {
		error = 0;
	}
	if (error != 0)
		blame(p, "the key cannot be used: %s: %s", lh_strerror(error),
		    lh_error_detail());
	(void)lh_close(lh);
}

static void
must_go(struct trial *p, uint32_t flags)
{
	int error = lh_table_remove(p->table, flags);

	if (error != 0)
		blame(p, "the table cannot be removed: %s: %s",
		    lh_strerror(error), lh_error_detail());
}

/* After a kill, or when all is over. */
static void
check_name(struct trial *p)
{
	visit(p, true);
	for (int i = 0; i < ROUNDS && !atomic_load(&p->blamed); i++) {
		must_go(p, i == 0 ? LH_FORCE : 0);
		if (lh_table_remove(p->table, 0) != -ENOENT)
			blame(p, "a removed table is still there");
		visit(p, false);
	}
}

static void
soon(struct trial *p, const char *what, struct stretch began)
{
	if (stretch_ms(began) > SOON_MS)
		blame_block(p, "%s took %lld ms", what,
		    (long long)stretch_ms(began));
}

static void
open_meanwhile(struct trial *p)
{
	struct stretch began = stretch_begin();
	struct lh *lh;
	int error = lh_open(&lh, p->table, &p->opts);

	soon(p, "an open", began);
	if (error == 0)
		(void)lh_close(lh);
	else if (error != -EBUSY)
		blame_block(p, "open: %s: %s", lh_strerror(error),
		    lh_error_detail());
}

static void
remove_meanwhile(struct trial *p)
{
	struct stretch began = stretch_begin();
	int error = lh_table_remove(p->table, LH_FORCE);

	soon(p, "a second removal", began);
	if (error != 0 && error != -EBUSY && error != -ENOENT)
		blame_block(p, "a second removal: %s: %s", lh_strerror(error),
		    lh_error_detail());
}

/* Somebody who comes while the remover is stopped.  An open that is refused
 * takes a quarter of a second: one in five, unless there is time. */
static void
come_meanwhile(struct trial *p)
{
	if (p->full || p->subject % 5 == 0)
		open_meanwhile(p);
	remove_meanwhile(p);
}

static void
await_end(struct trial *p)
{
	flag_set(&p->served, 1);
	if (!flag_wait(&p->last_look, 1, 60000))
		_exit(0);
	if (!atomic_load(&p->blamed))
		check_name(p);
}

/* Nobody is in the table. */
static void
serve_outside(struct trial *p)
{
	flag_set(&p->ready, 1);
	if (!flag_wait(&p->go, 1, 60000))
		_exit(0);
	come_meanwhile(p);
	await_end(p);
}

/* We are, and hold something. */
static void
serve_inside(struct trial *p)
{
	struct lh *lh = participant_open(p);
	struct lh_acquire_opts o = participant_opts(30000, 0);
	struct stretch began;
	struct lh_lease mine, l;
	int error = lh_acquire(lh, OTHER, &o, &mine);

	if (error != 0)
		blame(p, "staging: %s", lh_error_detail());
	flag_set(&p->ready, 1);
	if (!flag_wait(&p->go, 1, 60000))
		_exit(0);
	began = stretch_begin();
	error = lh_verify(lh, &mine);
	if (error == 0)
		error = lh_extend(lh, &mine, 30000);
	if (error == 0)
		error = lh_release(lh, &mine);
	if (error != 0)
		blame_block(p, "what was held is not: %s: %s",
		    lh_strerror(error), lh_error_detail());
	error = lh_acquire(lh, "fresh", &o, &l);
	if (error != 0 && error != -ESTALE)
		blame_block(p, "a new key: %s: %s", lh_strerror(error),
		    lh_error_detail());
	soon(p, "who is inside", began);
	come_meanwhile(p);
	await_end(p);
	(void)lh_close(lh);
}

/* The table says from now on that it is of another format. */
static void
spoil_format(struct lh *lh)
{
	sh32_store(&lh->v.hdr->format, SHM_FORMAT + 1);
	sh64_store(&lh->v.hdr->header_sum, lhi_object_sum(lh->v.hdr));
}

/* Tries KEY in the old table, again and again; how often was it granted? */
static int
try_old(struct trial *p, struct lh *lh, struct lh_key *k, int times)
{
	struct lh_acquire_opts o = participant_opts(30000, 0);
	struct lh_lease l;
	int granted = 0;

	for (int i = 0; i < times; i++) {
		int error = lh_key_acquire(k, &o, &l);

		if (error == 0) {
			trial_saw_token(p, l.token);
			granted += lh_release(lh, &l) == 0;
		} else if (error != -EUCLEAN) {
			blame_block(p, "the old table: %s: %s",
			    lh_strerror(error), lh_error_detail());
		}
	}
	return granted;
}

/* We are in a table that the remover cannot read, and acquire all the time on
 * the straight path: that ends before a new table grants. */
static void
serve_unread(struct trial *p)
{
	struct lh *lh = participant_open(p), *fresh;
	struct lh_lease l;
	struct lh_key *k;

	if (lh_key_open(lh, KEY, 0, &k) != 0 || try_old(p, lh, k, 20) != 20)
		blame(p, "staging: %s", lh_error_detail());
	spoil_format(lh);
	flag_set(&p->ready, 1);
	if (!flag_wait(&p->go, 1, 60000))
		_exit(0);
	(void)try_old(p, lh, k, 20);
	remove_meanwhile(p);
	if (lh_open(&fresh, p->table, &p->opts) == 0) {
		struct lh_acquire_opts o = participant_opts(30000, 0);

		if (lh_acquire(fresh, KEY, &o, &l) != 0)
			blame(p, "the new table: %s", lh_error_detail());
		else if (try_old(p, lh, k, 20) != 0)
			blame(p, "G1: granted in the old table beside the new");
		else
			trial_saw_token(p, l.token);
		(void)lh_release(fresh, &l);
		(void)lh_close(fresh);
	}
	await_end(p);
	(void)lh_close(lh);
}

/* After a kill: whatever of it stands, it is removed once more. */
static void
check_unread(struct trial *p)
{
	struct lh *lh;
	int error = lh_open(&lh, p->table, &p->opts);

	if (error == 0)
		(void)lh_close(lh);
	else if (error != -EPROTO)
		blame(p, "the name: %s: %s", lh_strerror(error),
		    lh_error_detail());
	else
		must_go(p, LH_FORCE);
	if (!atomic_load(&p->blamed))
		check_name(p);
}

/* The table is of another format; if there is a server, that has made it so. */
static void
prep_unread(struct trial *p)
{
	struct lh *lh;

	if (p->mode == MODE_STOP)
		return;
	visit(p, true);
	lh = participant_open(p);
	spoil_format(lh);
	(void)lh_close(lh);
}

/* A table is made, used and removed behind the back of one who makes it. */
static void
serve_before(struct trial *p)
{
	flag_set(&p->ready, 1);
	if (!flag_wait(&p->go, 1, 60000))
		_exit(0);
	visit(p, false);
	/* unless the stopped one is in it already */
	if (lh_table_remove(p->table, 0) == 0)
		visit(p, false);
	(void)lh_table_remove(p->table, 0);
	await_end(p);
}

/* KEY was used, and nobody is in the table. */
static void
prep_visited(struct trial *p)
{
	visit(p, true);
}

static void
act_remove(struct trial *p)
{
	p->result = lh_table_remove(p->table, 0);
}

static void
act_remove_forced(struct trial *p)
{
	p->result = lh_table_remove(p->table, LH_FORCE);
}

static void
finish_remove(struct trial *p)
{
	(void)sub_plausible(p);
}

/* The opened table has the name, or reports that it does not. */
static void
finish_made(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(30000, 0);
	struct lh_lease lease;
	int error;

	if (!sub_plausible(p) || p->result != 0)
		return;
	error = lh_acquire(sub.lh, KEY, &o, &lease);
	if (error == 0 && lease.token <= atomic_load(&p->max_token))
		blame(p, "G2: the stopped one gets token %llu after %llu",
		    (unsigned long long)lease.token,
		    (unsigned long long)atomic_load(&p->max_token));
	else if (error == 0)
		trial_saw_token(p, lease.token);
	else if (error != -ESTALE)
		blame(p, "the stopped one cannot use the key: %s: %s",
		    lh_strerror(error), lh_error_detail());
	if (error == 0)
		(void)lh_release(sub.lh, &lease);
	(void)lh_close(sub.lh);
}

static const struct scenario removing = {
	.name = "removing", .what = "removes a table", .prepare = prep_visited,
	.act = act_remove
};

/* flagged; with its ceiling fixed */
#define DEAD_REMOVER(n)	{ .dies = true, .halfway = &removing, .nth = (n) }

static const struct scenario scenarios_removal[] = {
	{ .name = "remove", .what = "a table that nobody uses",
	  .prepare = prep_visited, .act = act_remove, .finish = finish_remove,
	  .check = check_name, .serve = serve_outside, .recover = check_name,
	  .allowed = says_removed },
	{ .name = "remove-dead", .what = "a table whose users are dead",
	  .roles = { DEAD_HOLDER, DEAD_WAITER }, .act = act_remove,
	  .finish = finish_remove, .check = check_name,
	  .serve = serve_outside, .recover = check_name,
	  .allowed = says_removed },
	{ .name = "remove-forced", .what = "a table under its users",
	  .roles = { HOLDER }, .act = act_remove_forced,
	  .finish = finish_remove, .check = check_name,
	  .serve = serve_inside, .recover = check_name,
	  .allowed = says_removed },
	{ .name = "remove-unread", .what = "a table of another format",
	  .prepare = prep_unread, .act = act_remove_forced,
	  .finish = finish_remove, .check = check_unread,
	  .serve = serve_unread, .recover = check_unread,
	  .allowed = says_removed },
	{ .name = "remove-half-1", .what = "open what a dead one was removing: "
	  "it was flagged", .roles = { DEAD_REMOVER(1) }, .act = act_open,
	  .finish = finish_made, .check = check_name,
	  .serve = serve_outside, .recover = check_name,
	  .allowed = says_removed },
	{ .name = "remove-half-2", .what = "... its ceiling raised",
	  .roles = { DEAD_REMOVER(2) }, .act = act_open,
	  .finish = finish_made, .check = check_name,
	  .serve = serve_outside, .recover = check_name,
	  .allowed = says_removed },
	{ .name = "remove-again", .what = "remove what a dead one was removing",
	  .roles = { DEAD_REMOVER(2) }, .act = act_remove,
	  .finish = finish_remove, .check = check_name,
	  .serve = serve_outside, .recover = check_name,
	  .allowed = says_removed },
	{ .name = "remove-before-made", .what = "make a table while others "
	  "make it and remove it", .flags = SC_LATE, .act = act_open,
	  .finish = finish_made, .check = check_name, .serve = serve_before,
	  .recover = check_name, .allowed = says_removed },
};

SCENARIOS(scenarios_removal)
