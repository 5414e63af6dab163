/* SPDX-License-Identifier: MIT */
/*
 * Setup: a fresh table, the participants in their places, and the subject
 * stopped where its operation begins.
 *
 * How large the table is decides what a recoverer has to do.  After a kill
 * there are just enough session records for the living and two more, so that
 * a checker cannot attach twice without burying the dead.  Beside a stop
 * there is room for everybody, because a stopped process keeps what it has.
 *
 * Times depend on the pace.  At full speed the subject reaches any point within
 * a millisecond or two, so its leases beside a stop are short: the others wait
 * until they expire.  While the subject is stepped they must not expire on the
 * way.
 */
#include <string.h>
#include <unistd.h>
#include "crash/places.h"
#include "crash/setup.h"

#define PLACE_MS 3000
#define PATIENCE_MAX 6

/* Waits that are to fail last so much longer, so that stepping gets to them on
 * a busy machine, too: a power of 2. */
static int patience[MODE_DOUBLE + 1];

/* A half-done operation, recorded. */
static struct middle {
	const struct scenario *sc;
	struct trace trace;
} middles[4];

static void
set_up(struct trial *p, const struct scenario *sc, enum trial_mode mode,
    enum pace pace)
{
	static const struct lh_open_opts usual = LH_OPEN_OPTS_INIT;
	bool slow = pace >= PACE_LATE, stop = mode == MODE_STOP;
	uint32_t n = 0, living = 0, need;

	trial_clear(p);
	trial_remove_object();
	p->sc = sc;
	p->mode = mode;
	p->slow = slow;
	/* the first in a queue looks again after 20 ms: once at full speed */
	p->wait_ms = slow ? (places_likely(p) ? 45 : 130) << patience[mode] :
	    25;
	p->ttl_ms = 30000;
	if (stop) {
		p->ttl_ms = sc->stop_ttl_ms != 0 ? sc->stop_ttl_ms : 40;
		/* from 100 ms on the library goes another way: stay on this
		 * side of it */
		if (pace == PACE_RECORD)
			p->ttl_ms = p->ttl_ms < 100 ? 99 : 5000;
	}
	for (; n < TRIAL_PARTS; n++) {
		const struct role *r = &sc->roles[n];

		if (r->enter == NULL && r->halfway == NULL)
			break;
		living += !r->dies && r->kills == 0;
	}
	p->n_parts = (int)n;
	/* the subject; beside a stop the server, with two attachments */
	need = n + (stop ? 3 : 1);
	if (sc->flags & SC_TIGHT)
		need = n + (stop ? 1 : 0);
	p->opts = usual;
	p->opts.application = "step";
	p->opts.max_keys = sc->max_keys != 0 ? sc->max_keys : 16;
	p->opts.order = sc->flags & SC_FIFO ? LH_ORDER_FIFO : LH_ORDER_BOUNDED;
	p->opts.max_sessions = need > living + 2 ? need : living + 2;
	p->opts.max_sessions += sc->flags & SC_NAMED ? 1 : 0;
	p->opts.max_leases = sc->max_leases != 0 ? sc->max_leases : 512;
	if (stop)
		p->opts.max_leases += 64;	/* the server's */
	if (sc->flags & SC_CLUSTER)
		p->opts.cluster_prefix = KEY;
	if (sc->flags & SC_DURABLE) {
		p->opts.fence_dir = trial_fence(p);
		p->opts.flags = LH_NO_CLOCK_FLOOR;
	}
	if (sc->flags & SC_GLOBAL)
		p->opts.flags |= LH_TOKENS_GLOBAL;
	if (sc->flags & SC_PASSED_ON)
		p->opts.flags |= LH_LIVENESS_FD;
}

static struct middle *
middle_of(const struct scenario *sc)
{
	struct middle *m = middles;

	while (m->sc != NULL && m->sc != sc)
		m++;
	m->sc = sc;
	return m;
}

/* Where its nth change has just been made; 0: half of them. */
static const struct point *
after_change(const struct trace *t, unsigned nth)
{
	unsigned changes = 0, seen = 0;

	for (size_t i = 0; i <= t->instructions; i++)
		changes += (t->at[i].why & AT_CHANGE) != 0;
	if (nth == 0)
		nth = changes / 2 + 1;
	for (size_t i = 0; i <= t->instructions; i++)
		if ((t->at[i].why & AT_CHANGE) && ++seen == nth)
			return &t->at[i];
	return NULL;
}

/* Somebody was killed in the middle of something. */
static bool
enter_halfway(struct trial *p, const struct role *r, struct part *me)
{
	const struct scenario *sc = r->halfway;
	const struct point *at = after_change(&middle_of(sc)->trace, r->nth);
	pid_t pid = trace_start(p, sc->prepare, sc->act, NULL);
	bool there = pid > 0 && at != NULL &&
	    trace_run_to(p, pid, at, (struct approach){ .pace = PACE_QUICK }) ==
	    TRACE_AT;

	if (!there)
		blame(p, "staging: nobody died half-way");
	me->pid = pid;
	p->subject = 0;
	p->has_lease = false;
	p->begun = (struct flag){ 0 };
	return there;
}

static bool
enter_part(struct trial *p, const struct role *r, struct part *me)
{
	int64_t end = trial_now_ns() + PLACE_MS * NS_A_MS;

	if (r->halfway != NULL) {
		if (!enter_halfway(p, r, me))
			return false;
	} else {
		me->shared = r->shared;
		me->pid = trial_fork(p, r->enter, me);
		if (!flag_wait(&me->state, r->until, PLACE_MS))
			blame(p, "staging: a part did not take its place");
		while (r->asleep && !trial_asleep(me->pid)) {
			if (trial_now_ns() > end) {
				blame(p, "staging: a part does not wait");
				break;
			}
			trial_nap_us(20);
		}
	}
	if (r->kills != 0)
		me = &p->part[r->kills - 1];
	if (r->dies || r->kills != 0) {
		trial_kill(me->pid);
		me->dead = true;
	}
	return !atomic_load(&p->blamed);
}

static void
serve(struct trial *p, void *arg)
{
	(void)arg;
	if (p->sc->serve != NULL)
		p->sc->serve(p);
	else
		server_serve(p);
}

/* Records the operations in whose midst others are killed. */
static bool
record_middles(struct trial *p, const struct scenario *sc)
{
	for (int i = 0; i < TRIAL_PARTS; i++) {
		const struct scenario *half = sc->roles[i].halfway;

		if (half != NULL && middle_of(half)->trace.n == 0 &&
		    !setup_record(p, half, MODE_KILL, &middle_of(half)->trace))
			return false;
	}
	return true;
}

pid_t
setup_trial(struct trial *p, const struct scenario *sc, enum trial_mode mode,
    enum pace pace, pid_t *server)
{
	if (!record_middles(p, sc))
		return -1;
	set_up(p, sc, mode, pace);
	if (server != NULL) {
		*server = trial_fork(p, serve, NULL);
		if (!flag_wait(&p->ready, 1, PLACE_MS)) {
			blame(p, "staging: no server");
			return -1;
		}
	}
	for (int i = 0; i < p->n_parts; i++)
		if (!enter_part(p, &sc->roles[i], &p->part[i]))
			return -1;
	return trace_start(p, sc->prepare, sc->act,
	    mode == MODE_STOP ? sc->finish : NULL);
}

/* A recording; if it is one of places, the last one, which knows them all. */
static bool
record(struct trial *p, const struct scenario *sc, enum trial_mode mode,
    struct trace *t)
{
	struct trace now = { 0 };
	bool good = record_middles(p, sc);
	pid_t pid, server;

	places_forget(mode == MODE_STOP);
	for (int i = 0; good && (i == 0 || now.again) && i < PLACES_ROUNDS;
	    i++) {
		trace_free(&now);
		pid = setup_trial(p, sc, mode, PACE_RECORD, mode == MODE_STOP ?
		    &server : NULL);
		good = pid > 0 && trace_record(p, pid, &now) &&
		    !atomic_load(&p->blamed);
		trial_sweep(p);
	}
	if (good)
		trace_merge(t, &now);
	else
		trace_free(&now);
	return good;
}

bool
setup_record_on(struct trial *p, const struct scenario *sc,
    enum trial_mode mode, struct trace *t, int done, int n)
{
	bool good = true;

	if (done == 0)
		patience[mode] = 0;
	for (int i = done; good && i < n; i++) {
		good = record(p, sc, mode, t);
		if (good && t->hides) {
			trace_free(t);
			i = -1;
		} else if (good && t->states < sc->min_states &&
		    patience[mode] < PATIENCE_MAX) {
			trace_free(t);
			patience[mode]++;
			i = -1;
		}
	}
	if (good && t->states < sc->min_states) {
		blame(p, "it did not come to what it is about: %u states",
		    t->states);
		good = false;
	}
	return good;
}

bool
setup_record(struct trial *p, const struct scenario *sc, enum trial_mode mode,
    struct trace *t)
{
	return setup_record_on(p, sc, mode, t, 0, RECORDINGS);
}

/* Neither has met with a hitch (trace_record()), nor gone another way. */
static bool
are_alike(const struct trace *a, const struct trace *b)
{
	return a->instructions / 2 <= b->instructions &&
	    b->instructions / 2 <= a->instructions;
}

bool
setup_record_both(struct trial *p, const struct scenario *sc,
    struct trace *killed, struct trace *stopped)
{
	size_t n;

	if (!setup_record_on(p, sc, MODE_KILL, killed, 0, 1) ||
	    !setup_record_on(p, sc, MODE_STOP, stopped, 0, 1))
		return false;
	if (!are_alike(killed, stopped))
		return setup_record_on(p, sc, MODE_KILL, killed, 1,
		    RECORDINGS) && setup_record_on(p, sc, MODE_STOP, stopped,
		    1, RECORDINGS);
	n = killed->n;
	trace_add(killed, stopped, stopped->n);
	trace_add(stopped, killed, n);
	return true;
}
