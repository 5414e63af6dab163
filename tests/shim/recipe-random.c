/* SPDX-License-Identifier: MIT */
/* test: slow 24 */
/* test: alone: it has arguments */
/*
 * Guarantees G1 and G2: three members use a few keys, and everything fails at
 * random: calls are refused, denied, lost, late, slow.  The watch is late, with
 * gaps; members are cut off, killed and adopted; permissions come and go; the
 * store is away.  A witness knows who believes to have a key and until when:
 * never two that exclude each other; tokens rise.  Everybody that wants a key
 * gets it or learns why not; nothing is left behind.
 *
 * Otherwise a rare combination of faults would give a key to two hosts.  Four
 * run at a time, because they wait more than they work: recipe-random [seed
 * [grants]].
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "../tap.h"
#include "support/asked.h"
#include "support/member.h"

#define HOSTS 3
#define KEYS 8
#define WANTS 10		/* of a host, at once */
#define PATIENT 2		/* of these; others leave */
#define HELD_MAX 100
#define CHILDREN 4
#define LONGEST 30000	/* without a callback: ms that we ran */

/* A host that believes it has a key: until the D of its member, or, when that
 * is dead, that of the time when it died. */
struct held {
	enum claim_mode mode;	/* CLAIM_NONE: this place is free */
	unsigned key;
	int64_t token;
	uint64_t session;
	struct want *by;
	struct member *of;	/* NULL: it is dead */
	uint64_t until_ns;	/* then */
};

static struct held held[HELD_MAX];
static int64_t written[KEYS], read_by[KEYS];
static uint64_t grants, doubles, back, kept, lost_wants, denials;

struct host {
	struct member m;
	struct want w[WANTS], kept[WANTS + KEYS];
	struct event *act;
	bool up;
	struct recipe_session last;
	unsigned denied;	/* keys that it may not write: a bit each */
	unsigned ms, asked_at[WANTS];
};

static struct host host[HOSTS];
static unsigned longest;	/* without a callback */
static uint64_t rng;
static bool calm;		/* the end: nothing goes wrong any more */

static uint32_t
below(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)((rng >> 11) % n);
}

/* The witness. */

static uint64_t
valid_until(const struct held *h)
{
	return h->of != NULL ? h->of->until_ns : h->until_ns;
}

static struct held *
find_held(const struct want *w)
{
	for (struct held *h = held; h < held + HELD_MAX; h++)
		if (h->mode != CLAIM_NONE && h->of != NULL && h->by == w)
			return h;
	return NULL;
}

static void
check_token(unsigned key, enum claim_mode mode, int64_t token)
{
	if (token <= written[key] || (mode == CLAIM_EXCLUSIVE &&
	    token <= read_by[key])) {
		diag("key %u: token %jd after %jd, %jd", key, (intmax_t)token,
		    (intmax_t)written[key], (intmax_t)read_by[key]);
		back++;
	}
	if (mode == CLAIM_EXCLUSIVE)
		written[key] = token;
	else if (read_by[key] < token)
		read_by[key] = token;
}

static void
enter(struct want *w, unsigned key, enum claim_mode mode)
{
	uint64_t now = member_now_ns();
	struct held *h, *free_one = NULL;

	if (w->of->until_ns <= now)
		return;		/* it may not be used, and is not */
	for (h = held; h < held + HELD_MAX; h++) {
		if (h->mode != CLAIM_NONE && h->of == NULL &&
		    h->until_ns <= now)
			h->mode = CLAIM_NONE;
		if (h->mode == CLAIM_NONE)
			free_one = h;
		else if (h->key == key && valid_until(h) > now &&
		    (mode == CLAIM_EXCLUSIVE || h->mode == CLAIM_EXCLUSIVE)) {
			if (doubles++ < 5)
				diag("key %u: token %jd beside %jd, for %jd ms",
				    key, (intmax_t)w->revision,
				    (intmax_t)h->token,
				    (intmax_t)(valid_until(h) - now) / 1000000);
		}
	}
	check_token(key, mode, w->revision);
	grants++;
	*free_one = (struct held){ mode, key, w->revision,
	    w->of->session.name, w, w->of, 0 };
}

/* Wants. */

static unsigned
key_of(const struct want *w)
{
	return (unsigned)(w->name[0] - 'a');
}

static void
out_of(struct want *w)
{
	struct held *h = find_held(w);

	if (h != NULL)
		h->mode = CLAIM_NONE;
}

static void
told(struct want *w)
{
	enum claim_mode mode = (enum claim_mode)(intptr_t)w->arg;
	struct held *h;

	if (w->event == WANT_GRANTED) {
		enter(w, key_of(w), mode);
	} else if (w->event == WANT_ANCHORED) {
		h = find_held(w);
		if (h != NULL)
			h->token = w->revision;
		check_token(key_of(w), mode, w->revision);
	} else if (w->event == WANT_FAILED) {
		lost_wants++;
		denials += w->error == EACCES;
		out_of(w);
	}
}

static void
ask(struct host *h, struct want *w)
{
	static const char *const names[] = { "a", "b", "c", "d", "e",
	    "f", "g", "h" };
	enum claim_mode mode = below(3) == 0 ? CLAIM_SHARED : CLAIM_EXCLUSIVE;
	size_t n = below(8) == 0 ? 2 : 1, k = below(KEYS - 1);

	if (w + n > h->w + WANTS || w[n - 1].c != NULL)
		n = 1;
	for (size_t i = 0; i < n; i++) {
		w[i].told = told;
		w[i].arg = (void *)(intptr_t)mode;
	}
	want_many(w, n, &h->m, names + k, mode, below(4) == 0 ? CLAIM_TRY : 0);
	for (size_t i = 0; i < n; i++)
		h->asked_at[w - h->w + (ptrdiff_t)i] = h->ms;
}

static void
act_on(struct want *w)
{
	if (w->c == NULL)
		return;
	if (w->granted && below(8) == 0) {
		claim_anchor(w->c);
	} else if (below(w->granted ? w->name[0] == 'a' ? 300 : 2 : 100) == 0) {
		out_of(w);
		claim_leave(w->c);
	}
}

/* Some do not leave before they get a report. */
static void
see_waiting(struct host *h, int i)
{
	unsigned waited = h->ms - h->asked_at[i];

	if (!h->w[i].granted && waited > longest)
		longest = waited;
	if (h->w[i].granted || i >= PATIENT)
		act_on(&h->w[i]);
}

static void
on_act(evutil_socket_t fd, short what, void *arg)
{
	struct timeval tv = { 0, 1000 };
	struct host *h = arg;

	(void)fd;
	(void)what;
	h->ms++;
	if (h->up) {
		for (int i = 0; i < WANTS; i++) {
			if (h->w[i].c != NULL)
				see_waiting(h, i);
			else if (!calm)
				ask(h, &h->w[i]);
		}
		for (int i = 0; i < WANTS + KEYS; i++)
			act_on(&h->kept[i]);
	}
	(void)event_add(h->act, &tv);
}

/* Members. */

/* Is the claim that was found and kept that one?  Of a writer that was granted
 * by the watch an older revision is found, and there is but one. */
static bool
is_it(const struct want *w, const struct held *x)
{
	return claim_mode(w->c) == x->mode && (w->revision == x->token ||
	    (x->mode == CLAIM_EXCLUSIVE && w->revision < x->token));
}

/* The claims of an adopted session that were not kept are not used any more
 * when they are left. */
static void
on_settled(struct member *m)
{
	struct host *h = (struct host *)m;

	for (struct held *x = held; x < held + HELD_MAX; x++) {
		bool is_kept = false;

		if (x->mode == CLAIM_NONE || x->session != m->session.name)
			continue;
		for (size_t i = 0; i < m->n_kept; i++)
			if (h->kept[i].c != NULL && key_of(&h->kept[i]) ==
			    x->key && is_it(&h->kept[i], x)) {
				is_kept = true;
				x->by = &h->kept[i];
				h->kept[i].arg = (void *)(intptr_t)x->mode;
				kept++;
			}
		if (is_kept)
			x->of = m;
		else
			x->mode = CLAIM_NONE;
	}
	h->up = true;
}

static void
start(struct host *h, bool adopt)
{
	memset(h->w, 0, sizeof(h->w));
	memset(h->kept, 0, sizeof(h->kept));
	for (int i = 0; i < WANTS + KEYS; i++)
		h->kept[i].told = told;
	h->m.on_settled = on_settled;
	h->m.keep = h->kept;
	h->m.n_keep = below(2) == 0 ? WANTS + KEYS : 1;
	h->m.n_kept = 0;
	member_open_with(&h->m, h->m.number, adopt ? &h->last : NULL, NULL);
	asked_watch(h->m.e);
}

static void
stop(struct host *h)
{
	h->up = false;
	h->last = h->m.session;
	for (struct held *x = held; x < held + HELD_MAX; x++)
		if (x->of == &h->m) {
			x->until_ns = h->m.until_ns;
			x->of = NULL;
		}
	member_close(&h->m);
}

/* Chooses what fails. */

/* Is it to write what that host may not?  Of a lease nobody knows. */
static bool
is_denied(const struct host *h)
{
	char path[] = "/q/a/";

	if (asked == NULL)
		return h->denied != 0 && below(2) == 0;
	for (unsigned k = 0; k < KEYS; k++) {
		path[3] = (char)('a' + k);
		if (h->denied & 1u << k && asked_to_write(path))
			return true;
	}
	return false;
}

static enum fake_mishap
mishap(unsigned number, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	if (calm)
		return FAKE_NONE;
	if (below(12) != 0)
		return is_denied(&host[number]) ? FAKE_DENIED : FAKE_NONE;
	return (enum fake_mishap)below(FAKE_MISHAPS);
}

static int
lag(unsigned number, void *arg)
{
	(void)number;
	(void)arg;
	return calm || below(20) != 0 ? 0 : below(20) == 0 ? FAKE_DROP :
	    (int)below(20);
}

static void
trouble(struct host *h)
{
	host[below(HOSTS)].denied = below(3) == 0 ? 1u << below(KEYS) : 0;
	switch (below(6)) {
	case 0:
		fake_store_cut(member_store, true);
		loop_for(below(200));
		fake_store_cut(member_store, false);
		break;
	case 1:
	case 2:
		fake_cut(h->m.e, true);
		loop_for(below(3) == 0 ? 1000 : below(300));
		fake_cut(h->m.e, false);
		break;
	default:
		stop(h);
		loop_for(below(3) == 0 ? 800 : below(100));
		start(h, below(4) != 0);
	}
}

static bool
are_all_idle(void)
{
	for (int i = 0; i < HOSTS; i++) {
		if (!host[i].up)
			return false;
		for (int j = 0; j < WANTS; j++)
			if (host[i].w[j].c != NULL)
				return false;
		for (int j = 0; j < WANTS + KEYS; j++)
			if (host[i].kept[j].c != NULL)
				return false;
	}
	return true;
}

struct result {
	uint64_t grants, doubles, back, kept, failed, denials;
	struct recipe_stats s;
	unsigned adoptions, losts;
	bool idle;
	unsigned longest;	/* wait */
	size_t queued, sessions;
};

static void
add_up(struct result *to, struct host *h)
{
	struct recipe_stats s;

	recipe_stats(h->m.r, &s);
	to->s.calls += s.calls;
	to->s.unknown += s.unknown;
	to->s.refused += s.refused;
	to->s.stolen += s.stolen;
	to->s.swept += s.swept;
	to->s.gaps += s.gaps;
	to->adoptions += h->m.adoptions;
	to->losts += h->m.losts;
}

static void
run(uint64_t seed, uint64_t most, struct result *to)
{
	uint64_t end_ns = member_now_ns() + 120000000000u;

	rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	member_begin();
	fake_store_mishaps(member_store, mishap, lag, NULL);
	for (unsigned i = 0; i < HOSTS; i++) {
		host[i].m.number = i;
		start(&host[i], false);
		host[i].act = event_new(member_base, -1, 0, on_act, &host[i]);
		on_act(-1, 0, &host[i]);
	}
	while (grants < most && member_now_ns() < end_ns) {
		loop_for(300);
		trouble(&host[below(HOSTS)]);
	}
	calm = true;
	for (int i = 0; i < HOSTS; i++)
		host[i].denied = 0;
	/* calls end after 6 ms: on a busy machine nearly all of them fail */
	for (int i = 0; i < 3 && !are_all_idle(); i++)
		UNTIL(are_all_idle());
	to->idle = are_all_idle();
	UNTIL(count_keys("test/q/") == 0 && count_keys("test/s/") == HOSTS);
	to->queued = count_keys("test/q/");
	to->sessions = count_keys("test/s/");
	to->grants = grants;
	to->doubles = doubles;
	to->back = back;
	to->kept = kept;
	to->failed = lost_wants;
	to->denials = denials;
	to->longest = longest;
	for (int i = 0; i < HOSTS; i++) {
		add_up(to, &host[i]);
		event_free(host[i].act);
		member_close(&host[i].m);
	}
	member_end();
}

int
main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t most = argc > 2 ? strtoull(argv[2], NULL, 0) : 10000;
	struct result *of = mmap(NULL, CHILDREN * sizeof(*of), PROT_READ |
	    PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t sum = 0;
	pid_t child[CHILDREN];
	int status;

	member_ttl_ms = 500;
	member_timeout_ms = 6;
	for (unsigned i = 0; i < CHILDREN; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			run(seed + i, most / CHILDREN + 1, &of[i]);
			_exit(tap_child_status());
		}
	}
	for (unsigned i = 0; i < CHILDREN; i++) {
		struct result *r = &of[i];

		(void)waitpid(child[i], &status, 0);
		is(status, 0, "seed %ju", (uintmax_t)seed + i);
		ok(r->idle, "all who want get, and leave");
		cmp(r->longest, <, LONGEST, "and get a report, soon");
		is((int)r->queued, 0, "nothing is left in the queues");
		is((int)r->sessions, HOSTS, "nor of sessions");
		is((int)r->doubles, 0, "never two at once");
		is((int)r->back, 0, "tokens rise");
		sum += r->grants;
		diag("%ju grants, after %u ms at most; %ju failed (%ju "
		    "denied), %u sessions adopted (%ju claims kept), %u "
		    "lost; last lives: %ju calls, %ju unknown, %ju refused, "
		    "%ju stolen, %ju swept, %ju gaps",
		    (uintmax_t)r->grants, r->longest, (uintmax_t)r->failed,
		    (uintmax_t)r->denials, r->adoptions,
		    (uintmax_t)r->kept, r->losts, (uintmax_t)r->s.calls,
		    (uintmax_t)r->s.unknown, (uintmax_t)r->s.refused,
		    (uintmax_t)r->s.stolen, (uintmax_t)r->s.swept,
		    (uintmax_t)r->s.gaps);
	}
	cmp(sum, >=, most, "grants");
	return done();
}
