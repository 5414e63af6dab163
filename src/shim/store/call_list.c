/* SPDX-License-Identifier: MIT */
/*
 * Keeps the calls of a channel in two lists: calls in progress, and calls that
 * have ended but whose outcome was not delivered yet. call.c, h2.c and
 * channel_state.c use it.
 */
#include <stdlib.h>
#include <bsd/string.h>
#include <event2/event.h>
#include "call.h"

void
call_free(struct call *c)
{
	if (c->timer != NULL)
		event_free(c->timer);
	if (c->out != NULL)
		evbuffer_free(c->out);
	if (c->in != NULL)
		evbuffer_free(c->in);
	free(c);
}

void
call_deliver_later(struct channel *ch)
{
	event_active(ch->soon, 0, 0);
}

void
call_insert(struct calls *list, struct call *c)
{
	if (c->streaming)
		TAILQ_INSERT_HEAD(list, c, of);
	else
		TAILQ_INSERT_TAIL(list, c, of);
}

void
call_end(struct call *c, int status, const char *message)
{
	struct channel *ch = c->ch;

	if (c->ended)
		return;
	c->ended = true;
	if (message != NULL) {
		c->status = status;
		(void)strlcpy(c->message, message, sizeof(c->message));
	}
	if (c->timer != NULL)
		(void)event_del(c->timer);
	TAILQ_REMOVE(&ch->calls, c, of);
	call_insert(&ch->ended, c);
	call_deliver_later(ch);
}
