/* SPDX-License-Identifier: MIT */
/*
 * The names of our keys in the store:
 *
 *	<root>/s/<session>			a live session.  Its value:
 *						"<ttl in ms> <host>"
 *	<root>/q/<name>/w/<session>-<request>	an exclusive claim of key <name>
 *	<root>/q/<name>/r/<session>-<request>	a shared claim.  Its value, as
 *						of an exclusive one: "<host>"
 *
 * Session and request are sixteen digits, 0-9a-f.  <name> is the key's name;
 * every byte except A-Z a-z 0-9 . _ : - is written as % and two digits,
 * 0-9A-F.  So exactly the keys of one queue begin with "<root>/q/<name>/".
 *
 * The age of a key in a queue, its create_revision, is its place in the queue.
 */
#include <stdio.h>
#include <string.h>
#include "member.h"

struct kv_bytes
kv_bytes_of_text(const char *s)
{
	return (struct kv_bytes){ (const uint8_t *)s, strlen(s) };
}

struct kv_range
kv_range_of_key(struct kv_bytes key)
{
	return (struct kv_range){ key, { NULL, 0 } };
}

bool
kv_bytes_is_equal(struct kv_bytes a, struct kv_bytes b)
{
	return a.len == b.len && (a.len == 0 ||
	    memcmp(a.p, b.p, a.len) == 0);
}

void
names_format_session(struct recipe *r, uint64_t session, char *out)
{
	(void)sprintf(out, "%s/s/%016jx", r->root, (uintmax_t)session);
}

/* True if the byte stands for itself in a name. */
static bool
is_plain(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '.' || c == '_' || c == ':' ||
	    c == '-';
}

size_t
names_format_path(struct recipe *r, struct kv_bytes key, char *out)
{
	static const char digits[] = "0123456789ABCDEF";
	char *p = out + sprintf(out, "%s/q/", r->root);

	for (size_t i = 0; i < key.len; i++) {
		uint8_t c = key.p[i];

		if (is_plain(c)) {
			*p++ = (char)c;
			continue;
		}
		*p++ = '%';
		*p++ = digits[c >> 4];
		*p++ = digits[c & 15];
	}
	*p++ = '/';
	*p = '\0';
	return (size_t)(p - out);
}

void
names_format_queue_key(const char *path, enum claim_mode mode, uint64_t session,
    uint64_t request, char *out)
{
	(void)sprintf(out, "%s%c/%016jx-%016jx", path,
	    mode == CLAIM_SHARED ? 'r' : 'w', (uintmax_t)session,
	    (uintmax_t)request);
}

/* Parsing. */

static int
hex_digit_of(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ?
	    c - 'a' + 10 : -1;
}

static bool
parse_hex(const uint8_t *p, uint64_t *out)
{
	uint64_t x = 0;

	for (int i = 0; i < HEX; i++) {
		int d = hex_digit_of(p[i]);

		if (d < 0)
			return false;
		x = x << 4 | (unsigned)d;
	}
	*out = x;
	return true;
}

/* Returns what follows "<root>/<kind>/"; p is NULL if the key does not begin
 * so. */
static struct kv_bytes
after_root(struct recipe *r, struct kv_bytes key, char kind)
{
	size_t n = strlen(r->root);
	const uint8_t *p = key.p;

	if (key.len < n + 3 || memcmp(p, r->root, n) != 0 || p[n] != '/' ||
	    p[n + 1] != (uint8_t)kind || p[n + 2] != '/')
		return (struct kv_bytes){ NULL, 0 };
	return (struct kv_bytes){ p + n + 3, key.len - n - 3 };
}

bool
names_parse_session(struct recipe *r, struct kv_bytes key, uint64_t *session)
{
	struct kv_bytes b = after_root(r, key, 's');

	return b.p != NULL && b.len == HEX && parse_hex(b.p, session);
}

bool
names_parse_queue_key(struct recipe *r, struct kv_bytes key,
    struct queue_key *p)
{
	struct kv_bytes b = after_root(r, key, 'q');
	const size_t tail = 2 + HEX + 1 + HEX;	/* w/<session>-<request> */
	const uint8_t *t;

	if (b.p == NULL || b.len < tail + 1)
		return false;
	t = b.p + b.len - tail;
	if (t[-1] != '/' || (t[0] != 'r' && t[0] != 'w') || t[1] != '/' ||
	    t[2 + HEX] != '-' || !parse_hex(t + 2, &p->session) ||
	    !parse_hex(t + 3 + HEX, &p->request))
		return false;
	p->mode = t[0] == 'r' ? CLAIM_SHARED : CLAIM_EXCLUSIVE;
	p->path = (struct kv_bytes){ key.p, key.len - tail };
	return p->path.len <= NAME_MAX_LEN - tail &&
	    memchr(b.p, '/', b.len - tail - 1) == NULL;
}

void
names_note_foreign(struct recipe *r, struct kv_bytes key)
{
	size_t n = key.len < sizeof(r->foreign) - 1 ? key.len :
	    sizeof(r->foreign) - 1;

	if (after_root(r, key, 'q').p == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		r->foreign[i] = key.p[i] >= ' ' && key.p[i] < 0x7f ?
		    (char)key.p[i] : '?';
	r->foreign[n] = '\0';
	r->foreign_at_start = r->foreign_at_start || !r->listed_all;
	r->notices |= NOTIFY_FOREIGN;
}

static int
upper_digit(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ?
	    c - 'A' + 10 : -1;
}

/* Returns false if the path contains no valid name. */
bool
names_parse_name(struct recipe *r, struct kv_bytes path, uint8_t *name,
    size_t *len)
{
	struct kv_bytes b = after_root(r, path, 'q');
	size_t n = 0;

	for (size_t i = 0; b.p != NULL && i + 1 < b.len; i++) {
		uint8_t c = b.p[i];

		if (n == CLAIM_KEY_MAX)
			return false;
		if (c == '%') {
			int high, low;

			if (i + 3 >= b.len)
				return false;
			high = upper_digit(b.p[i + 1]);
			low = upper_digit(b.p[i + 2]);
			if (high < 0 || low < 0)
				return false;
			c = (uint8_t)(high << 4 | low);
			i += 2;
		} else if (!is_plain(c)) {
			return false;
		}
		name[n++] = c;
	}
	*len = n;
	return b.p != NULL;
}

unsigned
names_parse_ttl(struct kv_bytes value, unsigned otherwise)
{
	unsigned ms = 0;

	for (size_t i = 0; i < value.len && value.p[i] >= '0' &&
	    value.p[i] <= '9' && ms <= TTL_MAX_MS; i++)
		ms = ms * 10 + (unsigned)(value.p[i] - '0');
	return ms < TTL_MIN_MS || ms > TTL_MAX_MS ? otherwise : ms;
}
