/* SPDX-License-Identifier: MIT */
/*
 * Questions of clients: who holds a key (STATUS), and the metrics (STATS).
 * dispatch.c adds them.
 *
 * Nothing depends on the answers, so they have the lowest priority.  Claims and
 * heartbeats are sent at once; questions wait, and at most ASKING_MAX of them
 * are at the store.  Users take turns.
 *
 * Equal waiting questions of one user are merged.  A question that was sent
 * already is not joined, because its answer may be older than the second
 * process's question.
 *
 * A client may have SHIM_QUERIES_MAX unanswered questions, a user QUESTIONS_MAX
 * different ones.  More are refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold/error.h>
#include "shim.h"

#define ASKING_MAX 4		/* at the store */
#define QUESTIONS_MAX 256	/* waiting questions of a user */
#define ROUND_MAX 16		/* started in one round of the loop */

/* A question, and the clients that asked it. */
struct question {
	TAILQ_ENTRY(question) of;	/* in user->questions or s->asked */
	struct shim *s;
	struct user *user;		/* NULL: it was sent to the store */
	TAILQ_HEAD(, query) queries;
	size_t len;			/* 0: STATS */
	char key[];
};

/* A client that waits for the answer to a question. */
struct query {
	TAILQ_ENTRY(query) of, same;
	struct client *client;
	struct question *question;
	uint32_t id;
};

static void
free_query(struct query *a)
{
	TAILQ_REMOVE(&a->client->queries, a, of);
	a->client->n_queries--;
	TAILQ_REMOVE(&a->question->queries, a, same);
	free(a);
}

static void
free_question(struct question *q)
{
	struct query *a;

	while ((a = TAILQ_FIRST(&q->queries)) != NULL)
		free_query(a);
	if (q->user != NULL) {
		TAILQ_REMOVE(&q->user->questions, q, of);
		q->user->n_questions--;
	} else {
		TAILQ_REMOVE(&q->s->asked, q, of);
		q->s->n_asked--;
	}
	free(q);
}

/* Schedules on_ask(). */
static void
ask_soon(struct shim *s)
{
	struct timeval now = { 0, 0 };

	if (!evtimer_pending(s->ask, NULL))
		(void)evtimer_add(s->ask, &now);
}

/* Sends the answer to all clients that asked, and frees the question. */
static void
answer_question(struct question *q, struct lhi_frame *f)
{
	struct shim *s = q->s;
	struct query *a;

	TAILQ_FOREACH(a, &q->queries, same) {
		f->id = a->id;
		s->count.answers[f->type]++;
		client_send(a->client, f);
	}
	free_question(q);
	ask_soon(s);
}

static void
fail_question(struct question *q, uint8_t type, int error, const char *why)
{
	struct lhi_frame f = { .type = type, .error = error, .text = why,
	    .text_len = (uint16_t)strnlen(why, SHIM_WHY_MAX) };

	answer_question(q, &f);
}

static void
on_holders(int error, const char *why, const struct recipe_holder *h,
    size_t n, void *arg)
{
	char name[FRAME_PARTIES][FRAME_NAME_MAX + 1];
	struct lhi_frame f = { .type = FRAME_HOLDERS };
	struct question *q = arg;

	if (error != 0) {
		fail_question(q, error == EACCES ? FRAME_DENIED :
		    error == EHOSTUNREACH ? FRAME_AWAY : FRAME_FAILED, error,
		    why);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct lhi_frame_party *p = &f.party[f.n];

		f.holders += h[i].holds;
		f.waiting += !h[i].holds;
		if (f.n == FRAME_PARTIES)
			continue;
		p->what = h[i].holds ? FRAME_HOLDS : FRAME_WAITS;
		p->mode = h[i].mode == CLAIM_SHARED ? LH_SHARED : LH_EXCLUSIVE;
		p->revision = (uint64_t)h[i].since;
		p->len = (uint8_t)snprintf(name[f.n], sizeof(name[0]),
		    "%.*s session %016llx%s", h[i].host.len > 128 ? 128 :
		    (int)h[i].host.len, (const char *)h[i].host.p,
		    (unsigned long long)h[i].session,
		    h[i].ours ? " (this host)" : "");
		p->name = name[f.n++];
	}
	answer_question(q, &f);
}

/* Sends a question to the store. */
static void
ask_store(struct question *q)
{
	struct shim *s = q->s;
	struct kv_bytes key = { (const uint8_t *)q->key + s->prefix_len,
	    q->len - s->prefix_len };
	int e;

	TAILQ_REMOVE(&q->user->questions, q, of);
	q->user->n_questions--;
	q->user = NULL;
	TAILQ_INSERT_TAIL(&s->asked, q, of);
	s->n_asked++;
	e = s->recipe == NULL ? -EHOSTUNREACH :
	    recipe_look(s->recipe, key, on_holders, q);
	if (e == -EHOSTUNREACH)
		fail_question(q, FRAME_AWAY, 0, shim_why_away(s));
	else if (e != 0)
		fail_question(q, FRAME_FAILED, -e, lh_strerror(e));
}

static void
answer_stats(struct question *q)
{
	struct lhi_frame f = { .type = FRAME_TEXT };
	size_t len = 0;
	char *text = NULL;
	FILE *m = open_memstream(&text, &len);

	if (m != NULL)
		metrics_write(q->s, m);
	if (m == NULL || fclose(m) != 0 || len > FRAME_TEXT_MAX) {
		fail_question(q, FRAME_FAILED, ENOMEM, "out of memory");
	} else {
		f.text = text;
		f.text_len = (uint16_t)len;
		answer_question(q, &f);
	}
	free(text);
}

/* Returns the next question, and moves its user behind the others. */
static struct question *
next_question(struct shim *s)
{
	struct user *u;

	TAILQ_FOREACH(u, &s->users, all) {
		if (TAILQ_EMPTY(&u->questions))
			continue;
		TAILQ_REMOVE(&s->users, u, all);
		TAILQ_INSERT_TAIL(&s->users, u, all);
		return TAILQ_FIRST(&u->questions);
	}
	return NULL;
}

static void
on_ask(evutil_socket_t fd, short what, void *arg)
{
	struct shim *s = arg;
	struct question *q;

	for (int i = 0; i < ROUND_MAX; i++) {
		q = s->n_asked < ASKING_MAX ? next_question(s) : NULL;
		if (q == NULL)
			return;
		if (q->len == 0)
			answer_stats(q);
		else
			ask_store(q);
	}
	ask_soon(s);
}

static struct question *
find_question(const struct user *u, const char *key, size_t len)
{
	struct question *q;

	TAILQ_FOREACH(q, &u->questions, of)
		if (q->len == len && memcmp(q->key, key, len) == 0)
			return q;
	return NULL;
}

static struct question *
new_question(struct shim *s, struct user *u, const char *key, size_t len)
{
	struct question *q = u->n_questions >= QUESTIONS_MAX ? NULL :
	    calloc(1, sizeof(*q) + len + 1);

	if (q == NULL)
		return NULL;
	q->s = s;
	q->user = u;
	q->len = len;
	memcpy(q->key, key, len);
	TAILQ_INIT(&q->queries);
	TAILQ_INSERT_TAIL(&u->questions, q, of);
	u->n_questions++;
	return q;
}

bool
question_add(struct client *c, uint32_t id, const char *key, size_t len)
{
	struct question *q = find_question(c->user, key, len);
	struct query *a = c->n_queries < SHIM_QUERIES_MAX ?
	    calloc(1, sizeof(*a)) : NULL;

	if (a == NULL)
		return false;
	if (q == NULL)
		q = new_question(c->s, c->user, key, len);
	if (q == NULL) {
		free(a);
		return false;
	}
	a->client = c;
	a->question = q;
	a->id = id;
	TAILQ_INSERT_TAIL(&c->queries, a, of);
	c->n_queries++;
	TAILQ_INSERT_TAIL(&q->queries, a, same);
	ask_soon(c->s);
	return true;
}

void
questions_drop(struct client *c)
{
	struct query *a;

	while ((a = TAILQ_FIRST(&c->queries)) != NULL) {
		struct question *q = a->question;

		free_query(a);
		if (TAILQ_EMPTY(&q->queries) && q->user != NULL)
			free_question(q);
	}
}

int
questions_open(struct shim *s)
{
	s->ask = evtimer_new(s->o.base, on_ask, s);
	return s->ask != NULL ? 0 : -ENOMEM;
}

/* Waiting questions are gone already, with their clients. */
void
questions_close(struct shim *s)
{
	struct question *q;

	while ((q = TAILQ_FIRST(&s->asked)) != NULL)
		free_question(q);
	if (s->ask != NULL)
		event_free(s->ask);
	s->ask = NULL;
}
