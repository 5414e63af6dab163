/* SPDX-License-Identifier: MIT */
/*
 * Nesting: does the command that we were started from hold the key already?
 *
 * A `run` inside a `run` on the same key waits for its own ancestor, which
 * waits for it.  No queue can see that: to the table they are two strangers.
 * So every `run` adds to LEASEHOLD_HELD what it holds,
 *
 *	TABLE:KEY=LEASEID[,TABLE:KEY=LEASEID...]	system tables: +TABLE
 *
 * and a `run` that finds its own table and key there asks the table whether
 * exactly that lease still holds the key.  If so it refuses at once; if not,
 * the entry is old (a daemon that outlived the job it was started from) and
 * means nothing.  The variable alone decides nothing: whoever invents one can
 * only get himself refused, unless he names a reader that is there, and then
 * he has gained what a high --priority would have given him.
 *
 * Two shared leases go together, so a shared `run` inside a shared one is let
 * through.  Only a writer that waits already would bar it, and that one waits
 * for the ancestor: again we should wait for ourselves.  wait.c goes past it,
 * which takes nothing from the writer while the ancestor holds the key anyway.
 *
 * The form is unambiguous: a table's name has neither '+' nor ':', `run` takes
 * no key with a comma, and the id after the last '=' has 32 digits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run.h"
#include "show.h"

#define VARIABLE "LEASEHOLD_HELD"
#define ID_DIGITS 32

/* "TABLE:KEY=" of this run; allocated. */
static char *
entry_head(struct run *r)
{
	char *head = NULL;

	if (asprintf(&head, "%s%s:%s=", r->table.system ? "+" : "",
	    lh_table_name(r->lh), r->key) < 0)
		return NULL;
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
seen(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->mode;
	return 0;
}

/* Does that lease hold the key, in which mode? */
static bool
still_holds(struct run *r, const char *text, uint32_t *mode)
{
	uint64_t id[2];

	return parse_id(text, id) &&
	    lh_status(r->lh, r->key, id, seen, mode) == 0;
}

bool
held_against_us(struct run *r)
{
	const char *p = getenv(VARIABLE);
	bool against = false;
	uint32_t mode;
	size_t len, n;
	char *head;

	r->nested = false;
	if (p == NULL)
		return false;
	head = entry_head(r);
	if (head == NULL)
		return false;	/* then we wait, up to the time given */
	n = strlen(head);
	while (*p != '\0' && !against) {
		len = strcspn(p, ",");
		if (len == n + ID_DIGITS && strncmp(p, head, n) == 0 &&
		    still_holds(r, p + n, &mode)) {
			r->nested = mode == LH_SHARED && r->mode == LH_SHARED;
			against = !r->nested;
		}
		p += len;
		p += *p == ',';
	}
	free(head);
	if (against)
		say("'%s' is held (%s) by the command that this one was "
		    "started from: it would wait for itself", r->name,
		    show_mode(mode));
	return against;
}

char *
held_with_ours(struct run *r)
{
	const char *others = getenv(VARIABLE);
	char id[LEASE_ID_MAX], *head = entry_head(r), *all = NULL;

	if (head == NULL)
		return NULL;
	if (others == NULL || *others == '\0') {
		if (asprintf(&all, "%s%s", head,
		    text_lease_id(id, r->lease.id)) < 0)
			all = NULL;
	} else if (asprintf(&all, "%s,%s%s", others, head,
	    text_lease_id(id, r->lease.id)) < 0) {
		all = NULL;
	}
	free(head);
	return all;
}
