/* SPDX-License-Identifier: MIT */
/*
 * Compares the holders and waiters of keys at two moments.
 *
 * A key_parties is a copy of what lh_list() returned, in a fixed order, so that
 * two of them can be compared in one pass.  A lease or a wait is the same as
 * before if its id is.  A wait that became a lease has another id but the same
 * session and thread.  A lease that was converted has the same session, thread
 * and beginning.
 *
 * Anything that began and ended between the two is in neither.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "daemon/text.h"
#include "show_state.h"
#include "snapshot_diff.h"

static int
add_party(struct key_parties *s, const char *key, const struct lh_party *p)
{
	struct key_party *a;

	if (s->n == s->room) {
		size_t room = s->room == 0 ? 64 : 2 * s->room;

		a = reallocarray(s->parties, room, sizeof(*a));
		if (a == NULL)
			return -ENOMEM;
		s->parties = a;
		s->room = room;
	}
	a = &s->parties[s->n++];
	(void)strncpy(a->key, key, KEY_MAX);
	a->key[KEY_MAX] = '\0';
	a->p = *p;
	return 0;
}

static int
add_key(const struct lh_key_info *info, void *arg)
{
	struct key_parties *s = arg;
	int e = 0;

	for (uint32_t i = 0; e == 0 && i < info->n_holders; i++)
		if (show_state_holds(&info->holders[i]))
			e = add_party(s, info->key, &info->holders[i]);
	for (uint32_t i = 0; e == 0 && i < info->n_waiters; i++)
		e = add_party(s, info->key, &info->waiters[i]);
	return e;
}

static int
compare_number(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int
compare_parties(const void *a, const void *b)
{
	const struct key_party *x = a, *y = b;
	int o = strcmp(x->key, y->key);

	if (o == 0)
		o = (x->p.rank != 0) - (y->p.rank != 0);
	if (o == 0)
		o = compare_number(x->p.id[0], y->p.id[0]);
	return o != 0 ? o : compare_number(x->p.id[1], y->p.id[1]);
}

int
snapshot_diff_read(struct key_parties *s, struct lh *lh, const char *key,
    const char *prefix)
{
	int e;

	s->n = 0;
	e = key != NULL ? lh_status(lh, key, NULL, add_key, s) :
	    lh_list(lh, prefix, add_key, s);
	if (e == -ENOENT)
		e = 0;		/* no holder or waiter */
	if (e == 0 && s->n > 0)
		qsort(s->parties, s->n, sizeof(s->parties[0]), compare_parties);
	return e;
}

void
snapshot_diff_free(struct key_parties *s)
{
	free(s->parties);
	memset(s, 0, sizeof(*s));
}

/* Compares the parties of one key. */
struct pair {
	const struct key_party *was, *now;
	size_t n_was, n_now;
};

static bool
is_same(const struct key_party *a, const struct key_party *b)
{
	return a->p.id[0] == b->p.id[0] && a->p.id[1] == b->p.id[1] &&
	    (a->p.rank == 0) == (b->p.rank == 0);
}

static const struct key_party *
find_party(const struct key_party *in, size_t n, const struct key_party *a)
{
	const struct key_party *p = n == 0 ? NULL :
	    bsearch(a, in, n, sizeof(*in), compare_parties);

	return p != NULL && is_same(p, a) ? p : NULL;
}

/* True if `now`, which is new, is what became of `was`, which is gone. */
static bool
has_become(const struct key_party *was, const struct key_party *now)
{
	if (was->p.id[0] != now->p.id[0] || was->p.tid != now->p.tid ||
	    now->p.rank != 0)
		return false;
	return was->p.rank != 0 || (was->p.mode != now->p.mode &&
	    was->p.since_ns == now->p.since_ns);
}

/* Finds the old party, among holders or waiters, that a new one was before. */
static const struct key_party *
find_origin(const struct pair *p, const struct key_party *now, bool held)
{
	for (size_t i = 0; i < p->n_was; i++) {
		const struct key_party *was = &p->was[i];

		if ((was->p.rank == 0) == held && has_become(was, now) &&
		    find_party(p->now, p->n_now, was) == NULL)
			return was;
	}
	return NULL;
}

static bool
has_successor(const struct pair *p, const struct key_party *was)
{
	for (size_t i = 0; i < p->n_now; i++) {
		const struct key_party *now = &p->now[i];

		if (has_become(was, now) &&
		    find_party(p->was, p->n_was, now) == NULL)
			return true;
	}
	return false;
}

static int
report_gone(const struct pair *p, party_change_fn fn, void *arg)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < p->n_was; i++) {
		const struct key_party *was = &p->was[i];

		if (find_party(p->now, p->n_now, was) == NULL &&
		    !has_successor(p, was))
			e = fn(was->p.rank == 0 ? CHANGE_ENDED : CHANGE_LEFT,
			    was, NULL, arg);
	}
	return e;
}

/* True if the end moves on with the host's right: nobody renews the lease. */
static bool
is_end_of_right(const struct lh_party *p)
{
	return (p->flags & LH_PARTY_ENDS_WITH_RIGHT) != 0;
}

static int
report_present(const struct pair *p, party_change_fn fn, void *arg)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < p->n_now; i++) {
		const struct key_party *now = &p->now[i];
		const struct key_party *was = find_party(p->was, p->n_was, now);

		if (was != NULL && (now->p.expires_ns == was->p.expires_ns ||
		    is_end_of_right(&now->p) || is_end_of_right(&was->p)))
			continue;
		if (was != NULL)
			e = fn(CHANGE_RENEWED, was, now, arg);
		else if (now->p.rank != 0)
			e = fn(CHANGE_QUEUED, NULL, now, arg);
		else if ((was = find_origin(p, now, true)) != NULL)
			e = fn(CHANGE_CONVERTED, was, now, arg);
		else
			e = fn(CHANGE_ACQUIRED, find_origin(p, now, false), now,
			    arg);
	}
	return e;
}

/* Counts the parties, from the first on, that belong to that key. */
static size_t
count_at_key(const struct key_parties *s, size_t from, const char *key)
{
	size_t n = 0;

	while (from + n < s->n && strcmp(s->parties[from + n].key, key) == 0)
		n++;
	return n;
}

int
snapshot_diff_compare(const struct key_parties *before,
    const struct key_parties *now, party_change_fn fn, void *arg)
{
	size_t i = 0, j = 0;
	int e = 0;

	while (e == 0 && (i < before->n || j < now->n)) {
		const char *key = i == before->n ||
		    (j < now->n && strcmp(now->parties[j].key,
		    before->parties[i].key) < 0) ? now->parties[j].key :
		    before->parties[i].key;
		struct pair p = {
			before->parties + i, now->parties + j,
			count_at_key(before, i, key), count_at_key(now, j, key)
		};

		e = report_gone(&p, fn, arg);
		if (e == 0)
			e = report_present(&p, fn, arg);
		i += p.n_was;
		j += p.n_now;
	}
	return e;
}
