/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes frames: see frame.h.  src/live and src/shim call it.
 *
 * One description serves both directions.  The fields of a frame are visited in
 * order, and each step writes or reads its field.  A step that does not fit, or
 * has an invalid value, marks the pass as bad or full, and later steps do
 * nothing.  So the result is checked once, at the end.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/frame.h"

struct pass {
	unsigned char *at;	/* where to write to or read from */
	size_t left;
	bool writes;
	bool bad;		/* invalid */
	bool full;		/* no room for it */
};

static bool
has_room(struct pass *p, size_t len)
{
	if (p->bad || p->full)
		return false;
	p->full = p->writes && len > p->left;
	p->bad = !p->writes && len > p->left;
	return len <= p->left;
}

static void
pass_field(struct pass *p, void *field, size_t len)
{
	if (!has_room(p, len))
		return;
	if (p->writes)
		memcpy(p->at, field, len);
	else
		memcpy(field, p->at, len);
	p->at += len;
	p->left -= len;
}

static void
require(struct pass *p, bool sound)
{
	if (!sound)
		p->bad = true;
}

/* Passes len bytes, none of them NUL. */
static void
pass_bytes(struct pass *p, const char **s, size_t len)
{
	if (!has_room(p, len))
		return;
	if (!p->writes)
		*s = (const char *)p->at;
	require(p, len == 0 || (*s != NULL && memchr(*s, '\0', len) == NULL));
	if (p->bad)
		return;
	if (p->writes && len > 0)
		memcpy(p->at, *s, len);
	p->at += len;
	p->left -= len;
}

static void
pass_text(struct pass *p, struct lhi_frame *f)
{
	pass_field(p, &f->text_len, sizeof(f->text_len));
	require(p, f->text_len <= FRAME_TEXT_MAX);
	pass_bytes(p, &f->text, f->text_len);
}

/* Passes a key without its mode. */
static void
pass_key(struct pass *p, struct lhi_frame_key *k)
{
	pass_field(p, &k->len, sizeof(k->len));
	require(p, k->len >= 1);
	pass_bytes(p, &k->key, k->len);
}

static void
pass_only_key(struct pass *p, struct lhi_frame *f)
{
	if (!p->writes) {
		f->n = 1;
		f->key[0].mode = 0;
	}
	require(p, f->n == 1);
	pass_key(p, &f->key[0]);
}

static void
pass_want(struct pass *p, struct lhi_frame *f)
{
	pass_field(p, &f->wait_ms, sizeof(f->wait_ms));
	pass_field(p, &f->flags, sizeof(f->flags));
	pass_field(p, &f->n, sizeof(f->n));
	require(p, (f->flags & ~FRAME_FLAGS) == 0 && f->n >= 1 &&
	    f->n <= FRAME_KEYS);
	for (uint8_t i = 0; i < f->n && !p->bad && !p->full; i++) {
		pass_field(p, &f->key[i].mode, sizeof(f->key[i].mode));
		require(p, f->key[i].mode <= 1);
		pass_key(p, &f->key[i]);
	}
}

static void
pass_party(struct pass *p, struct lhi_frame_party *q)
{
	pass_field(p, &q->what, sizeof(q->what));
	pass_field(p, &q->mode, sizeof(q->mode));
	pass_field(p, &q->revision, sizeof(q->revision));
	pass_field(p, &q->len, sizeof(q->len));
	require(p, (q->what == FRAME_HOLDS || q->what == FRAME_WAITS) &&
	    q->mode <= 1);
	pass_bytes(p, &q->name, q->len);
}

static void
pass_holders(struct pass *p, struct lhi_frame *f)
{
	pass_field(p, &f->holders, sizeof(f->holders));
	pass_field(p, &f->waiting, sizeof(f->waiting));
	pass_field(p, &f->n, sizeof(f->n));
	require(p, f->n <= FRAME_PARTIES);
	for (uint8_t i = 0; i < f->n && !p->bad && !p->full; i++)
		pass_party(p, &f->party[i]);
}

/* Passes the fields after the head. */
static void
pass_body(struct pass *p, struct lhi_frame *f)
{
	switch (f->type) {
	case FRAME_HELLO:
		pass_field(p, f->uuid, sizeof(f->uuid));
		break;
	case FRAME_WELCOME:
		pass_field(p, f->uuid, sizeof(f->uuid));
		pass_field(p, &f->max_keys, sizeof(f->max_keys));
		pass_field(p, &f->max_wants, sizeof(f->max_wants));
		pass_field(p, &f->ttl_ms, sizeof(f->ttl_ms));
		break;
	case FRAME_WANT:
		pass_want(p, f);
		break;
	case FRAME_STATUS:
	case FRAME_ANCHOR:
		pass_only_key(p, f);
		break;
	case FRAME_FAILED:
		pass_field(p, &f->error, sizeof(f->error));
		require(p, f->error > 0 && f->error < 4096);
		pass_text(p, f);
		break;
	case FRAME_BUSY:
	case FRAME_AWAY:
	case FRAME_DENIED:
	case FRAME_TEXT:
		pass_text(p, f);
		break;
	case FRAME_HOLDERS:
		pass_holders(p, f);
		break;
	case FRAME_DROP:
	case FRAME_STATS:
	case FRAME_QUEUED:
	case FRAME_GRANTED:
		break;
	default:
		p->bad = true;
	}
}

int
lhi_frame_pack(const struct lhi_frame *frame, void *buf, size_t size)
{
	struct lhi_frame f = *frame;	/* a copy, because the steps take
					 * pointers that are not const */
	struct pass p = { .at = buf, .left = size, .writes = true };
	uint16_t magic = FRAME_MAGIC;
	uint8_t version = FRAME_VERSION;

	if (p.left > FRAME_LEN_MAX)
		p.left = size = FRAME_LEN_MAX;
	pass_field(&p, &magic, sizeof(magic));
	pass_field(&p, &version, sizeof(version));
	pass_field(&p, &f.type, sizeof(f.type));
	pass_field(&p, &f.id, sizeof(f.id));
	pass_body(&p, &f);
	return p.bad ? -EINVAL : p.full ? -EMSGSIZE : (int)(size - p.left);
}

int
lhi_frame_read(struct lhi_frame *f, const void *buf, size_t len)
{
	struct pass p = { .at = (unsigned char *)(uintptr_t)buf, .left = len };
	uint16_t magic = 0;
	uint8_t version = 0;

	/* clear everything: the fields that a truncated frame lacks are read,
	 * too */
	memset(f, 0, sizeof(*f));
	pass_field(&p, &magic, sizeof(magic));
	pass_field(&p, &version, sizeof(version));
	require(&p, magic == FRAME_MAGIC && len <= FRAME_LEN_MAX);
	if (!p.bad && version != FRAME_VERSION)
		return -EPROTONOSUPPORT;
	pass_field(&p, &f->type, sizeof(f->type));
	pass_field(&p, &f->id, sizeof(f->id));
	pass_body(&p, f);
	return p.bad || p.left != 0 ? -EBADMSG : 0;
}
