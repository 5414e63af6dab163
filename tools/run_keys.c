/* SPDX-License-Identifier: MIT */
/*
 * The keys of a `run`: one, or several with commas between them, which are
 * acquired and lost together.
 *
 * For several keys the library's calls for many keys are used: all or none, in
 * one order, with the acquired ones renewed while the rest is waited for.  One
 * key uses the simpler calls.  The leases are renewed, verified and released
 * together.  r->lost is the index of a lost one, r->expires_ns the earliest
 * deadline.
 *
 * key_list.c describes how a key with a comma is written.
 *
 * With --permits the one key is the name of a semaphore until a permit is
 * held, and from then on the permit's key: the job finds that one in
 * LEASEHOLD_KEY and LEASEHOLD_HELD, and can verify its lease by it.  The name
 * alone would name a key that this command does not hold.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "key_list.h"
#include "message.h"
#include "parse.h"
#include "run.h"
#include "run_keys.h"

static int
add_key(struct run *r, const char *key)
{
	char name[NAME_MAX_TEXT];

	if (parse_key(key) != 0)
		return EX_BAD_USAGE;
	if (r->n == LH_MANY_MAX)
		return usage_error("'%s' is one key too many: up to %d can be "
		    "held together", text_name(name, key), LH_MANY_MAX);
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->items[i].key, key) == 0)
			return usage_error("'%s' is there twice: it would wait "
			    "for itself", text_name(name, key));
	r->items[r->n].key = key;
	r->items[r->n].mode = r->mode;
	r->items[r->n].priority = r->priority;
	r->n++;
	return 0;
}

int
run_keys_split(struct run *r)
{
	char *copy = strdup(r->key), *rest = copy, *key;

	if (copy == NULL) {
		message("out of memory");
		return EX_SYSTEM;
	}
	if (!key_list_is_valid(r->key)) {
		free(copy);
		return usage_error("'%s': a backslash in keys is written \\\\, "
		    "a comma \\,", r->key);
	}
	/* not freed: the items point into it */
	while ((key = key_list_next(&rest)) != NULL)
		if (add_key(r, key) != 0)
			return EX_BAD_USAGE;
	if (r->n == 1)		/* unescaped, for queries and for the command */
		r->key = r->items[0].key;
	return 0;
}

static void
note_first_expiry(struct run *r)
{
	r->expires_ns = INT64_MAX;
	for (size_t i = 0; i < r->n; i++)
		if (r->leases[i].expires_ns < r->expires_ns)
			r->expires_ns = r->leases[i].expires_ns;
}

void
run_keys_permit(char key[PERMIT_KEY_SIZE], const char *name, uint32_t number)
{
	(void)snprintf(key, PERMIT_KEY_SIZE, "%s\1permit %" PRIu32, name,
	    number);
}

static int
is_held(const struct lh_key_info *info, void *arg)
{
	return 0;
}

/* Looks up which permit the lease is on.  A lease that has ended already is on
 * none: the guard will find that out. */
static void
note_permit(struct run *r)
{
	const char *name = r->items[0].key;

	for (uint32_t i = 1; i <= r->permits; i++) {
		run_keys_permit(r->permit_key, name, i);
		if (lh_status(r->lh, r->permit_key, r->leases[0].id,
		    is_held, NULL) == 0) {
			r->key = r->items[0].key = r->permit_key;
			return;
		}
	}
}

static int
acquire_permit(struct run *r, const struct lh_acquire_opts *opts)
{
	int e = r->sem != NULL ? 0 : lh_sem_open(r->lh, r->items[0].key,
	    r->permits, &r->sem);

	if (e == 0)
		e = lh_sem_acquire(r->sem, opts, r->leases);
	if (e == 0)
		note_permit(r);
	return e;
}

int
run_keys_acquire(struct run *r, const struct lh_acquire_opts *opts)
{
	int e;

	if (r->permits != 0)
		e = acquire_permit(r, opts);
	else if (r->n == 1)
		e = lh_acquire(r->lh, r->items[0].key, opts, r->leases);
	else
		e = lh_acquire_many(r->lh, r->items, r->n, opts, r->leases);
	if (e == 0)
		note_first_expiry(r);
	return e;
}

int
run_keys_extend(struct run *r)
{
	int first = 0, e;

	for (size_t i = 0; i < r->n; i++) {
		e = lh_extend(r->lh, &r->leases[i], r->ttl_ms);
		if (e == -ESTALE) {
			r->lost = i;
			return e;
		}
		if (first == 0)
			first = e;
	}
	note_first_expiry(r);
	return first;
}

int
run_keys_verify(struct run *r)
{
	int e;

	for (size_t i = 0; i < r->n; i++) {
		e = lh_verify(r->lh, &r->leases[i]);
		if (e != 0) {
			r->lost = i;
			return e;
		}
	}
	return 0;
}

bool
run_keys_are_lost(struct run *r, int error)
{
	struct lh_stats s = { .size = sizeof(s) };

	return error == -ESTALE || (error == -EUCLEAN &&
	    lh_stats(r->lh, &s) == -EUCLEAN);
}

bool
run_keys_asked(struct run *r)
{
	bool asked = false;

	for (size_t i = 0; i < r->n; i++)
		asked |= lh_lease_asked(r->lh, &r->leases[i]) == 1;
	return asked;
}

int
run_keys_release(struct run *r)
{
	return lh_release_many(r->lh, r->leases, r->n);
}

/* Appends text, with a comma unless it is the first: allocated, or NULL. */
static char *
append_to_list(char *so_far, const char *text)
{
	char *all = NULL;

	if (asprintf(&all, "%s%s%s", so_far != NULL ? so_far : "",
	    so_far != NULL ? "," : "", text) < 0)
		all = NULL;
	free(so_far);
	return all;
}

char *
run_keys_list(const struct run *r, enum run_keys_text what)
{
	char text[LEASE_ID_MAX], *all = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct lh_lease *l = &r->leases[i];

		if (what == RUN_KEYS_TOKENS)
			(void)snprintf(text, sizeof(text), "%" PRIu64,
			    l->token);
		else
			(void)text_lease_id(text, l->id);
		all = append_to_list(all, text);
		if (all == NULL)
			return NULL;
	}
	return all;
}
