/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a key: answers "is this slot that name?", while the slot may be
 * given to another key at any moment.
 *
 * Layout.  A key is an array of words, its first byte the lowest of the first
 * word, padded with zeroes; five of them are in the slot.  The rest of a longer
 * key is in a record of its own, whose owner is {gen, slot}.  A record is in
 * use only while that life of that slot points back at it; others are taken
 * over.
 *
 * Reading.  Nobody keeps a slot from changing lives, so what is read is
 * validated:	gen, then the word: it is a key,
 *		then the bytes,
 *		then the word: still a key, then gen: still the same.
 * A reserver stores gen after the word is RESERVED and before the bytes, and
 * makes the word FREE after them.  So the first two readings say that the bytes
 * of that life are complete (with bytes before gen, or the word before gen, old
 * bytes could be read with a new gen: the wrong key), and the last two that
 * they were not yet replaced, neither in the slot nor in the record, which
 * nobody takes over before the word has ceased to be a key.  The bytes are
 * loaded with acquire and stored with release, in pair with each other and with
 * gen on both sides.
 *
 * A crash or stop of a writer leaves a RESERVED slot (key_slot.c).  The slot
 * points at its record before the record is taken, so a record that was taken
 * is in use, and not lost.
 */
#include <errno.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "shm/evict.h"
#include "shm/backing_grow.h"
#include "shm/key_bytes.h"
#include "shm/cluster_right.h"

#define INLINE_WORDS (SHM_KEY_INLINE / 8)
#define LOOKS 64		/* at records, before there are made more */

int
lhi_name_set(struct lhi_key_name *n, const char *key)
{
	size_t len;

	if (key == NULL)
		return lhi_fail(-EINVAL, "no key was given (NULL)");
	len = strlen(key);
	if (len == 0)
		return lhi_fail(-EINVAL, "the key is empty: use 1 to 255 "
		    "bytes");
	if (len > SHM_KEY_MAX)
		return lhi_fail(-ENAMETOOLONG, "the key is longer than 255 "
		    "bytes: shorten it, or use a hash of it");
	n->key = key;
	n->len = len;
	n->hash = lhi_hash(key, len);
	return 0;
}

static size_t n_words(size_t len) { return (len + 7) / 8; }

static uint64_t
word_of(const struct lhi_key_name *n, size_t i)
{
	return 8 * i + 8 <= n->len ? lhi_key_load8(n->key + 8 * i) :
	    lhi_key_rest(n->key, n->len);
}

static struct shm_long *
long_of(struct lhi_view *v, const struct shm_slot *s)
{
	uint32_t idx = sh32_load(&s->long_idx);

	return idx > 0 && idx < lhi_longs_ready(v) ? &v->longs[idx] : NULL;
}

/*
 * Begin to read a key: the first two readings.  Its length, or 0: no key.  *l
 * is where it goes on.
 */
static size_t
begin(struct lhi_view *v, const struct shm_slot *s, uint32_t *gen,
    const struct shm_long **l)
{
	size_t len;

	*gen = sh32_load(&s->gen);
	if (word_mode(sh64_load(&s->word)) == WORD_NONE)
		return 0;
	lhi_point("key.reading");
	len = sh32_load(&s->key_info) & KEY_LEN;
	*l = len > SHM_KEY_INLINE ? long_of(v, s) : NULL;
	return len > SHM_KEY_INLINE && *l == NULL ? 0 : len;
}

/* The last two. */
static bool
was_that(const struct shm_slot *s, uint32_t gen)
{
	return word_mode(sh64_load(&s->word)) != WORD_NONE &&
	    sh32_load(&s->gen) == gen;
}

static uint64_t
stored(const struct shm_slot *s, const struct shm_long *l, size_t i)
{
	return sh64_load(i < INLINE_WORDS ? &s->key[i] :
	    &l->key[i - INLINE_WORDS]);
}

int
lhi_key_match(struct lhi_view *v, const struct shm_slot *s,
    const struct lhi_key_name *n, uint32_t *gen)
{
	const struct shm_long *l = NULL;
	size_t len = begin(v, s, gen, &l);
	bool same = len == n->len;

	for (size_t i = 0; same && i < n_words(len); i++)
		same = stored(s, l, i) == word_of(n, i);
	return len == 0 || !was_that(s, *gen) ? -EAGAIN : same;
}

size_t
lhi_slot_key(struct lhi_view *v, const struct shm_slot *s, char *buf)
{
	const struct shm_long *l = NULL;
	uint32_t gen;
	size_t len = begin(v, s, &gen, &l);

	for (size_t i = 0; i < n_words(len); i++) {
		uint64_t x = htole64(stored(s, l, i));

		memcpy(buf + 8 * i, &x, sizeof(x));
	}
	buf[len] = '\0';
	return was_that(s, gen) ? len : 0;
}

/* Is the record in use by that life of that slot? */
static bool
long_in_use(struct lhi_view *v, uint32_t idx, uint64_t owner)
{
	struct shm_slot *s = lhi_slot(v, (uint32_t)owner);
	uint64_t w;

	if (s == NULL)
		return false;
	w = sh64_load(&s->word);
	return !(word_mode(w) == WORD_NONE && word_idx(w) == NONE_UNUSED) &&
	    sh32_load(&s->gen) == owner >> 32 &&
	    sh32_load(&s->long_idx) == idx;
}

/*
 * Look at `looks` records, from where the last one was found, for one that can
 * be had; with `evict`, idle keys give theirs up.  1 taken, 0, -EUCLEAN.
 */
static int
take_long(struct lhi_view *v, struct shm_slot *s, uint32_t looks, bool evict)
{
	uint64_t me = lhi_slot_ref(lhi_slot_idx(v, s), sh32_load_rlx(&s->gen));
	uint32_t n = lhi_longs_ready(v);
	uint32_t from = sh32_load_rlx(&v->hdr->long_next) % n;
	int64_t now_ns = lhi_now_ns(v);

	for (uint32_t i = 0; i < looks; i++) {
		uint32_t idx = (from + i) % n;
		uint64_t owner = sh64_load(&v->longs[idx].owner);
		int gone = 1;

		if (idx == 0)
			continue;
		if (owner != 0 && long_in_use(v, idx, owner))
			gone = evict ? lhi_evict_idle(v, (uint32_t)owner,
			    now_ns, i < LHI_SPARES) : 0;
		if (gone < 0)
			return gone;
		if (gone == 0 || (owner != 0 && long_in_use(v, idx, owner)))
			continue;
		sh32_store(&s->long_idx, idx);
		if (sh64_cas(&v->longs[idx].owner, owner, me)) {
			sh32_store_rlx(&v->hdr->long_next, idx + 1);
			return 1;
		}
	}
	sh32_store(&s->long_idx, 0);
	return 0;
}

static int
get_long(struct lhi_view *v, struct shm_slot *s)
{
	int got = take_long(v, s, LOOKS, false), grown = 1;

	while (got == 0 && grown == 1) {
		uint32_t from = lhi_longs_ready(v);

		grown = lhi_grow_longs(v);
		if (grown == 1) {
			sh32_store_rlx(&v->hdr->long_next, from);
			got = take_long(v, s, LOOKS, false);
		}
	}
	if (got == 0)
		got = take_long(v, s, lhi_longs_ready(v) + LHI_SPARES, true);
	if (got != 0)
		return got < 0 ? got : 0;
	if (grown < 0 && grown != -ENOSPC)
		return grown;
	return lhi_fail(-ENOSPC, "the table's room for keys of more than %u "
	    "bytes is used up: all %u of them are held, waited for or kept: "
	    "use shorter keys, or %s", SHM_KEY_INLINE, lhi_longs_ready(v) - 1,
	    grown < 0 ? "make room in /dev/shm, or enlarge it, so that the "
	    "table can grow" : "a table with more keys");
}

int
lhi_key_write(struct lhi_view *v, struct shm_slot *s, const struct lhi_key_name
    *n)
{
	struct shm_long *l = NULL;
	uint32_t gen = sh32_load_rlx(&s->gen), cluster = 0;
	int error;

	sh32_store(&s->long_idx, 0);
	if (n->len > SHM_KEY_INLINE) {
		error = get_long(v, s);
		if (error != 0)
			return error;
		l = long_of(v, s);
	}
	sh64_store(&s->hash, n->hash);
	if (lhi_right_wanted(v, n)) {
		error = lhi_right_begin(v, s);
		if (error != 0)
			return error;
		cluster = KEY_CLUSTER;
	}
	sh32_store(&s->key_info, (uint32_t)n->len | cluster | KEY_LIFE(gen));
	for (size_t i = 0; i < n_words(n->len); i++)
		sh64_store(i < INLINE_WORDS ? &s->key[i] :
		    &l->key[i - INLINE_WORDS], word_of(n, i));
	return 0;
}
