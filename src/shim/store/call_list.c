/* SPDX-License-Identifier: MIT */
/*
 * Calls in the lists of their channel: those under way, and those that have
 * ended and are to be told.
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

/* Streams first: what is looked through for messages is short. */
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
