/* SPDX-License-Identifier: MIT */
/*
 * Finds an endpoint of etcd that can be used, and changes to another one when
 * it fails. etcd.c starts it and is called back at READY.
 *
 *	APART -> CONNECT -> (LOGIN ->) STATUS -> CHECK -> READY
 *
 *	LOGIN	with a user and without a valid token.  A token is valid for
 *		some minutes after its last use, at one member of the cluster.
 *		When a request is refused because of its token, LOGIN is
 *		repeated on the same channel, and then the request
 *	STATUS	reads the cluster's id, which must be that of the mark, and
 *		etcd's version
 *	CHECK	reads the root key, linearizably.  This proves that there is a
 *		quorum, that we have permission, and that the store is not older
 *		than the mark.  (The revision that STATUS returns proves
 *		nothing, because the member may lag behind)
 *
 * If a step fails, or the channel goes down, the next endpoint is tried at once
 * (etcd_leave_endpoint).  When all endpoints have failed, KV_AWAY is reported
 * and the next round waits.  The wait starts at 50 ms and doubles each round up
 * to 2 s.  Half of it is random, so that many hosts do not return at the same
 * moment.
 *
 * An endpoint that does not answer CONNECT or STATUS costs one second each
 * time.  It may be a stopped machine or a network that drops all packets.  Such
 * an endpoint is skipped for some seconds, unless all others are skipped, too.
 *
 * A store is refused (etcd_refuse_store) if it is another cluster or older than
 * the mark, if the password is wrong, or if the user has no permission.  The
 * engine tries again much later, in case an operator has corrected it.  No
 * request is sent in the meantime.
 *
 * A store that was older has lost changes, and with them sessions and claims.
 * Their hosts may use their rights until D (member_session.c), although nobody
 * finds them in the store.  So such a store is refused for mark.wait_ms more,
 * counted from when it was last seen to be older.  Each of these rights was
 * confirmed before that.
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
#define LOGIN_MS 5000		/* bcrypt takes 0.1 s on an idle server */
#define WAIT_STEP_MS 1000	/* how often a wait's rest is reported */
#define SILENT_TIMES 4		/* skipped for this many times connect_ms */
#define PING_MS 6000		/* etcd closes clients that ping more often than
				 * every 5 s */

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

	(void)strlcpy(copy, why, sizeof(copy));	/* because `why` may be
						 * e->why */
	if (e->state == state && (state == KV_HERE ||
	    strcmp(e->why, copy) == 0))
		return;
	e->state = state;
	e->untold = true;
	(void)strlcpy(e->why, copy, sizeof(e->why));
	event_active(e->soon, 0, 0);
}

/* Closes the channel.  Sent requests become UNKNOWN; with a `why`, waiting
 * requests become NOT_APPLIED. */
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

/* Starts STEP_APART for `ms`. */
static void
start_apart(struct etcd *e, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	e->step = STEP_APART;
	(void)event_add(e->again, &tv);
}

/* Starts STEP_APART for a random time of half to all of `ms`. */
static void
wait_apart(struct etcd *e, int ms)
{
	start_apart(e, ms / 2 + (int)arc4random_uniform((uint32_t)ms / 2 + 1));
}

/* True if endpoint i recently did not answer. */
static bool
is_silent(const struct etcd *e, unsigned i)
{
	return e->silent_ms[i] != 0 && etcd_now_ms() - e->silent_ms[i] <
	    SILENT_TIMES * e->o.connect_ms;
}

/* Selects the next endpoint of this round.  Returns false if none is left. */
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
		/* connect from the loop: channel_open() may still be running */
		e->step = STEP_APART;
		event_active(e->again, 0, 0);
		return;
	}
	drop_channel(e, "the store is unreachable");
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

unsigned
etcd_wait_left_ms(const struct etcd *e)
{
	int64_t left = e->mark.wait_ms == 0 ? 0 :
	    e->older_ms + e->mark.wait_ms - etcd_now_ms();

	return left > 0 ? (unsigned)left : 0;
}

/* True if no right from before the store was older can be in use; otherwise the
 * store is refused. */
static bool
is_wait_over(struct etcd *e)
{
	unsigned left = etcd_wait_left_ms(e);
	char why[ETCD_TEXT_MAX];

	if (e->mark.wait_ms == 0)
		return true;
	if (left == 0) {
		e->mark.wait_ms = 0;
		etcd_advise(e, "%s: the wait for rights of the lost past is "
		    "over", channel_name(e->ch));
		return true;
	}
	(void)snprintf(why, sizeof(why), "no key is granted for %u s more: the "
	    "store was older than before, and rights from before may still be "
	    "in use", left / 1000 + 1);
	if (!e->wait_told)
		etcd_advise(e, "%s: %s", channel_name(e->ch), why);
	e->wait_told = true;
	etcd_refuse_store(e, why);
	start_apart(e, left < WAIT_STEP_MS ? (int)left + 1 : WAIT_STEP_MS);
	return false;
}

bool
etcd_check_mark(struct etcd *e, const struct wire_in *in, int64_t mark)
{
	char why[ETCD_TEXT_MAX];

	if (e->mark.cluster != 0 && in->cluster != e->mark.cluster) {
		(void)snprintf(why, sizeof(why), "this is another cluster: its "
		    "id is %llx, and it was %llx",
		    (unsigned long long)in->cluster,
		    (unsigned long long)e->mark.cluster);
		etcd_refuse_store(e, why);
		return false;
	}
	if (in->revision < mark) {
		(void)snprintf(why, sizeof(why), "the store is older than "
		    "before: its revision is %lld, and it was %lld; perhaps it "
		    "was restored from a snapshot", (long long)in->revision,
		    (long long)mark);
		e->mark.wait_ms = e->mark.outlive_ms;
		e->older_ms = etcd_now_ms();
		e->wait_told = false;
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

/* Sends the request of a step.  Frees `body`. */
static void
step_call(struct etcd *e, enum etcd_step step, const char *path,
    struct wire_out body, int timeout_ms, answer_fn *fn)
{
	struct call_opts o = { .path = path, .token = step == STEP_CHECK ?
	    e->token : NULL, .timeout_ms = timeout_ms, .body = body.p,
	    .len = body.len, .answer = fn, .arg = e };
	bool sent = body.p != NULL && channel_call(e->ch, &o) != NULL;

	if (body.p != NULL)
		/* it may contain the password */
		explicit_bzero(body.p, body.len);
	free(body.p);
	e->step = step;
	e->step_ms = etcd_now_ms();
	if (!sent)
		etcd_leave_endpoint(e, "cannot send a request");
}

static void
on_login(const struct answer *a, void *arg)
{
	struct etcd *e = arg;
	struct wire_in *in;

	if (a->status == GRPC_PRECONDITION) {	/* authentication is off */
		etcd_advise(e, "%s requires no password, although one is "
		    "configured",
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
		    "its answer is invalid");
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
		    "its answer is invalid");
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
		    "its answer is invalid");
	else if (etcd_check_mark(e, in, e->step_mark) && is_wait_over(e))
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
		etcd_leave_endpoint(e, "cannot connect to it");
}

void
etcd_on_retry(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	etcd_connect(arg);
}
