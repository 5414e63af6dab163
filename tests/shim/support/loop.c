/* SPDX-License-Identifier: MIT */
/* Event loops of tests: see loop.h. */
#include <signal.h>
#include <string.h>
#include <bsd/string.h>
#include "shim/support/loop.h"
#include "support/support.h"
#include "tap.h"

#define TURNS 20

/* As the daemon does. */
__attribute__((constructor)) static void
ignore_pipes(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
}

static void
nothing(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	*(bool *)arg = true;
}

/* The time is counted in turns that the loop came round in: while the process
 * does not run, what it would have done is not late. */
bool
loop_until(struct event_base *base, const int *what, int want, int ms)
{
	int turns = ms < TURNS ? ms : TURNS;	/* of a ms at least */
	int64_t us = turns > 0 ? t_ms(ms) * 1000 / turns : 0;
	struct timeval tv = { us / 1000000, us % 1000000 };

	for (int i = 0; i < turns && (what == NULL || *what < want); i++) {
		bool late = false;
		struct event *timer = event_new(base, -1, 0, nothing, &late);

		(void)event_add(timer, &tv);
		while (!late && (what == NULL || *what < want))
			if (event_base_loop(base, EVLOOP_ONCE) != 0)
				break;
		event_free(timer);
	}
	return what != NULL && *what >= want;
}

void
loop_rest(struct event_base *base, int ms)
{
	(void)loop_until(base, NULL, 0, ms);
}

static void
note_state(struct channel *ch, enum channel_state state, const char *why,
    void *arg)
{
	struct noted_channel *n = arg;

	(void)ch;
	n->told++;
	n->state = state;
	(void)strlcpy(n->why, why, sizeof(n->why));
}

struct channel *
loop_connect(struct event_base *base, uint16_t port, struct ssl_ctx_st *tls,
    const char *host, struct noted_channel *n)
{
	struct channel_opts o = { .base = base, .host = host, .port = port,
	    .tls = tls, .connect_ms = 10000, .state = note_state, .arg = n };

	memset(n, 0, sizeof(*n));
	n->ch = channel_open(&o);
	if (n->ch == NULL)
		bail_out("no channel");
	return n->ch;
}

bool
loop_up(struct event_base *base, struct noted_channel *n)
{
	return loop_until(base, &n->told, 1, 20000) && n->state == CHANNEL_UP;
}

static void
note(struct noted *n, const uint8_t *body, size_t len)
{
	n->len = len;
	memset(n->body, 0, sizeof(n->body));
	if (len > 0)
		memcpy(n->body, body, len < sizeof(n->body) ? len :
		    sizeof(n->body) - 1);
}

static void
note_answer(const struct answer *a, void *arg)
{
	struct noted *n = arg;

	n->ended++;
	n->fate = a->fate;
	n->status = a->status;
	(void)strlcpy(n->why, a->message, sizeof(n->why));
	if (n->messages == 0)
		note(n, a->body, a->len);
}

static void
note_message(const uint8_t *body, size_t len, void *arg)
{
	struct noted *n = arg;

	n->messages++;
	note(n, body, len);
}

static bool
begin(struct channel *ch, const char *path, int timeout_ms, const char *body,
    message_fn *message, struct noted *n)
{
	struct call_opts o = { .path = path, .token = "secret",
	    .timeout_ms = timeout_ms, .body = (const uint8_t *)body,
	    .len = strlen(body), .message = message, .answer = note_answer,
	    .arg = n };

	memset(n, 0, sizeof(*n));
	n->c = channel_call(ch, &o);
	return n->c != NULL;
}

bool
loop_call(struct channel *ch, const char *path, int timeout_ms,
    const char *body, struct noted *n)
{
	return begin(ch, path, timeout_ms, body, NULL, n);
}

bool
loop_stream(struct channel *ch, const char *path, struct noted *n)
{
	return begin(ch, path, 0, "begin", note_message, n);
}
