/* SPDX-License-Identifier: MIT */
/*
 * The engine over etcd: how it finds an endpoint that can be used, and what
 * makes it go to another one.
 *
 *	APART -> CONNECT -> (LOGIN ->) STATUS -> CHECK -> READY
 *
 *	LOGIN	with a user, and no token that is known to be valid.  A token is
 *		valid for minutes after its last use, at one member.  When a
 *		request is refused for its token, LOGIN is repeated on the same
 *		channel, and the request after it
 *	STATUS	which cluster (the mark's?) and which version
 *	CHECK	a linearizable read of the root: there is a quorum, we have
 *		permission, and the store is not behind the mark.  (The revision
 *		that a member reports of itself may be behind: it proves
 *		nothing)
 *
 * If a step fails, or the channel goes down, the next endpoint is tried at once
 * (etcd_leave_endpoint).  When all were tried in vain, KV_AWAY is delivered,
 * and the next round waits: 50 ms, doubled each time up to 2 s, half of it
 * random, so that a thousand hosts do not come back together.
 *
 * An endpoint that is silent where a live member answers by itself (CONNECT,
 * STATUS) costs a second each time: a stopped machine, a network that drops
 * everything.  It is left out for a few seconds, unless all others are, too.
 *
 * Refused (etcd_refuse_store): another cluster, a store behind the mark, a
 * wrong password, a user without permission.  This is tried again much later,
 * in case somebody corrected it; nothing is asked meanwhile.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include "daemon/secret.h"
#include "etcd_link.h"

#define ROUND_MIN_MS 50
#define ROUND_MAX_MS 2000
#define LOGIN_MS 5000		/* bcrypt takes 0.1 s when nobody else does */
#define SILENT_TIMES 4		/* connect_ms: so long it is left out */
#define PING_MS 6000		/* oftener than 5 s etcd takes amiss */

int64_t
etcd_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void
etcd_advise(struct etcd *e, const char *fmt, ...)
{
	char text[ETCD_TEXT_MAX];
	va_list ap;

	if (e->o.say == NULL)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	e->o.say(text, e->o.say_arg);
}

static void
set_state(struct etcd *e, enum kv_state state, const char *why)
{
	char copy[ETCD_TEXT_MAX];

	(void)strlcpy(copy, why, sizeof(copy));	/* why may be e->why */
	if (e->state == state && (state == KV_HERE ||
	    strcmp(e->why, copy) == 0))
		return;
	e->state = state;
	e->untold = true;
	(void)strlcpy(e->why, copy, sizeof(e->why));
	event_active(e->soon, 0, 0);
}

/* What was sent is unknown; with a reason, what waits is not applied. */
static void
drop_channel(struct etcd *e, const char *why)
{
	if (e->ch != NULL)
		channel_free(e->ch);
	e->ch = NULL;
	e->watch = NULL;
	e->troubles = 0;
	etcd_end_all(e, why);
}

static void
wait_apart(struct etcd *e, int ms)
{
	struct timeval tv;

	ms = ms / 2 + (int)arc4random_uniform((uint32_t)ms / 2 + 1);
	tv = (struct timeval){ ms / 1000, ms % 1000 * 1000 };
	e->step = STEP_APART;
	(void)event_add(e->again, &tv);
}

static bool
is_silent(const struct etcd *e, unsigned i)
{
	return e->silent_ms[i] != 0 && etcd_now_ms() - e->silent_ms[i] <
	    SILENT_TIMES * e->o.connect_ms;
}

/* The next one of this round.  False: there is none. */
static bool
choose_next(struct etcd *e)
{
	for (unsigned i = 1; i <= e->ends.n; i++) {
		unsigned at = (e->at + i) % e->ends.n;

		if (!(e->tried & 1u << at) && !is_silent(e, at)) {
			e->at = at;
			return true;
		}
	}
	return false;
}

static void
begin_round(struct etcd *e)
{
	e->tried = 0;
	if (!choose_next(e))
		e->at = (e->at + 1) % e->ends.n;
}

static void
note_silent_endpoint(struct etcd *e)
{
	int64_t now = etcd_now_ms();

	if ((e->step == STEP_CONNECT || e->step == STEP_STATUS) &&
	    now - e->step_ms > e->o.connect_ms / 2)
		e->silent_ms[e->at] = now;
}

void
etcd_leave_endpoint(struct etcd *e, const char *why)
{
	const char *name = e->ch == NULL ? "" : channel_name(e->ch);
	char text[ETCD_TEXT_MAX];
	int ms = ROUND_MIN_MS;

	(void)snprintf(text, sizeof(text), "%s: %s", name, why);
	note_silent_endpoint(e);
	e->tried |= 1u << e->at;
	if (choose_next(e)) {
		drop_channel(e, NULL);
		/* not from inside: this may be channel_open()'s failure */
		e->step = STEP_APART;
		event_active(e->again, 0, 0);
		return;
	}
	drop_channel(e, "the store is away");
	for (unsigned i = 0; i < e->rounds && ms < ROUND_MAX_MS; i++)
		ms *= 2;
	e->rounds++;
	begin_round(e);
	wait_apart(e, ms < ROUND_MAX_MS ? ms : ROUND_MAX_MS);
	set_state(e, KV_AWAY, text);
}

void
etcd_refuse_store(struct etcd *e, const char *why)
{
	char text[ETCD_TEXT_MAX];

	(void)snprintf(text, sizeof(text), "%s: %s", e->ch == NULL ? "" :
	    channel_name(e->ch), why);
	set_state(e, KV_REFUSED, text);
	begin_round(e);
	drop_channel(e, "the store is refused");
	wait_apart(e, e->o.refused_ms);
}

bool
etcd_check_mark(struct etcd *e, const struct wire_in *in, int64_t mark)
{
	char why[ETCD_TEXT_MAX];

	if (e->mark.cluster != 0 && in->cluster != e->mark.cluster) {
		(void)snprintf(why, sizeof(why), "another cluster: it is %llx, "
		    "and it was %llx", (unsigned long long)in->cluster,
		    (unsigned long long)e->mark.cluster);
		etcd_refuse_store(e, why);
		return false;
	}
	if (in->revision < mark) {
		(void)snprintf(why, sizeof(why), "the store has gone back in "
		    "time: revision %lld, and it was %lld (restored from an "
		    "older snapshot?)", (long long)in->revision,
		    (long long)mark);
		etcd_refuse_store(e, why);
		return false;
	}
	e->mark.cluster = in->cluster;
	if (in->revision > e->mark.revision)
		e->mark.revision = in->revision;
	return true;
}

bool
etcd_is_token_trouble(const struct etcd *e, const struct answer *a)
{
	return e->o.user != NULL && (a->status == GRPC_UNAUTHENTICATED ||
	    (a->status == GRPC_INVALID &&
	    (strstr(a->message, "auth store is old") != NULL ||
	    strstr(a->message, "user name is empty") != NULL)));
}

/* The steps. */

static void step_status(struct etcd *e);
static void step_check(struct etcd *e);

static void
step_call(struct etcd *e, enum etcd_step step, const char *path,
    struct wire_out body, int timeout_ms, answer_fn *fn)
{
	struct call_opts o = { .path = path, .token = step == STEP_CHECK ?
	    e->token : NULL, .timeout_ms = timeout_ms, .body = body.p,
	    .len = body.len, .answer = fn, .arg = e };
	bool sent = body.p != NULL && channel_call(e->ch, &o) != NULL;

	if (body.p != NULL)
		explicit_bzero(body.p, body.len);	/* a password */
	free(body.p);
	e->step = step;
	e->step_ms = etcd_now_ms();
	if (!sent)
		etcd_leave_endpoint(e, "nothing can be sent");
}

static void
on_login(const struct answer *a, void *arg)
{
	struct etcd *e = arg;
	struct wire_in *in;

	if (a->status == GRPC_PRECONDITION) {	/* there are no users */
		etcd_advise(e, "%s asks for no password, although there is one",
		    channel_name(e->ch));
		step_status(e);
		return;
	}
	if (a->status == GRPC_INVALID || a->status == GRPC_DENIED ||
	    a->status == GRPC_UNAUTHENTICATED) {
		etcd_refuse_store(e, a->message);
		return;
	}
	in = a->fate != FATE_DONE ? NULL :
	    wire_login_answer(a->body, a->len, NULL);
	if (in != NULL && etcd_check_mark(e, in, 0)) {
		e->token = secret_copy(in->token);
		e->token_is_new = true;
		step_status(e);
	} else if (in == NULL) {
		etcd_leave_endpoint(e, a->fate != FATE_DONE ? a->message :
		    "its answer makes no sense");
	}
	if (in != NULL)
		wire_free(in);
}

void
etcd_login(struct etcd *e)
{
	secret_free(e->token);
	e->token = NULL;
	step_call(e, STEP_LOGIN, "/etcdserverpb.Auth/Authenticate",
	    wire_login(e->o.user, e->o.password), LOGIN_MS, on_login);
}

static void
advise_of_version(struct etcd *e, const char *version)
{
	unsigned major = 0, minor = 0, patch = 0;

	if (strncmp(e->version, version, sizeof(e->version) - 1) == 0)
		return;
	(void)strlcpy(e->version, version, sizeof(e->version));
	(void)sscanf(version, "%u.%u.%u", &major, &minor, &patch);
	if (major < 3 || (major == 3 && (minor < 4 ||
	    (minor == 4 && patch < 31) || (minor == 5 && patch < 13))))
		etcd_advise(e, "%s is etcd %s: before 3.4.31 and 3.5.13 it may "
		    "end leases too early when a leader's disk stalls",
		    channel_name(e->ch), e->version);
}

static void
on_status(const struct answer *a, void *arg)
{
	struct etcd *e = arg;
	struct wire_in *in = a->fate != FATE_DONE ? NULL :
	    wire_status_answer(a->body, a->len, NULL);

	if (in == NULL) {
		etcd_leave_endpoint(e, a->fate != FATE_DONE ? a->message :
		    "its answer makes no sense");
		return;
	}
	if (etcd_check_mark(e, in, 0)) {
		advise_of_version(e, in->version);
		step_check(e);
	}
	wire_free(in);
}

static void
step_status(struct etcd *e)
{
	step_call(e, STEP_STATUS, "/etcdserverpb.Maintenance/Status",
	    wire_nothing(), e->o.connect_ms, on_status);
}

static void
set_ready(struct etcd *e)
{
	e->step = STEP_READY;
	e->tried = 0;
	e->token_is_new = false;
	set_state(e, KV_HERE, "");
	e->on_ready(e);
}

static void
on_check(const struct answer *a, void *arg)
{
	struct etcd *e = arg;
	struct wire_in *in;

	if (a->fate == FATE_NOT_APPLIED && etcd_is_token_trouble(e, a) &&
	    !e->token_is_new) {
		etcd_login(e);
		return;
	}
	if (a->fate == FATE_NOT_APPLIED && a->status != GRPC_UNAVAILABLE &&
	    a->status != GRPC_NONE && a->status != GRPC_EXHAUSTED) {
		etcd_refuse_store(e, a->message);
		return;
	}
	in = a->fate != FATE_DONE ? NULL :
	    wire_get_answer(a->body, a->len, NULL);
	if (in == NULL)
		etcd_leave_endpoint(e, a->fate != FATE_DONE ? a->message :
		    "its answer makes no sense");
	else if (etcd_check_mark(e, in, e->step_mark))
		set_ready(e);
	if (in != NULL)
		wire_free(in);
}

static void
step_check(struct etcd *e)
{
	struct kv_bytes root = { (const uint8_t *)e->o.root,
	    strlen(e->o.root) };

	e->step_mark = e->mark.revision;
	step_call(e, STEP_CHECK, "/etcdserverpb.KV/Range", wire_get(root),
	    e->o.connect_ms, on_check);
}

/* The channel. */

static void
on_state(struct channel *ch, enum channel_state state, const char *why,
    void *arg)
{
	struct etcd *e = arg;

	(void)ch;
	if (state == CHANNEL_DOWN)
		etcd_leave_endpoint(e, why);
	else if (e->o.user != NULL && e->token == NULL)
		etcd_login(e);
	else
		step_status(e);
}

void
etcd_connect(struct etcd *e)
{
	const struct endpoint *end = &e->ends.list[e->at];
	struct channel_opts o = { .base = e->o.base, .dns = e->dns,
	    .host = end->host, .port = end->port, .tls = e->tls,
	    .connect_ms = e->o.connect_ms, .ping_ms = PING_MS,
	    .state = on_state, .arg = e };

	e->step = STEP_CONNECT;
	e->step_ms = etcd_now_ms();
	e->ch = channel_open(&o);
	if (e->ch == NULL)
		etcd_leave_endpoint(e, "it cannot be tried");
}

void
etcd_on_retry(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	etcd_connect(arg);
}
