/* SPDX-License-Identifier: MIT */
/*
 * Nesting: finds out if a `run` that this one descends from holds the key.
 *
 * A `run` inside a `run` on the same key would wait for its own ancestor, which
 * waits for it.  The queue cannot detect that, because the two look unrelated
 * to the table.  So every `run` adds its own leases to LEASEHOLD_HELD:
 *
 *	TABLE:KEY=LEASEID[,TABLE:KEY=LEASEID...]	system tables: +TABLE
 *
 * A `run` that finds its own table and key there asks the table whether exactly
 * that lease still holds the key.  If so it refuses at once.  If not, the entry
 * is old (a daemon that outlived the job it was started from) and is ignored.
 * A forged variable gains nothing: its author is refused, or, by naming a
 * reader's lease that exists, gets what a high --priority gives.
 *
 * Two shared leases are compatible, so a shared `run` inside a shared one is
 * allowed.  Only a queued writer would block it, and that writer waits for the
 * ancestor: again the inner `run` would wait for itself.  run_wait.c therefore
 * passes that writer, which loses nothing while the ancestor holds the key.
 * (Of several keys, those that are shared in this way are waited for with the
 * highest priority.  Against a writer that also has the highest priority only
 * -w helps.)
 *
 * A permit of a semaphore is listed by its own key (run_keys.c), so it is never
 * taken for a key of the semaphore's name.  A second permit is granted like any
 * other; only where the ancestors hold all of them would the wait have no end.
 *
 * The form is unambiguous: a table's name contains neither '+' nor ':', a comma
 * in a key is escaped (key_list.c), and the id after the last '=' has 32
 * digits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "daemon/text.h"
#include "key_list.h"
#include "message.h"
#include "nesting.h"
#include "run.h"
#include "run_keys.h"
#include "show.h"

#define VARIABLE "LEASEHOLD_HELD"
#define ID_DIGITS 32

/* Returns "TABLE:KEY=" of that key, allocated. */
static char *
entry_head(struct lh *lh, bool system, const char *key)
{
	char *head = NULL, *escaped = key_list_escape(key);

	if (escaped == NULL || asprintf(&head, "%s%s:%s=",
	    system ? "+" : "", lh_table_name(lh), escaped) < 0)
		head = NULL;
	free(escaped);
	return head;
}

static bool
parse_id(const char *text, uint64_t id[2])
{
	char half[ID_DIGITS / 2 + 1], *end;
	int i;

	for (i = 0; i < 2; i++) {
		memcpy(half, text + i * (ID_DIGITS / 2), ID_DIGITS / 2);
		half[ID_DIGITS / 2] = '\0';
		if (strspn(half, "0123456789abcdef") != ID_DIGITS / 2)
			return false;
		id[i] = strtoull(half, &end, 16);
	}
	return true;
}

static int
note_mode(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->mode;
	return 0;
}

/* True if that lease holds the key; *mode is the lease's mode. */
static bool
is_still_held(struct lh *lh, const char *key, const char *text, uint32_t *mode)
{
	uint64_t id[2];

	return parse_id(text, id) &&
	    lh_status(lh, key, id, note_mode, mode) == 0;
}

bool
nesting_is_held(struct lh *lh, bool system, const char *key, uint32_t *mode)
{
	const char *p = secure_getenv(VARIABLE);
	char *head = p == NULL ? NULL : entry_head(lh, system, key);
	bool held = false;
	size_t len, n;

	if (head == NULL)
		return false;	/* we wait then, up to the time limit */
	n = strlen(head);
	while (*p != '\0' && !held) {
		len = key_list_span(p);
		held = len == n + ID_DIGITS && strncmp(p, head, n) == 0 &&
		    is_still_held(lh, key, p + n, mode);
		p += len;
		p += *p == ',';
	}
	free(head);
	return held;
}

uint32_t
nesting_count_permits(struct lh *lh, bool system, const char *semaphore)
{
	char key[PERMIT_KEY_SIZE];
	uint32_t n = 0, mode;

	for (uint32_t i = 1; i <= LH_SEM_MAX; i++) {
		run_keys_permit(key, semaphore, i);
		n += nesting_is_held(lh, system, key, &mode);
	}
	return n;
}

static bool
permits_are_deadlock(struct run *r)
{
	char name[NAME_MAX_TEXT];

	if (nesting_count_permits(r->lh, r->table.system, r->key) <
	    r->permits || lh_sem_open(r->lh, r->key, r->permits, &r->sem) != 0)
		return false;	/* the acquire says what is wrong with it */
	(void)text_name(name, r->key);
	if (r->wait_ms == 0)
		message_busy("all permits of '%s' are held by commands that "
		    "this one was started from", name);
	else
		message("all permits of '%s' are held by commands that this "
		    "one was started from: it would wait for itself", name);
	return true;
}

bool
nesting_is_deadlock(struct run *r)
{
	char name[NAME_MAX_TEXT];
	uint32_t mode;

	r->nested = false;
	if (r->permits != 0)
		return permits_are_deadlock(r);
	for (size_t i = 0; i < r->n; i++) {
		if (!nesting_is_held(r->lh, r->table.system, r->items[i].key,
		    &mode))
			continue;
		if (mode != LH_SHARED || r->mode != LH_SHARED) {
			const char *held = text_name(name, r->items[i].key);

			/* a try would be busy, a wait would never end */
			if (r->wait_ms == 0)
				message_busy("'%s' is held (%s) by the command "
				    "that this one was started from", held,
				    show_mode(mode));
			else
				message("'%s' is held (%s) by the command "
				    "that this one was started from: it would "
				    "wait for itself", held, show_mode(mode));
			return true;
		}
		r->nested = true;
		r->items[i].priority = UINT32_MAX;
	}
	return false;
}

char *
nesting_list(struct run *r)
{
	const char *others = secure_getenv(VARIABLE);
	char id[LEASE_ID_MAX], *all = strdup(others != NULL ? others : "");

	for (size_t i = 0; all != NULL && i < r->n; i++) {
		char *head = entry_head(r->lh, r->table.system,
		    r->items[i].key), *more = NULL;

		if (head == NULL || asprintf(&more, "%s%s%s%s", all,
		    *all != '\0' ? "," : "", head,
		    text_lease_id(id, r->leases[i].id)) < 0)
			more = NULL;
		free(head);
		free(all);
		all = more;
	}
	return all;
}
