/* SPDX-License-Identifier: MIT */
/*
 * `leasehold log --at`: finds out who held a key at a time in the past.
 *
 * The events of the key, and the ends of sessions, are applied in the order of
 * time up to that moment; the holders that remain held the key then.  In
 * addition, a present holder whose lease is older than that moment held it
 * then, even if no event of it was recorded.
 *
 * Such a present holder is certain.  An answer from events is certain only if
 * no event can be missing between one that determines all holders and that
 * moment.  Such events are an exclusive grant, its end and the creation of the
 * key.  Otherwise a lease that nobody waited for may be missing, and the answer
 * is "not recorded", next to what is known.  A ring that has lost events is
 * complete only from its oldest remaining event.
 *
 * A lease that expired, or whose process died, ends without an event.  It is
 * certain to have lasted until that moment only if something later shows it:
 * the lease is still held, or it was released, broken, converted or handed over
 * afterwards.  A grant with its own release or break, by token, is certain
 * whatever else is missing (log_history.c).
 *
 * A lease of a cluster key ends with its host's right to the key as well, of
 * which there is no event.  So a later release does not show that it lasted
 * until then; a conversion, a hand-over and its being held now do.
 *
 * A copy (--file) shows what was until its last event.  Nobody is certain to
 * have held the key after that: a grant may have followed.  A holder is, if a
 * later event shows it.
 *
 * Where the table's clock is that of another time namespace, its events are
 * compared with the moment by the wall clock at its creation, which may have
 * been set since: no answer is certain then.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "advice.h"
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "log_at.h"
#include "log_history.h"
#include "log_now.h"
#include "log_query.h"
#include "message.h"
#include "moment.h"
#include "output.h"
#include "show.h"
#include "show_event.h"

static int
collect_event(const struct lh_log_entry *e, void *arg)
{
	struct past *p = arg;

	if (e->epoch_ms > p->at_ms && p->next.size == 0 && e->key_hash != 0)
		p->next = *e;
	if (p->n == p->room) {
		size_t room = 2 * p->room + 256;
		struct lh_log_entry *q = reallocarray(p->events, room,
		    sizeof(*q));

		if (q == NULL)
			return -ENOMEM;
		p->events = q;
		p->room = room;
	}
	p->events[p->n] = *e;
	p->events[p->n++].key = NULL;
	return 0;
}

/* Keeps only the events that name no key. */
static int
collect_keyless_event(const struct lh_log_entry *e, void *arg)
{
	struct past *p = arg;
	struct oldest *o = &p->oldest[e->record % RECORDS_MAX];

	if (!o->seen || e->number < o->number)
		*o = (struct oldest){ e->number, e->time_ns, true };
	if (e->epoch_ms > p->latest_ms)
		p->latest_ms = e->epoch_ms;
	return e->key_hash == 0 ? collect_event(e, arg) : 0;
}

/*
 * True if the recorder has all events up to that moment.  A copy does not say
 * when it was made, and is not made at one instant: its last event may have
 * been recorded while other parts were copied already.
 */
static bool
is_covered(const struct past *p)
{
	return p->o->file == NULL || p->at_ms <= p->latest_ms - LOG_LATE_MS;
}

static int
compare_time(const void *a, const void *b)
{
	const struct lh_log_entry *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? 1 : -1;
	if (x->record != y->record)
		return x->record > y->record ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Returns when a conversion or hand-off made that token, in ms, or 0. */
static int64_t
moved_ms(const struct past *p, uint64_t token)
{
	for (size_t i = 0; i < p->n; i++)
		if ((p->events[i].kind == LH_LOG_HANDED_OVER ||
		    p->events[i].kind == LH_LOG_CONVERTED) &&
		    p->events[i].token == token)
			return p->events[i].epoch_ms;
	return 0;
}

static int
note_clock(const struct lh_dump_table *t, void *arg)
{
	log_now_set_clock(&((struct past *)arg)->now, t);
	return 0;
}

/* True if that lease had ended with this host's right to the key by then. */
static bool
had_ended(const struct past *p, const struct lh_party *a)
{
	return (a->flags & LH_PARTY_RIGHT_ENDED) != 0 && a->expires_ns != 0 &&
	    p->at_ms >= p->now.zero_ms + a->expires_ns / 1000000;
}

/* Adds present holders whose lease began before that moment. */
static int
note_key(const struct lh_dump_key *k, void *arg)
{
	struct past *p = arg;
	const struct lh_key_info *info = k->info;

	if (strcmp(info->key, p->o->key) != 0)
		return 0;
	for (uint32_t i = 0; i < info->n_holders; i++) {
		const struct lh_party *a = &info->holders[i];
		struct holder h = { .session = a->id[0], .token = a->token,
		    .mode = a->mode, .since_ms = (int64_t)((uint64_t)
		    p->now.zero_ms + (uint64_t)(a->since_ns / 1000000)) };
		enum log_now_answer held = log_now_is_held(&p->now, a);
		bool ended = (a->flags & LH_PARTY_RIGHT_ENDED) != 0;
		int64_t moved = moved_ms(p, a->token);

		/* (The end of an expired lease is not recorded.  A lease that
		 * was converted or handed over is as old as the original.) */
		if (had_ended(p, a))
			log_history_drop(p, h.token, h.session, LH_NO_RECORD);
		if (h.since_ms > p->at_ms || moved > p->at_ms ||
		    (a->flags & LH_PARTY_FOR_CLUSTER) != 0 || had_ended(p, a) ||
		    (!ended && (a->expires_ns <= p->now.now_ns ||
		    held == LOG_NOW_ENDED)))
			continue;
		h.certain = h.stayed = held == LOG_NOW_HELD && !ended;
		(void)show_party(h.who, a);
		if ((a->flags & LH_PARTY_SESSION) != 0 && moved == 0 &&
		    a->since_ns <= p->lost_ns) {
			h.certain = false;
			(void)strcat(h.who, ", or who handed it over to that");
		}
		/* its event may have been applied already */
		log_history_drop(p, h.token, h.session, LH_NO_RECORD);
		if (h.mode == LH_EXCLUSIVE)
			p->n_holders = 0;
		(void)log_history_add(p, &h);
	}
	return 0;
}

static int
read_history(struct past *p)
{
	const struct lh_dump_to to = { sizeof(to), note_clock, NULL, note_key,
	    NULL };
	struct lh_log_opts ask = log_query(p->o);
	int error = lh_log(p->o->table.name, &ask, collect_event, p);

	ask.key = NULL;
	if (error == 0)
		error = lh_log(p->o->table.name, &ask, collect_keyless_event,
		    p);
	if (error != 0)
		return error;
	if (p->n > 0)
		qsort(p->events, p->n, sizeof(p->events[0]), compare_time);
	for (uint32_t i = 0; i < RECORDS_MAX; i++)
		if (p->oldest[i].seen && p->oldest[i].number > 0 &&
		    p->oldest[i].time_ns > p->lost_ns)
			p->lost_ns = p->oldest[i].time_ns;
	for (size_t i = 0; i < p->n; i++) {
		if (p->events[i].epoch_ms <= p->at_ms)
			log_history_apply(p, &p->events[i]);
		else
			log_history_later(p, &p->events[i]);
	}
	error = lh_dump(p->o->table.name, p->o->file, ask.flags, &to, p);
	return error > 0 ? 0 : error;	/* damage is reported by fsck */
}

static int
answer(const struct past *p, bool certain)
{
	return !certain ? EX_NOT_RECORDED : p->n_holders > 0 ? EX_YES : EX_NO;
}

static int
print_json(const struct past *p, bool certain)
{
	json_t *o = json_object(), *list = json_array();
	int bad = show_set_bytes(o, "key", p->o->key);

	for (size_t i = 0; i < p->n_holders; i++) {
		const struct holder *h = &p->holders[i];
		json_t *one = json_pack("{s:s, s:s, s:b}", "who", h->who,
		    "mode", show_mode(h->mode), "certain", (int)h->certain);

		bad |= show_set_u64(one, "token", h->token);
		bad |= show_set_u64(one, "session", h->session);
		bad |= show_set_u64(one, "since_ms", (uint64_t)h->since_ms);
		bad |= json_array_append_new(list, one);
	}
	bad |= show_set_u64(o, "at_ms", (uint64_t)p->at_ms);
	bad |= json_object_set_new(o, "certain", json_boolean(certain));
	bad |= json_object_set_new(o, "holders", list);
	if (bad != 0) {
		json_decref(o);
		o = NULL;
	}
	return show_json(o, answer(p, certain));
}

static void
print_neighbour(const char *word, const char *key, struct lh_log_entry *e)
{
	if (e->size == 0)
		return;
	printf("%s that: ", word);
	e->key = key;
	show_event_print(e);
}

static int
print_text(struct past *p, bool certain)
{
	char name[NAME_MAX_TEXT], when[MOMENT_MAX], since[MOMENT_MAX];
	char last[MOMENT_MAX];

	(void)text_name(name, p->o->key);
	(void)show_event_moment(when, p->at_ms);
	for (size_t i = 0; i < p->n_holders; i++) {
		const struct holder *h = &p->holders[i];

		printf("%s was held at %s by %s, %s, token %" PRIu64
		    ", since %s%s\n", name, when, h->who, show_mode(h->mode),
		    h->token, show_event_moment(since, h->since_ms),
		    h->certain ? "" : ", as far as is known");
	}
	if (p->n_holders == 0)
		printf("nobody %s %s at %s\n", certain ? "held" :
		    "is known to have held", name, when);
	if (p->now.other_clock)
		printf("(which of its times that was is not known here: the "
		    "table is of another time namespace)\n");
	else if (!certain && p->now.cluster)
		printf("(a host records its own leases: another host may have "
		    "held it, and its log tells)\n");
	else if (!certain && !is_covered(p))
		printf("(the copy's last event is of %s: what was done since, "
		    "or up to %d s before, may be missing from it)\n",
		    show_event_moment(last, p->latest_ms), LOG_LATE_MS / 1000);
	else if (!certain)
		printf("(what programs acquire through the library, without a "
		    "wait, is recorded only while '%s')\n",
		    ADVICE(&p->o->table, "log --grants on"));
	if (p->n_holders == 0) {
		print_neighbour("before", p->o->key, &p->last);
		print_neighbour("after", p->o->key, &p->next);
	}
	return output_flush(answer(p, certain));
}

int
log_at(const struct log_opts *o)
{
	struct past p = { .o = o, .lost_ns = INT64_MIN, .latest_ms = 0 };
	int error, status = moment_parse(o->at, &p.at_ms);
	bool certain;

	if (status != 0)
		return status;
	if (p.at_ms > moment_now_ms())
		return usage_error("--at: '%s' is in the future", o->at);
	error = log_now_ask(&p.now, o);
	if (error == 0)
		error = read_history(&p);
	certain = p.settled && p.n_holders == 0 && !p.now.other_clock &&
	    !p.now.cluster && is_covered(&p);
	for (size_t i = 0; i < p.n_holders; i++) {
		p.holders[i].certain &= p.holders[i].stayed &&
		    !p.now.other_clock;
		certain |= p.holders[i].certain;
	}
	if (error != 0) {
		status = log_query_error(o, error);
		status = error == -ENOENT ? EX_NOT_RECORDED : status;
	} else if (p.no_memory)
		status = message_error(-ENOMEM, NULL, "cannot tell");
	else
		status = o->table.json ? print_json(&p, certain) :
		    print_text(&p, certain);
	log_now_free(&p.now);
	free(p.events);
	free(p.holders);
	return status;
}
