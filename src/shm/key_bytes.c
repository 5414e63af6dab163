/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a key: compares a slot with a name, while the slot may be given
 * to another key at any moment.
 *
 * Layout.  A key is an array of words, its first byte the lowest of the first
 * word, padded with zeroes; five of them are in the slot.  The rest of a longer
 * key is in a record of its own, whose owner is {gen, slot}. A record is in use
 * only while that life of that slot points back at it; others are taken over.
 *
 * Reading.  A slot may change lives at any time, so every reading is validated:
 *	gen, then the word: it is a key,
 *	then the bytes,
 *	then the word: still a key, then gen: still the same.
 * A reserver stores gen after the word is RESERVED and before the bytes, and
 * makes the word FREE after them.  So the first two readings say that the bytes
 * of that life are complete.  (With bytes before gen, or the word before gen,
 * old bytes could be read with a new gen: the wrong key.) The last two say that
 * they were not yet replaced, neither in the slot nor in the record, which is
 * not taken over before the word has ceased to be a key.  The bytes are loaded
 * with acquire and stored with release, in pair with each other and with gen on
 * both sides.
 *
 * Writing is in key_write.c.
 */
#include <errno.h>
#include "base/error.h"
#include "base/hash.h"
#include "shm/key_bytes.h"

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

/* Begins to read a key: the first two readings.  Returns its length, or 0: no
 * key.  *l is where it continues. */
static size_t
begin_read(struct lhi_view *v, const struct shm_slot *s, uint32_t *gen,
    const struct shm_long **l)
{
	size_t len;

	*gen = sh32_load(&s->gen);
	if (word_mode(sh64_load(&s->word)) == WORD_NONE)
		return 0;
	lhi_point("key.reading");
	len = sh32_load(&s->key_info) & KEY_LEN;
	*l = len > SHM_KEY_INLINE ? lhi_key_long(v, s) : NULL;
	return len > SHM_KEY_INLINE && *l == NULL ? 0 : len;
}

/* The last two. */
static bool
is_unchanged(const struct shm_slot *s, uint32_t gen)
{
	return word_mode(sh64_load(&s->word)) != WORD_NONE &&
	    sh32_load(&s->gen) == gen;
}

static uint64_t
stored_word(const struct shm_slot *s, const struct shm_long *l, size_t i)
{
	return sh64_load(i < KEY_INLINE_WORDS ? &s->key[i] :
	    &l->key[i - KEY_INLINE_WORDS]);
}

int
lhi_key_match(struct lhi_view *v, const struct shm_slot *s,
    const struct lhi_key_name *n, uint32_t *gen)
{
	const struct shm_long *l = NULL;
	size_t len = begin_read(v, s, gen, &l);
	bool same = len == n->len;

	for (size_t i = 0; same && i < lhi_key_words(len); i++)
		same = stored_word(s, l, i) == lhi_key_word(n, i);
	return len == 0 || !is_unchanged(s, *gen) ? -EAGAIN : same;
}

size_t
lhi_slot_key(struct lhi_view *v, const struct shm_slot *s, char *buf)
{
	const struct shm_long *l = NULL;
	uint32_t gen;
	size_t len = begin_read(v, s, &gen, &l);

	for (size_t i = 0; i < lhi_key_words(len); i++) {
		uint64_t x = htole64(stored_word(s, l, i));

		memcpy(buf + 8 * i, &x, sizeof(x));
	}
	buf[len] = '\0';
	return is_unchanged(s, gen) ? len : 0;
}
