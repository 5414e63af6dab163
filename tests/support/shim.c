/* SPDX-License-Identifier: MIT */
/* See shim.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/frame.h"
#include "op/cluster_check.h"
#include "op/lease_check.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

#define KEYS 80
#define CLIENTS 32
#define BEAT_MS 20

struct key {
	char name[256];
	struct lhi_ref ref;
	struct lh_lease held;	/* for itself */
	bool holds;
	bool wanted;
	uint32_t mode;		/* LH_... that is wanted */
	unsigned right;
};

struct shim {
	struct t_shim *s;
	struct lh *lh;
	uint64_t epoch;
	int listens;
	int client[CLIENTS];
	struct key key[KEYS];
	int n;
	uint32_t recalls, losses, allowed;
	unsigned char buf[FRAME_LEN_MAX];
};

static void
beat(struct shim *m)
{
	if (m->s->beats)
		lhi_cluster_go_on(&m->lh->v,
		    (uint64_t)(lhi_clock_ns(CLOCK_BOOTTIME) +
		    m->s->ttl_ms * T_NS_PER_MS));
}

static void
begin_session(struct shim *m)
{
	static const uint64_t name[2] = { 7, 7 };

	m->epoch = m->s->adopts ? lhi_cluster_epoch(&m->lh->v) :
	    lhi_cluster_begin(&m->lh->v, name, 1, 1);
	beat(m);
}

static struct key *
key_of(struct shim *m, const char *name, size_t len)
{
	struct lh_key *k;
	struct key *key;

	for (int i = 0; i < m->n; i++)
		if (strlen(m->key[i].name) == len &&
		    memcmp(m->key[i].name, name, len) == 0)
			return &m->key[i];
	if (m->n == KEYS)
		bail_out("too many keys for the shim of a test");
	key = &m->key[m->n++];
	memcpy(key->name, name, len);
	if (lh_key_open(m->lh, key->name, 0, &k) != 0)
		bail_out("the shim's key: %s", lh_error_detail());
	(void)lh_key_close(k);
	return key;
}

/* Hold it in the table. */
static void
hold(struct shim *m, struct key *k)
{
	struct lh_acquire_opts o = t_opts(t_long(1500), t_long(5000));
	int error;

	o.flags = LH_NO_DEADLOCK;
	if (k->holds && lh_extend(m->lh, &k->held, t_long(1500)) == 0)
		return;
	error = lh_acquire(m->lh, k->name, &o, &k->held);
	if (error != 0)
		bail_out("the shim's lease: %s", lh_error_detail());
	k->holds = true;
	k->ref = lhi_lease_ref(&m->lh->v, &k->held);
}

static void
let_go(struct shim *m, struct key *k)
{
	if (k->holds)
		(void)lh_release(m->lh, &k->held);
	k->holds = false;
}

/* take: the key is held here. */
static void
give_right(struct shim *m, struct key *k)
{
	uint64_t r = atomic_fetch_add(&m->s->revision, m->s->step) +
	    m->s->step;

	k->right = k->mode == LH_SHARED ? RIGHT_SHARED : RIGHT_EXCLUSIVE;
	if (lhi_right_raise(&m->lh->v, &k->ref, cluster_base(r)) != 0 ||
	    lhi_right_set(&m->lh->v, &k->ref, k->right, m->epoch) != 0)
		bail_out("no right could be set");
	k->wanted = false;
	let_go(m, k);
}

/* return */
static void
take_back(struct shim *m, struct key *k)
{
	hold(m, k);
	if (lhi_right_set(&m->lh->v, &k->ref, RIGHT_NONE, m->epoch) != 0)
		bail_out("no right could be taken away");
	k->right = RIGHT_NONE;
	let_go(m, k);
}

static bool
covers(const struct key *k)
{
	return k->right == RIGHT_EXCLUSIVE || (k->right == RIGHT_SHARED &&
	    k->mode == LH_SHARED);
}

static void
send_frame(struct shim *m, int fd, struct lhi_frame *f, uint32_t id)
{
	int len;

	f->id = id;
	len = lhi_frame_pack(f, m->buf, sizeof(m->buf));
	if (len < 0)
		bail_out("the shim's frame cannot be packed");
	if (m->s->says == SHIM_HALF && f->type != FRAME_WELCOME)
		len /= 2;
	(void)!send(fd, m->buf, (size_t)len, MSG_NOSIGNAL);
}

static void
say(struct shim *m, int fd, uint32_t id, uint8_t type, const char *text)
{
	struct lhi_frame f = { .type = type, .error = m->s->error,
	    .text = text, .text_len = (uint16_t)strlen(text) };

	send_frame(m, fd, &f, id);
}

static void
remember(struct shim *m, const struct lhi_frame *f)
{
	for (uint8_t i = 0; i < f->n; i++) {
		struct key *k = key_of(m, f->key[i].key, f->key[i].len);

		k->mode = f->key[i].mode;
		k->wanted = true;
	}
}

static void
grant_wanted(struct shim *m, bool again)
{
	for (int i = 0; i < m->n; i++) {
		struct key *k = &m->key[i];

		if (!k->wanted)
			continue;
		hold(m, k);
		if (!covers(k) || again) {
			(void)lhi_right_set(&m->lh->v, &k->ref, RIGHT_NONE,
			    m->epoch);
			give_right(m, k);
		}
		k->wanted = false;
		let_go(m, k);
	}
}

static void
queue_wanted(struct shim *m)
{
	for (int i = 0; i < m->n; i++)
		if (m->key[i].wanted)
			hold(m, &m->key[i]);
}

static void
want(struct shim *m, int fd, const struct lhi_frame *f)
{
	bool again = f->flags & FRAME_REANCHOR, try = f->flags & FRAME_TRY;
	uint32_t id = f->id;

	m->s->keys = f->n;
	t_post(again ? &m->s->reanchors : try ? &m->s->tries : &m->s->wants);
	switch ((int)m->s->says) {
	case SHIM_GRANTS:
		remember(m, f);
		grant_wanted(m, again);
		say(m, fd, id, FRAME_GRANTED, "");
		break;
	case SHIM_BUSY:
		if (try) {
			say(m, fd, id, FRAME_BUSY, "host b has it");
			break;
		}
		/* FALLTHROUGH */
	case SHIM_QUEUES:
		remember(m, f);
		queue_wanted(m);
		say(m, fd, id, FRAME_QUEUED, "");
		break;
	case SHIM_LIES:
	case SHIM_HALF:
		say(m, fd, id, FRAME_GRANTED, "");
		break;
	case SHIM_AWAY:
		say(m, fd, id, FRAME_AWAY, "no leader,\33 says\200 the test");
		break;
	case SHIM_DENIES:
		say(m, fd, id, FRAME_DENIED, "not yours, says the test");
		break;
	case SHIM_FAILS:
		say(m, fd, id, FRAME_FAILED, "says the test");
		break;
	case SHIM_GARBAGE:
		(void)!send(fd, "nonsense, and more of it", 24, MSG_NOSIGNAL);
		break;
	case SHIM_HANGS_UP:
	case SHIM_OTHER_TABLE:	/* whoever knows it from before */
		(void)shutdown(fd, SHUT_RDWR);
		break;
	default:
		break;
	}
}

static void
hear(struct shim *m, int fd, struct lhi_frame *f)
{
	struct lhi_frame a = { .type = FRAME_WELCOME, .max_keys = 64,
	    .max_wants = 256, .ttl_ms = 1000 };
	static const char host[] = "host b, session 9";

	switch (f->type) {
	case FRAME_HELLO:
		memcpy(a.uuid, f->uuid, sizeof(a.uuid));
		a.uuid[0] += m->s->says == SHIM_OTHER_TABLE;
		send_frame(m, fd, &a, f->id);
		break;
	case FRAME_WANT:
		want(m, fd, f);
		break;
	case FRAME_DROP:
		t_post(&m->s->drops);
		break;
	case FRAME_STATUS:
		t_post(&m->s->statuses);
		if (m->s->nobody == WITHOUT_HOLDER) {
			a = (struct lhi_frame){ .type = FRAME_HOLDERS };
			send_frame(m, fd, &a, f->id);
			break;
		}
		if (m->s->nobody == WITHOUT_ANSWER)
			break;
		a = (struct lhi_frame){ .type = FRAME_HOLDERS, .holders = 1,
		    .waiting = 2, .n = 1, .party = { { .what = FRAME_HOLDS,
		    .mode = 0, .revision = 5, .name = host,
		    .len = sizeof(host) - 1 } } };
		if (m->s->says != SHIM_SILENT)
			send_frame(m, fd, &a, f->id);
		break;
	case FRAME_STATS:
		if (m->s->says == SHIM_AWAY)
			say(m, fd, f->id, FRAME_AWAY, "says the test");
		else if (m->s->says != SHIM_SILENT)
			say(m, fd, f->id, FRAME_TEXT, "shim_of_a_test 1\n");
		break;
	case FRAME_ANCHOR:
		t_post(&m->s->anchors);
		break;
	}
}

static void
tend_keys(struct shim *m)
{
	struct t_shim *s = m->s;

	if (s->allowed > m->allowed) {
		m->allowed = s->allowed;
		grant_wanted(m, false);
	}
	if (s->recall.count > m->recalls) {
		m->recalls = s->recall.count;
		for (int i = 0; i < m->n; i++)
			if (m->key[i].right != RIGHT_NONE)
				take_back(m, &m->key[i]);
		t_post(&s->recalled);
	}
	if (s->lose.count > m->losses) {
		m->losses = s->lose.count;
		s->beats = 0;
		(void)lhi_cluster_end(&m->lh->v);
		for (int i = 0; i < m->n; i++) {
			let_go(m, &m->key[i]);
			m->key[i].right = RIGHT_NONE;
			m->key[i].wanted = false;
			(void)lh_break(m->lh, m->key[i].name, NULL, 0);
		}
		t_post(&s->lost);
	}
	for (int i = 0; i < m->n; i++)
		if (m->key[i].holds)
			hold(m, &m->key[i]);
}

static void
serve(struct shim *m)
{
	struct pollfd on[CLIENTS + 1];
	struct lhi_frame f;
	ssize_t n;

	for (int i = 0; i < CLIENTS; i++)
		on[i] = (struct pollfd){ m->client[i], POLLIN, 0 };
	on[CLIENTS] = (struct pollfd){ m->listens, POLLIN, 0 };
	(void)poll(on, CLIENTS + 1, BEAT_MS / 4);
	beat(m);
	tend_keys(m);
	for (int i = 0; i < CLIENTS; i++) {
		if (m->client[i] < 0 || on[i].revents == 0)
			continue;
		n = recv(m->client[i], m->buf, sizeof(m->buf), 0);
		if (n <= 0) {
			(void)close(m->client[i]);
			m->client[i] = -1;
			continue;
		}
		if (lhi_frame_read(&f, m->buf, (size_t)n) != 0)
			bail_out("the library sends what is no frame");
		hear(m, m->client[i], &f);
	}
	for (int i = 0; on[CLIENTS].revents != 0 && i < CLIENTS; i++) {
		if (m->client[i] >= 0)
			continue;
		m->client[i] = accept(m->listens, NULL, NULL);
		break;
	}
}

static int
listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)unlink(path);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(fd, 16) != 0)
		bail_out("cannot listen at %s: %s", path, strerror(errno));
	return fd;
}

static int
run(void *arg)
{
	static struct shim m;
	struct lh_open_opts o = t_open_opts();

	m.s = arg;
	o.application = "shim of a test";
	if (lh_open(&m.lh, m.s->table, &o) != 0)
		bail_out("the shim's table: %s", lh_error_detail());
	lhi_cluster_check_serve(m.lh);
	m.recalls = m.s->recall.count;
	m.losses = m.s->lose.count;
	m.allowed = m.s->allowed;
	for (int i = 0; i < CLIENTS; i++)
		m.client[i] = -1;
	m.listens = listen_at(m.s->path);
	lhi_cluster_listen(&m.lh->v, (uint32_t)getpid(), m.s->path);
	begin_session(&m);
	t_post(&m.s->up);
	for (;;)
		serve(&m);
	return 0;
}

struct t_shim *
t_shim_new(const char *table)
{
	struct t_shim *s = t_shared(sizeof(*s));
	static int n;

	s->table = table;
	snprintf(s->path, sizeof(s->path), "/tmp/lh-shim-%d-%d",
	    (int)getpid(), n++);
	t_remove_at_exit(s->path);
	s->beats = 1;
	s->ttl_ms = t_long(600);
	s->revision = 100;
	s->step = 1;
	return s;
}

void
t_shim_start(struct t_shim *s)
{
	uint32_t ups = s->up.count;

	s->pid = t_fork(run, s);
	if (!t_await(&s->up, ups + 1, T_HANG_MS))
		bail_out("the shim of the test does not come up");
}

struct t_shim *
t_shim(const char *table)
{
	struct t_shim *s = t_shim_new(table);

	t_shim_start(s);
	return s;
}

void
t_shim_kill(struct t_shim *s)
{
	t_kill(s->pid);
}

void
t_shim_recall(struct t_shim *s)
{
	uint32_t n = s->recalled.count;

	t_post(&s->recall);
	if (!t_await(&s->recalled, n + 1, T_HANG_MS))
		bail_out("the shim of the test does not give rights back");
}

void
t_shim_lose(struct t_shim *s)
{
	uint32_t n = s->lost.count;

	t_post(&s->lose);
	if (!t_await(&s->lost, n + 1, T_HANG_MS))
		bail_out("the shim of the test does not lose its session");
}
