/* SPDX-License-Identifier: MIT */
/*
 * G12: frames between processes and the shim.  Each kind comes out as it went
 * in.  Cut, lengthened or changed anywhere, it is refused or is another frame
 * that is whole.  Nothing outside its bytes is ever read: they stand at the
 * very end of a page before one that cannot be touched.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/frame.h"
#include "tap.h"

static unsigned char *edge;	/* behind it nothing can be read */
static char longest[FRAME_TEXT_MAX + 1];

static void
set_up(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = (FRAME_LEN_MAX + 2 * page) / page * page;
	unsigned char *p = mmap(NULL, len + page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + len, page, PROT_NONE) != 0)
		bail_out("no memory");
	edge = p + len;
	memset(longest, 'x', sizeof(longest) - 1);
}

static struct lhi_frame
frame_of(uint8_t type)
{
	static char key[256];
	struct lhi_frame f = { .type = type, .id = 0x01020304 };

	memset(key, 'k', 255);
	switch (type) {
	case FRAME_HELLO:
	case FRAME_WELCOME:
		f.uuid[0] = 5;
		f.uuid[1] = 6;
		f.max_keys = type == FRAME_WELCOME ? 64 : 0;
		f.ttl_ms = type == FRAME_WELCOME ? 10000 : 0;
		break;
	case FRAME_WANT:
		f.n = FRAME_KEYS;
		f.wait_ms = FRAME_NO_END;
		f.flags = FRAME_TRY;
		for (unsigned i = 0; i < f.n; i++)
			f.key[i] = (struct lhi_frame_key){ i & 1,
			    (uint8_t)(255 - i), key };
		break;
	case FRAME_STATUS:
	case FRAME_ANCHOR:
		f.n = 1;
		f.key[0] = (struct lhi_frame_key){ 0, 9, "cluster:k" };
		break;
	case FRAME_FAILED:
		f.error = EIO;
		/* FALLTHROUGH */
	case FRAME_BUSY:
	case FRAME_AWAY:
	case FRAME_DENIED:
	case FRAME_TEXT:
		f.text = longest;
		f.text_len = FRAME_TEXT_MAX;
		break;
	case FRAME_HOLDERS:
		f.holders = 40;
		f.n = FRAME_PARTIES;
		for (unsigned i = 0; i < f.n; i++)
			f.party[i] = (struct lhi_frame_party){ FRAME_HOLDS,
			    1, 200, i, longest };
		break;
	}
	return f;
}

static bool
same_key(const struct lhi_frame_key *k, const struct lhi_frame_key *l)
{
	return k->len == l->len && k->mode == l->mode &&
	    memcmp(k->key, l->key, k->len) == 0;
}

static bool
same_party(const struct lhi_frame_party *p, const struct lhi_frame_party *q)
{
	return p->len == q->len && p->what == q->what && p->mode == q->mode &&
	    p->revision == q->revision && memcmp(p->name, q->name, p->len) == 0;
}

static bool
same_parts(const struct lhi_frame *a, const struct lhi_frame *b)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->type == FRAME_HOLDERS ?
		    !same_party(&a->party[i], &b->party[i]) :
		    !same_key(&a->key[i], &b->key[i]))
			return false;
	return true;
}

static bool
same(const struct lhi_frame *a, const struct lhi_frame *b)
{
	return a->type == b->type && a->id == b->id && a->n == b->n &&
	    a->flags == b->flags && a->wait_ms == b->wait_ms &&
	    memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0 &&
	    a->max_keys == b->max_keys && a->max_wants == b->max_wants &&
	    a->ttl_ms == b->ttl_ms && a->holders == b->holders &&
	    a->waiting == b->waiting && a->error == b->error &&
	    a->text_len == b->text_len && (a->text_len == 0 ||
	    memcmp(a->text, b->text, a->text_len) == 0) && same_parts(a, b);
}

/* Read what stands at the edge; what is read is packed again the same. */
static int
read_at_edge(size_t len)
{
	static unsigned char again[FRAME_LEN_MAX];
	struct lhi_frame f;
	int error = lhi_frame_read(&f, edge - len, len);

	if (error == 0 && (lhi_frame_pack(&f, again, sizeof(again)) !=
	    (int)len || memcmp(again, edge - len, len) != 0))
		return 1;
	return error;
}

static void
there_and_back(uint8_t type, const char *what)
{
	static unsigned char buf[FRAME_LEN_MAX];
	struct lhi_frame f = frame_of(type), g;
	int len = lhi_frame_pack(&f, buf, sizeof(buf)), odd = 0;
	size_t n = len > 0 ? (size_t)len : 0, stride = n > 2000 ? 97 : 1;

	ok(len >= 8 && len <= (int)FRAME_LEN_MAX, "%s: %d bytes", what, len);
	memcpy(edge - n, buf, n);
	ok(lhi_frame_read(&g, edge - n, n) == 0 && same(&f, &g),
	    "%s: read as it was written", what);
	is(lhi_frame_pack(&f, buf, n - 1), -EMSGSIZE, "%s: no room", what);
	for (size_t cut = 0; cut < n; cut += cut < 64 ? 1 : stride) {
		memcpy(edge - cut, buf, cut);
		odd += read_at_edge(cut) != -EBADMSG;
	}
	is(odd, 0, "%s: cut anywhere it is no frame", what);
	memcpy(edge - n - 1, buf, n);
	edge[-1] = 'x';
	is(read_at_edge(n + 1), -EBADMSG, "%s: nor with a byte more", what);
	odd = 0;
	for (size_t at = 0; at < n; at += at < 64 ? 1 : stride) {
		for (unsigned b = 0; b < 256; b += b < 4 ? 1 : 51) {
			memcpy(edge - n, buf, n);
			(edge - n)[at] = (unsigned char)b;
			odd += read_at_edge(n) == 1;
		}
	}
	is(odd, 0, "%s: with any byte changed it is whole or refused", what);
}

static void
refused(void)
{
	unsigned char buf[512];
	struct lhi_frame f = frame_of(FRAME_STATUS);
	int len = lhi_frame_pack(&f, buf, sizeof(buf));

	buf[2]++;
	is(lhi_frame_read(&f, buf, (size_t)len), -EPROTONOSUPPORT,
	    "another version is not the same as no frame");
	f = frame_of(FRAME_STATUS);
	f.key[0].len = 0;
	is(lhi_frame_pack(&f, buf, sizeof(buf)), -EINVAL, "an empty key");
	f.key[0].len = 9;
	f.key[0].key = "with\0nul.";
	is(lhi_frame_pack(&f, buf, sizeof(buf)), -EINVAL, "a key with a NUL");
	f = frame_of(FRAME_WANT);
	f.n = 0;
	is(lhi_frame_pack(&f, buf, sizeof(buf)), -EINVAL, "a WANT of nothing");
	f.n = FRAME_KEYS + 1;
	is(lhi_frame_pack(&f, buf, sizeof(buf)), -EINVAL, "one of too much");
	f = frame_of(FRAME_DROP);
	f.type = 200;
	is(lhi_frame_pack(&f, buf, sizeof(buf)), -EINVAL, "an unknown type");
	f = frame_of(FRAME_FAILED);
	f.error = 0;
	is(lhi_frame_pack(&f, buf, sizeof(buf)), -EINVAL,
	    "a failure without a reason");
	ok(lhi_frame_from_shim(FRAME_GRANTED) &&
	    !lhi_frame_from_shim(FRAME_ANCHOR), "the sides differ");
}

int
main(void)
{
	static const char *const names[256] = {
		[FRAME_HELLO] = "HELLO", [FRAME_WANT] = "WANT",
		[FRAME_DROP] = "DROP", [FRAME_STATUS] = "STATUS",
		[FRAME_STATS] = "STATS", [FRAME_ANCHOR] = "ANCHOR",
		[FRAME_WELCOME] = "WELCOME", [FRAME_QUEUED] = "QUEUED",
		[FRAME_GRANTED] = "GRANTED", [FRAME_BUSY] = "BUSY",
		[FRAME_AWAY] = "AWAY", [FRAME_DENIED] = "DENIED",
		[FRAME_FAILED] = "FAILED", [FRAME_HOLDERS] = "HOLDERS",
		[FRAME_TEXT] = "TEXT",
	};

	set_up();
	for (unsigned type = 0; type < 256; type++)
		if (names[type] != NULL)
			there_and_back((uint8_t)type, names[type]);
	refused();
	return done();
}
