/* SPDX-License-Identifier: MIT */
/*
 * Acquiring by the name that this thread used last compares the name with the
 * slot's key (lhi_slot_is()).  It reads no byte past the name's NUL, which may
 * be the last of a page, and takes no other name for it: a shorter one, a
 * longer one, or one that differs in a byte.
 *
 * Otherwise a program would crash on a name at the end of its memory, or be
 * granted another key.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "support/support.h"
#include "tap.h"

#define LEN_MAX 70		/* two more than an inline key, and long ones */

static struct lh *lh, *other;
static char *page_end;

/* Puts n bytes and a NUL at the end of the page. */
static char *
at_the_end(const char *bytes, size_t n)
{
	char *p = page_end - n - 1;

	memcpy(p, bytes, n);
	p[n] = '\0';
	return p;
}

/* True if l is a lease on exactly that key. */
static bool
is_lease_of(const struct lh_lease *l, const char *name, size_t n)
{
	char key[LEN_MAX + 2];

	memcpy(key, name, n);
	key[n] = '\0';
	return lh_verify_token(lh, key, l->token) == 0;
}

/* Acquires another name after `was`: wrong if it is granted `was`. */
static int
other_name(const char *was, size_t len, const char *name, size_t n)
{
	struct lh_lease l, theirs;
	int wrong = 0;

	/* the last name's lease is over, and the name is remembered */
	for (int i = 0; i < 3; i++)
		wrong += lh_acquire(lh, at_the_end(was, len), NULL, &l) != 0 ||
		    !is_lease_of(&l, was, len) || lh_release(lh, &l) != 0;
	/* if it was taken for that, the key would be held twice */
	wrong += t_acquire(other, at_the_end(was, len), 60000, 0, &theirs) != 0;
	wrong += lh_release(other, &theirs) != 0;
	for (int i = 0; i < 3; i++)
		wrong += lh_acquire(lh, at_the_end(was, len), NULL, &l) != 0 ||
		    lh_release(lh, &l) != 0;
	wrong += lh_acquire(lh, at_the_end(name, n), NULL, &l) != 0 ||
	    !is_lease_of(&l, name, n) ||
	    t_acquire(other, at_the_end(was, len), 60000, 0, &theirs) != 0;
	wrong += lh_release(other, &theirs) != 0;
	wrong += lh_release(lh, &l) != 0;
	return wrong;
}

int
main(void)
{
	const char *table = t_table();
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char was[LEN_MAX + 2], name[LEN_MAX + 2];
	struct lh_lease l;

	if (two == MAP_FAILED || mprotect(two + page, page, PROT_NONE) != 0)
		bail_out("no page with an end");
	page_end = two + page;
	lh = t_open(table);
	other = t_open(table);
	for (size_t len = 1; len <= LEN_MAX; len++) {
		int wrong = 0;

		memset(was, 'a' + (int)(len % 20), sizeof(was));
		memcpy(name, was, sizeof(name));
		wrong += other_name(was, len, name, len + 1);
		if (len > 1)
			wrong += other_name(was, len, name, len - 1);
		name[len - 1] ^= 1;
		wrong += other_name(was, len, name, len);
		name[len - 1] ^= 1;
		name[0] ^= 1;
		wrong += other_name(was, len, name, len);
		is(wrong, 0, "a name of %zu bytes", len);
	}
	is(lh_acquire(lh, at_the_end("", 0), NULL, &l), -EINVAL,
	    "no name at all");
	t_close(other);
	t_close(lh);
	return done();
}
