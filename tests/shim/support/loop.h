/* SPDX-License-Identifier: MIT */
/* Running an event loop until something holds, and a channel with its calls
 * noted. */
#ifndef TESTS_SHIM_LOOP_H
#define TESTS_SHIM_LOOP_H

#include <stdbool.h>
#include "shim/store/channel.h"

/* Until *what is at least want; false after ms (times LH_TEST_SLOW) in which
 * the loop was let run. */
bool loop_until(struct event_base *base, const int *what, int want, int ms);
void loop_rest(struct event_base *base, int ms);

/* A call, and what came of it. */
struct noted {
	struct call *c;
	int ended;		/* how many callbacks of its end */
	int messages;
	enum fate fate;
	int status;
	char why[256];
	size_t len;		/* of the answer, or of the latest message */
	char body[64];		/* its beginning */
};

/* A channel, and its callbacks. */
struct noted_channel {
	struct channel *ch;
	int told;
	enum channel_state state;
	char why[256];
};

struct channel *loop_connect(struct event_base *base, uint16_t port,
    struct ssl_ctx_st *tls, const char *host, struct noted_channel *n);
bool loop_up(struct event_base *base, struct noted_channel *n);

/* A unary call, or a stream; false: it cannot be made. */
bool loop_call(struct channel *ch, const char *path, int timeout_ms,
    const char *body, struct noted *n);
bool loop_stream(struct channel *ch, const char *path, struct noted *n);

#endif
