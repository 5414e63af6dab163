/* SPDX-License-Identifier: MIT */
/* Changes the state of a channel: connecting, up, down. h2.c and channel.c call
 * it. */
#include <bsd/string.h>
#include <event2/bufferevent.h>
#include "call.h"

void
channel_restart_timer(struct channel *ch, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	(void)event_del(ch->timer);
	if (ms > 0)
		(void)event_add(ch->timer, &tv);
}

static void
change_state(struct channel *ch, enum channel_state state, const char *why)
{
	if (ch->state == state || ch->state == CHANNEL_DOWN)
		return;
	ch->state = state;
	ch->untold = true;
	(void)strlcpy(ch->why, why, sizeof(ch->why));
	call_deliver_later(ch);
}

void
channel_down(struct channel *ch, const char *why)
{
	struct call *c;

	if (ch->state == CHANNEL_DOWN)
		return;
	change_state(ch, CHANNEL_DOWN, why);
	(void)event_del(ch->timer);
	if (ch->bev != NULL)
		(void)bufferevent_disable(ch->bev, EV_READ | EV_WRITE);
	while ((c = TAILQ_FIRST(&ch->calls)) != NULL)
		call_end(c, GRPC_NONE, why);
}

void
channel_up(struct channel *ch)
{
	if (ch->state != CHANNEL_CONNECTING)
		return;
	change_state(ch, CHANNEL_UP, "connected");
	channel_restart_timer(ch, ch->o.ping_ms);
}

void
channel_push(struct channel *ch)
{
	int error = ch->h2 == NULL || ch->state == CHANNEL_DOWN ? 0 :
	    nghttp2_session_send(ch->h2);

	if (error != 0)
		channel_down(ch, nghttp2_strerror(error));
}
