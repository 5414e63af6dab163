/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of a reaper that is asked to leave, and of the repair that asks
 * it: see scenario.h.
 *
 * The wish is a flag (SHM_WANTED) and says nothing of its author, who may be
 * gone.  So whoever is killed, anywhere: a repair succeeds, and after it, or if
 * none comes, reapers visit and the wish is gone.  Beside one that is stopped:
 * a reaper's passes return, whether it visits or not; a repair succeeds or is
 * refused, soon; and where there is none, all is as usual.  (How long others
 * try to open a table that is being repaired is replay/g-open-in-repair's.)
 *
 * One part is the other side: it repairs when it is cued, or it makes a pass
 * whenever it sees the wish, or is cued for good.  It has no session.
 */
#include <errno.h>
#include <unistd.h>
#include "crash/subject.h"
#include "reaper/reap_ops.h"
#include "proc/attachment.h"
#include "shm/table_object.h"

#define PATIENCE_NS	(3600 * NS_PER_SEC)
#define SOON_MS		1000	/* a repair waits for half of that */
#define ALL		TRIAL_PARTS	/* a cue for everybody */

static const int says_in_use[] = { -EBUSY, 0 };

static struct lhi_reaper *reaper;

static void
begin_reaper(struct trial *p)
{
	sub_must(p, lhi_reap_open(&reaper, trial_object(p)), "reap");
	reaper->budget_ns = PATIENCE_NS;
}

static void
pass(struct trial *p)
{
	int64_t next;
	int error;

	reaper->walk_ns = 0;		/* the whole of it */
	error = lhi_reap_pass(reaper, trial_now_ns(), &next);
	if (error != 0 && error != -EUCLEAN)
		blame(p, "a reaper's pass: %s: %s", lh_strerror(error),
		    lh_error_detail());
}

static uint32_t
flags(void)
{
	return sh32_load(&reaper->v.hdr->flags);
}

/* Parts. */

/* In token: how many visits; in since_ns: when its last pass was over. */
static void
part_reaper(struct trial *p, void *part)
{
	struct part *me = part;

	sub_must(p, lh_close(participant_open(p)), "close");
	begin_reaper(p);
	pass(p);
	if (!reaper->visiting)
		blame(p, "staging: no visit");
	me->token = reaper->counts.passes;
	flag_set(&me->state, PART_ATTACHED);
	while (flag_get(&me->order) == 0) {
		if ((flags() & SHM_WANTED) || flag_get(&p->cue) == ALL)
			pass(p);
		me->token = reaper->counts.passes;
		me->since_ns = trial_now_ns();
		trial_nap_us(200);
	}
	lhi_reap_close(reaper);
	flag_set(&me->state, PART_LEFT);
	_exit(0);
}

static void
part_repairer(struct trial *p, void *part)
{
	struct part *me = part;
	int n;

	sub_must(p, lh_close(participant_open(p)), "close");
	flag_set(&me->state, PART_ATTACHED);
	if (!flag_wait(&p->cue, 1, 60000))
		_exit(1);
	/* stepped, a reaper takes longer than a repair waits */
	do {
		n = lh_table_repair(p->table, 0, NULL, NULL);
	} while (n == -EBUSY && p->slow && flag_get(&me->order) == 0);
	if (n < 0 && n != -EBUSY)
		blame(p, "a repair: %s: %s", lh_strerror(n),
		    lh_error_detail());
	flag_set(&me->state, PART_LEFT);
	_exit(0);
}

/* The state afterwards. */

static void
must_repair(struct trial *p, const char *when)
{
	int n = lh_table_repair(p->table, 0, NULL, NULL);

	if (n < 0)
		blame(p, "no repair %s: %s: %s", when, lh_strerror(n),
		    lh_error_detail());
}

/* A reaper that comes now visits, and takes the wish back. */
static void
must_visit(struct trial *p, const char *when)
{
	if (lhi_reap_open(&reaper, trial_object(p)) != 0) {
		blame(p, "no reaper %s: %s", when, lh_error_detail());
		return;
	}
	pass(p);
	if (!reaper->visiting || (flags() & SHM_WANTED))
		blame(p, "a reaper %s %s", when, reaper->visiting ?
		    "leaves the wish" : "does not visit");
	lhi_reap_close(reaper);
}

/* The part, being cued, visits by then. */
static void
part_must_visit(struct trial *p, const char *when)
{
	struct part *part = &p->part[0];
	int64_t end = trial_now_ns() + SOON_MS * NS_A_MS;
	uint64_t before = *(volatile uint64_t *)&part->token;

	flag_set(&p->cue, ALL);
	while (*(volatile uint64_t *)&part->token < before + 2) {
		if (trial_now_ns() > end) {
			blame_block(p, "the reaper does not visit %s", when);
			return;
		}
		trial_nap_us(500);
	}
}

/* It is not kept: its passes return. */
static void
part_must_run(struct trial *p)
{
	int64_t now = trial_now_ns();

	while (*(volatile int64_t *)&p->part[0].since_ns < now) {
		if (trial_now_ns() > now + SOON_MS * NS_A_MS) {
			blame_block(p, "a reaper's pass does not return");
			return;
		}
		trial_nap_us(500);
	}
}

static void
part_leaves(struct trial *p)
{
	flag_set(&p->part[0].order, ORDER_QUIT);
	if (!flag_wait(&p->part[0].state, PART_LEFT, SOON_MS))
		blame_block(p, "the other one does not end");
	p->part[0].dead = true;
}

static void
look_in(struct trial *p, const char *when)
{
	struct lh_acquire_opts o = participant_opts(30000, 100);
	struct lh_lease lease;
	struct lh *lh;

	if (lh_open(&lh, p->table, &p->opts) != 0) {
		blame(p, "%s: open: %s", when, lh_error_detail());
		return;
	}
	if (lh_acquire(lh, KEY, &o, &lease) != 0 ||
	    lh_release(lh, &lease) != 0)
		blame_block(p, "%s: %s", when, lh_error_detail());
	check_findings(p, lh, when);
	(void)lh_close(lh);
}

/* The reaper is the subject. */

static void
prep_visiting(struct trial *p)
{
	sub_must(p, lh_close(participant_open(p)), "close");
	begin_reaper(p);
	pass(p);
}

/* The requester is gone. */
static void
prep_wished(struct trial *p)
{
	prep_visiting(p);
	(void)sh32_fetch_or(&reaper->v.hdr->flags, SHM_WANTED);
}

/* The requester waits. */
static void
prep_asked(struct trial *p)
{
	prep_visiting(p);
	flag_set(&p->cue, 1);
	while (!(flags() & SHM_WANTED) &&
	    flag_get(&p->part[0].state) == PART_ATTACHED)
		trial_nap_us(50);
}

static void
act_passes(struct trial *p)
{
	pass(p);
	pass(p);
}

static void
finish_passes(struct trial *p)
{
	for (int i = 0; i < 200 && !reaper->visiting; i++) {
		trial_nap_us(5000);	/* while another repairs */
		pass(p);
	}
	if (!reaper->visiting)
		blame_block(p, "the reaper stays away for good");
	lhi_reap_close(reaper);
}

static void
check_reaper(struct trial *p)
{
	if (p->n_parts > 0) {
		if (!flag_wait(&p->part[0].state, PART_LEFT, SOON_MS))
			blame_block(p, "a repair does not end");
		p->part[0].dead = true;
	}
	must_visit(p, "after the kill");
	must_repair(p, "after the kill");
	must_visit(p, "after the repair");
	if (!atomic_load(&p->blamed))
		checker_check(p);
}

static void
recover_reaper(struct trial *p)
{
	int n = lh_table_repair(p->table, 0, NULL, NULL);

	p->result = n < 0 && n != -EBUSY ? n : 0;
	begin_reaper(p);
	pass(p);
	lhi_reap_close(reaper);
}

/* Nobody is attached until the repair is through, or was refused. */
static void
serve_asked(struct trial *p)
{
	flag_set(&p->ready, 1);
	if (!flag_wait(&p->go, 1, 60000))
		_exit(0);
	if (!flag_wait(&p->part[0].state, PART_LEFT, 2 * SOON_MS))
		blame_block(p, "a repair does not end");
	look_in(p, "while it is stopped");
	flag_set(&p->served, 1);
	if (!flag_wait(&p->last_look, 1, 60000))
		_exit(0);
	must_repair(p, "after it went on");
	must_visit(p, "after it went on");
	look_in(p, "after it went on");
}

/* The repair is the subject. */

static void
prep_damaged(struct trial *p)
{
	struct lh *lh = participant_open(p);

	sh64_store(&lh->v.hdr->floor[3], UINT64_MAX);
	sh32_store(&lh->v.hdr->ready_longs, UINT32_MAX);
	sub_must(p, lh_close(lh), "close");
}

static void
act_repair(struct trial *p)
{
	int n = lh_table_repair(p->table, 0, NULL, NULL);

	p->result = n < 0 ? n : 0;
}

static void
check_repair(struct trial *p)
{
	struct lhi_object_id id;
	struct lhi_geometry g;
	int fd = lhi_object_open(trial_object(p), LHI_TO_USE, &g, &id);

	/* if it may be used as it is, reapers do so */
	if (fd >= 0) {
		(void)close(fd);
		part_must_visit(p, "after the kill");
	}
	must_repair(p, "after the kill");
	part_must_visit(p, "after the repair");
	part_leaves(p);
	must_visit(p, "at the end");
	if (!atomic_load(&p->blamed))
		checker_check(p);
}

static void
serve_repair(struct trial *p)
{
	struct stretch began;
	int n;

	flag_set(&p->ready, 1);
	if (!flag_wait(&p->go, 1, 60000))
		_exit(0);
	flag_set(&p->cue, ALL);
	part_must_run(p);
	began = stretch_begin();
	n = lh_table_repair(p->table, 0, NULL, NULL);
	if (stretch_ms(began) > SOON_MS)
		blame_block(p, "a second repair took %lld ms",
		    (long long)stretch_ms(began));
	if (n >= 0)
		look_in(p, "while it is stopped");
	else if (n != -EBUSY)
		blame(p, "a second repair: %s: %s", lh_strerror(n),
		    lh_error_detail());
	flag_set(&p->served, 1);
	if (!flag_wait(&p->last_look, 1, 60000))
		_exit(0);
	must_repair(p, "after it went on");
	part_must_visit(p, "after it went on");
	look_in(p, "after it went on");
}

#define REAPS	ROLE(part_reaper, PART_ATTACHED)
#define REPAIRS	ROLE(part_repairer, PART_ATTACHED)

static const struct scenario scenarios_reaper_leaves[] = {
	{ .name = "leave-wished", .what = "a reaper is asked to leave by one "
	  "who is gone", .max_leases = 192, .prepare = prep_wished,
	  .act = act_passes, .finish = finish_passes, .check = check_reaper,
	  .recover = recover_reaper },
	{ .name = "leave-asked", .what = "... by one who waits",
	  .roles = { REPAIRS }, .max_leases = 192, .prepare = prep_asked,
	  .act = act_passes, .finish = finish_passes, .check = check_reaper,
	  .serve = serve_asked, .recover = recover_reaper },
	{ .name = "repair-asks", .what = "a damaged table that a reaper looks "
	  "after", .roles = { REAPS }, .max_leases = 192,
	  .prepare = prep_damaged, .act = act_repair, .finish = finish_plain,
	  .check = check_repair, .serve = serve_repair,
	  .recover = act_repair, .allowed = says_in_use },
};

SCENARIOS(scenarios_reaper_leaves)
