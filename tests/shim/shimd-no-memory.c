/* SPDX-License-Identifier: MIT */
/* test: slow 7 */
/* test: alone: its calloc() and strdup() fail (--wrap) */
/*
 * A shim gets no memory once, at each place on its way to a newer base, to the
 * holders' names, and to the claims of a killed shim.  The caller gets an error
 * or the answer, the request is repeated, and no other host has the key before
 * D.  The endpoints that cannot be copied are an error as well.
 *
 * Otherwise a moment without memory would end leases, or give a key to two
 * hosts.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <bsd/sys/queue.h>
#include "shim/store/endpoint.h"
#include "support/hosts.h"

#define PLACES_MAX 60

static const char key[] = "cluster:k";
static const struct engine_ops *theirs;
static struct engine_ops ours;
static pthread_t loop;
static bool in_store;		/* which aborts without memory */
static bool in_answer, answers_alone;
static unsigned given_up;
static _Atomic int left;	/* that one fails; 0: none */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *
__wrap_calloc(size_t n, size_t size)
{
	if (left > 0 && pthread_equal(pthread_self(), loop) && !in_store &&
	    (in_answer || !answers_alone) && --left == 0)
		return NULL;
	return __real_calloc(n, size);
}

static bool no_copy;

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

char *
__wrap_strdup(const char *text)
{
	return no_copy ? NULL : __real_strdup(text);
}

/* A call whose answer has not come; a store that closes forgets some. */
struct asked {
	LIST_ENTRY(asked) all;
	kv_answer_fn *fn;
	void *arg;
};

static LIST_HEAD(, asked) asked = LIST_HEAD_INITIALIZER(asked);

static void
forget(struct asked *a)
{
	LIST_REMOVE(a, all);
	free(a);
}

static void
on_answer(const struct kv_answer *answer, void *arg)
{
	struct asked a = *(struct asked *)arg;

	forget(arg);
	in_answer = true;
	a.fn(answer, a.arg);
	in_answer = false;
}

static int
txn(struct engine *e, const struct kv_txn *t, int timeout_ms, kv_answer_fn *fn,
    void *arg)
{
	struct asked *a = malloc(sizeof(*a));
	int error;

	*a = (struct asked){ .fn = fn, .arg = arg };
	LIST_INSERT_HEAD(&asked, a, all);
	in_store = true;
	error = theirs->txn(e, t, timeout_ms, on_answer, a);
	in_store = false;
	if (error != 0)
		forget(a);
	return error;
}

static void
do_begin(void *arg)
{
	struct host *h = arg;

	loop = pthread_self();
	theirs = h->engine->ops;
	ours = *theirs;
	ours.txn = txn;
	h->engine->ops = &ours;
}

static int64_t
token_of_now(struct host *h)
{
	struct lh_lease l;
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);

	if (lh_acquire(h->lh, key, &o, &l) != 0) {
		diag("%s", lh_error_detail());
		return -1;
	}
	(void)lh_release(h->lh, &l);
	return (int64_t)cluster_revision(l.token);
}

/* A base above that of now.  True: it came, or was refused for once. */
static bool
newer(struct host *h, int place, unsigned *refused)
{
	int64_t before = token_of_now(h), after;
	int fd = dial(h), type;

	left = place;
	type = ask(fd, key, RIGHT_EXCLUSIVE, FRAME_REANCHOR);
	after = token_of_now(h);
	(void)close(fd);
	if (before < 0 || after < 0)
		return false;
	*refused += type == FRAME_FAILED || type == 0;
	return after > before || type == FRAME_FAILED || type == 0;
}

/* The same as who is running out of tokens asks for it. */
static bool
drawn(struct host *h, int place)
{
	struct lhi_frame f = { .type = FRAME_ANCHOR, .id = 8, .n = 1 };
	uint64_t before = host_counts(h).reanchored;
	int fd = dial(h);
	bool yes;

	f.key[0].len = sizeof(key) - 1;
	f.key[0].key = key;
	left = place;
	yes = t_until(T_HANG_MS,
	    (say(fd, &f), t_sleep_ms(1), host_counts(h).reanchored > before));
	(void)close(fd);
	return yes;
}

static void
endpoints_without_memory(void)
{
	struct endpoints e;
	char why[SHIM_WHY_MAX] = "";
	int error;

	no_copy = true;
	error = endpoints_parse(&e, "http://127.0.0.1:1", why, sizeof(why));
	no_copy = false;
	is(error, -ENOMEM, "endpoints without memory are refused");
	ok(strstr(why, "memory") != NULL, "and the reason is given: %s", why);
}

/* Asks for the holder.  True if it is named, or if there is no memory. */
static bool
looked(struct host *h, int place, unsigned *refused)
{
	struct lhi_frame f = { .type = FRAME_STATUS, .id = 8, .n = 1 }, g;
	int fd = dial(h), type;

	f.key[0].len = sizeof(key) - 1;
	f.key[0].key = key;
	left = place;
	say(fd, &f);
	type = hear(fd, &g, T_HANG_MS);
	(void)close(fd);
	*refused += type == FRAME_FAILED || type == 0;
	return type == FRAME_HOLDERS || type == 0 ||
	    (type == FRAME_FAILED && (g.error == ENOMEM || g.error == ENOSPC));
}

/* A's shim is killed while a process has the key, and the next one once has no
 * memory.  True: B has not had it meanwhile. */
static bool
adopts(struct host *a, struct host *b, int place)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_lease l, m;
	int error;

	if (lh_acquire(a->lh, key, &o, &l) != 0)
		bail_out("A cannot have the key: %s", lh_error_detail());
	host_down(a);
	a->cut_first = true;
	a->over[0] = '\0';		/* which an earlier one gave up for */
	is(host_up(a), 0, "place %d", place);
	hosts_do(do_begin, a);
	left = place;
	host_cut(a, false);
	(void)t_until(t_ms(1000), a->shim->settled || a->over[0]);
	error = take(b, key, RIGHT_EXCLUSIVE, t_ms(100), &m);
	if (error == 0)
		(void)lh_release(b->lh, &m);
	if (a->over[0] != '\0') {
		given_up++;
		host_down(a);
		is(host_up(a), 0, "it has given up: the next one");
		ok(t_until(T_HANG_MS, host_reaches_now(a)), "is up");
	}
	is(lh_verify(a->lh, &l), 0, "the key is held, place %d", place);
	(void)lh_release(a->lh, &l);
	return error != 0;
}

int
main(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	unsigned refused = 0;
	int place = 0, late = 0;

	endpoints_without_memory();
	hosts_begin(2);
	hosts_do(do_begin, a);
	cmp(token_of_now(a), >, 0, "the key is here");
	do {
		place++;
		if (!newer(a, place, &refused)) {
			diag("place %d", place);
			late++;
		}
	} while (left == 0 && place < PLACES_MAX);
	left = 0;
	cmp(place, >, 3, "places, at each of which there is no memory");
	cmp(place, <, PLACES_MAX, "all of them");
	cmp(refused, >, 0, "some got that error");
	is(late, 0, "nobody waits without an answer");
	for (place = 1; place <= 3; place++)
		ok(drawn(a, place), "asked on the way, at place %d", place);
	place = late = 0;
	refused = 0;
	do {
		place++;
		if (!looked(a, place, &refused)) {
			diag("place %d", place);
			late++;
		}
	} while (left == 0 && place < PLACES_MAX);
	left = 0;
	is(late, 0, "a question for the holders gets them, or the reason");
	cmp(refused, >, 1, "there was no memory at some places");
	cmp(place, <, PLACES_MAX, "all of them");
	place = 0;
	answers_alone = true;
	do {
		place++;
		ok(adopts(a, b, place), "B has not had the key, place %d",
		    place);
	} while (left == 0 && place < PLACES_MAX);
	left = 0;
	cmp(given_up, >, 0, "it gave up at some");
	cmp(place, >, 3, "places on the way to what is there");
	cmp(place, <, PLACES_MAX, "all of them");
	hosts_end();
	while (!LIST_EMPTY(&asked))
		forget(LIST_FIRST(&asked));
	return done();
}
