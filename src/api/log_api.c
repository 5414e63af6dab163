/* SPDX-License-Identifier: MIT */
/*
 * Reads the flight recorder: see log.h.  shm/events.c writes events, and says
 * which of them are valid.
 *
 * Sessions, keys and sizes come from a picture of the table (image.c). Rings
 * are read from the file, so that nothing without memory is touched.  They are
 * read twice: a part that was the same both times was there in between.
 *
 * The session of an event follows from the events before it in its ring: it is
 * the last one that recorded its beginning.  If that has been overwritten, all
 * remaining events are of the record's last session.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <leasehold.h>
#include "offline/image.h"
#include "base/clock.h"
#include "base/error.h"
#include "prim/descriptor.h"
#include "proc/attachment.h"
#include "shm/damaged.h"
#include "shm/events.h"
#include "shm/session_liveness.h"
#include "shm/table_object.h"

#define PARTS 128u		/* more than a ring has events */

_Static_assert(PARTS >= SHM_EVENTS, "events of a ring");

/* An event, before it is reported. */
struct found {
	struct lhi_event e;
	int64_t time_ns;
	uint64_t number;
	uint32_t record;
	struct who {
		uint64_t sid;	/* 0: not known */
		uint32_t pid, uid;
		char name[LH_APPLICATION_MAX + 1];
	} who;
};

struct log {
	struct lhi_image im;
	const struct lh_log_opts *opts;
	uint64_t hash;		/* of the key that is searched */
	int fd;
	struct found *found;
	size_t n, room;
	struct began {		/* sessions whose beginning was read */
		uint64_t sid;
		uint32_t pid;
		char name[LH_APPLICATION_MAX + 1];
	} *began;
	size_t n_began, room_began;
	struct known {		/* keys, by hash */
		uint64_t hash;
		char *name;
	} *keys;
	size_t n_keys;
};

static bool
of_session(unsigned kind)
{
	return kind == LH_LOG_SESSION_BEGAN ||
	    kind == LH_LOG_SESSION_ENDED || kind == LH_LOG_FOUND_DEAD ||
	    kind == LH_LOG_BURIED || kind == LH_LOG_GRANTS_ON ||
	    kind == LH_LOG_GRANTS_OFF;
}

static int
by_number(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int
by_time(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? 1 : -1;
	if (x->record != y->record)
		return x->record > y->record ? 1 : -1;
	return by_number(a, b);
}

static bool
is_wanted(const struct log *l, const struct found *f)
{
	return f->e.kind != EVENT_NAME && f->time_ns > l->opts->since_ns &&
	    (l->opts->key == NULL ||
	    (!of_session(f->e.kind) && f->e.hash == l->hash));
}

static int
keep_event(struct log *l, const struct found *f)
{
	if (l->n == l->room) {
		size_t room = 2 * l->room + 256;
		struct found *p = reallocarray(l->found, room, sizeof(*p));

		if (p == NULL)
			return lhi_fail(-ENOMEM, "out of memory");
		l->found = p;
		l->room = room;
	}
	l->found[l->n++] = *f;
	return 0;
}

/* Returns the session that has a record, or had it last. */
static struct who
session_of_record(const struct log *l, uint32_t record)
{
	const struct shm_session *se = &l->im.v.sessions[record];
	uint64_t st = sh64_load(&se->state);
	struct who w = { .sid = sid_make(sess_inc(st), record),
	    .pid = sh32_load_rlx(&se->pid), .uid = sh32_load_rlx(&se->uid) };

	memcpy(w.name, se->application, LH_APPLICATION_MAX);
	if (sess_st(st) == SESS_RESERVED)
		w = (struct who){ .sid = 0 };
	return w;
}

/*
 * Returns the session of that record that an event is about.  By the low bits
 * of its incarnation, this is the present one, or one that recorded its
 * beginning.
 */
static void
set_other(const struct log *l, struct lh_log_entry *e, const struct found *f)
{
	const struct lhi_view *v = &l->im.v;
	const uint32_t tag = f->e.claim;
	const bool whole = of_session(f->e.kind);
	struct who w;

	e->other = f->e.other - 1;
	e->other_named = tag & 1;
	if (whole) {	/* the event says so itself */
		e->other_session_id = lhi_view_session_id(v, f->e.token);
		e->other_pid = (uint32_t)f->e.hash;
	}
	w = session_of_record(l, e->other);
	if (w.sid != 0 && lhi_event_tag(w.sid, tag & 1) == tag) {
		e->other_session_id = lhi_view_session_id(v, w.sid);
		e->other_pid = w.pid;
		memcpy(e->other_application, w.name, LH_APPLICATION_MAX);
		return;
	}
	for (size_t i = 0; i < l->n_began; i++) {
		const struct began *b = &l->began[i];

		if (sid_idx(b->sid) == e->other &&
		    lhi_event_tag(b->sid, false) == tag) {
			e->other_session_id = lhi_view_session_id(v, b->sid);
			e->other_pid = b->pid;
			memcpy(e->other_application, b->name,
			    sizeof(e->other_application));
		}
	}
}

static int
note_began(struct log *l, const struct who *w)
{
	struct began *b;

	if (l->n_began == l->room_began) {
		size_t room = 2 * l->room_began + 64;

		b = reallocarray(l->began, room, sizeof(*b));
		if (b == NULL)
			return lhi_fail(-ENOMEM, "out of memory");
		l->began = b;
		l->room_began = room;
	}
	b = &l->began[l->n_began++];
	*b = (struct began){ .sid = w->sid, .pid = w->pid };
	memcpy(b->name, w->name, sizeof(b->name));
	return 0;
}

/* As the event after its first one says. */
static void
set_name(struct who *w, const struct lhi_event *e)
{
	if (e->kind != EVENT_NAME)
		return;
	memcpy(w->name, &e->hash, sizeof(e->hash));
	memcpy(w->name + sizeof(e->hash), &e->token, sizeof(e->token));
}

/* Finds the session of each event, in the order of their numbers. */
static void
attribute_events(const struct log *l, uint32_t record, struct found f[PARTS],
    size_t n)
{
	struct who now = session_of_record(l, record), w;

	/* a named session does not write to the ring of its record */
	if (lhi_named_is(&l->im.v, now.sid))
		now = (struct who){ .sid = 0 };
	w = now;
	for (size_t i = 0; i < n; i++) {
		if (f[i].e.kind == LH_LOG_SESSION_BEGAN ||
		    f[i].e.kind == EVENT_NAME)
			w = (struct who){ .sid = 0 };	/* an earlier session */
	}
	for (size_t i = 0; i < n; i++) {
		const struct lhi_event *e = &f[i].e;

		if (e->kind == LH_LOG_SESSION_BEGAN && e->token == now.sid)
			w = now;
		else if (e->kind == LH_LOG_SESSION_BEGAN)
			w = (struct who){ e->token, (uint32_t)e->hash,
			    (uint32_t)(e->hash >> 32), "" };
		if (w.name[0] == '\0' && i + 1 < n)
			set_name(&w, &f[i + 1].e);
		f[i].who = e->visitor ? (struct who){ .sid = 0 } : w;
	}
}

static int
read_ring(struct log *l, uint32_t record, const struct shm_ring r[2])
{
	struct found f[PARTS];
	size_t n = 0;
	int error = 0;

	for (uint32_t i = 0; i < SHM_EVENTS; i++) {
		if (memcmp(&r[0].event[i], &r[1].event[i],
		    sizeof(r[0].event[i])) != 0 ||
		    !lhi_event_read(&r[1], i, &f[n].e, &f[n].time_ns,
		    &f[n].number))
			continue;
		f[n++].record = record;
	}
	qsort(f, n, sizeof(f[0]), by_number);
	attribute_events(l, record, f, n);
	for (size_t i = 0; error == 0 && i < n; i++) {
		if (f[i].e.kind == LH_LOG_SESSION_BEGAN && !f[i].e.visitor)
			error = note_began(l, &f[i].who);
		if (error == 0 && is_wanted(l, &f[i]))
			error = keep_event(l, &f[i]);
	}
	return error;
}

/* Rings of records that were never used are holes in the file. */
static int
read_rings(struct log *l)
{
	const struct lhi_geometry *g = &l->im.v.geo;
	struct shm_ring r[2];
	int error = 0;

	/* ends: i only rises, since the next data is behind off */
	for (uint32_t i = 0; error == 0 && i < g->max_sessions; i++) {
		off_t off = (off_t)(g->rings_off + i * sizeof(r[0]));
		off_t data = lseek(l->fd, off, SEEK_DATA);

		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		if (data >= off + (off_t)sizeof(r[0])) {
			i = (uint32_t)(((uint64_t)data - g->rings_off) /
			    sizeof(r[0])) - 1;
			continue;
		}
		for (int k = 0; k < 2; k++) {
			if (pread(l->fd, &r[k], sizeof(r[k]), off) !=
			    (ssize_t)sizeof(r[k]))
				return lhi_fail(-EPROTO, "%s has become "
				    "shorter", l->im.v.path);
		}
		error = read_ring(l, i, r);
	}
	return error;
}

static int
by_hash(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

static struct known *
key_of(struct log *l, uint64_t hash)
{
	const struct known k = { hash, NULL };

	return l->n_keys == 0 ? NULL :
	    bsearch(&k, l->keys, l->n_keys, sizeof(k), by_hash);
}

/* Finds names for the hashes of the events, if the keys still exist. */
static int
name_keys(struct log *l)
{
	struct lhi_view *v = &l->im.v;
	char key[SHM_KEY_MAX + 1];
	size_t n = 0;

	l->keys = calloc(l->n + 1, sizeof(l->keys[0]));
	if (l->keys == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < l->n; i++) {
		if (!of_session(l->found[i].e.kind))
			l->keys[n++].hash = l->found[i].e.hash;
	}
	qsort(l->keys, n, sizeof(l->keys[0]), by_hash);
	for (size_t i = 0; i < n; i++) {
		if (l->n_keys == 0 ||
		    l->keys[l->n_keys - 1].hash != l->keys[i].hash)
			l->keys[l->n_keys++] = l->keys[i];
	}
	for (uint32_t i = 1; l->n_keys > 0 && i < lhi_slots_ready(v); i++) {
		struct known *k;

		if (word_mode(sh64_load(&v->slots[i].word)) == WORD_NONE)
			continue;
		k = key_of(l, sh64_load(&v->slots[i].hash));
		if (k == NULL || k->name != NULL ||
		    lhi_slot_key(v, &v->slots[i], key) == 0)
			continue;
		k->name = strdup(key);
		if (k->name == NULL)
			return lhi_fail(-ENOMEM, "out of memory");
	}
	return 0;
}

/* Returns the milliseconds since 1970 when the table's clock was 0. */
static int64_t
zero_epoch_ms(const struct log *l)
{
	struct timespec wall;

	if (!lhi_image_has_our_clock(&l->im))	/* even if the header says
						 * otherwise */
		return (int64_t)(sh64_load(&l->im.v.hdr->created_epoch_ms) -
		    (uint64_t)(l->im.v.t0_ns / NS_PER_MS));
	(void)clock_gettime(CLOCK_REALTIME, &wall);
	return (lhi_timespec_ns(&wall) - lhi_now_ns(&l->im.v)) / NS_PER_MS;
}

static int
report_event(struct log *l, const struct found *f, int64_t zero_ms,
    lh_log_fn fn, void *arg)
{
	const struct known *k = of_session(f->e.kind) ? NULL :
	    key_of(l, f->e.hash);
	struct lh_log_entry e = {
		.size = sizeof(e), .time_ns = f->time_ns,
		.epoch_ms = (int64_t)((uint64_t)zero_ms +
		    (uint64_t)(f->time_ns / NS_PER_MS)),
		.kind = f->e.kind, .mode = f->e.mode, .ending = f->e.cause,
		.record = f->record, .number = f->number,
		.session_id = lhi_view_session_id(&l->im.v, f->who.sid),
		.pid = f->who.pid, .uid = f->who.uid,
		.visitor = f->e.visitor, .other = LH_NO_RECORD,
	};

	memcpy(e.application, f->who.name, LH_APPLICATION_MAX);
	if (!of_session(f->e.kind)) {
		e.token = f->e.token;
		e.key_hash = f->e.hash;
		e.key = k != NULL ? k->name : NULL;
	}
	if (f->e.other > 0 && f->e.other <= l->im.v.geo.max_sessions &&
	    (f->e.other - 1 != f->record || f->e.visitor ||
	    (!of_session(f->e.kind) &&
	    lhi_event_tag(f->who.sid, false) != f->e.claim)))
		set_other(l, &e, f);
	return fn(&e, arg);
}

static int
report_events(struct log *l, lh_log_fn fn, void *arg)
{
	int64_t zero_ms = zero_epoch_ms(l);
	int error = read_rings(l);

	if (error == 0 && l->n > 0)
		error = name_keys(l);
	if (l->n > 0)
		qsort(l->found, l->n, sizeof(l->found[0]), by_time);
	for (size_t i = 0; error == 0 && i < l->n; i++)
		error = report_event(l, &l->found[i], zero_ms, fn, arg);
	return error;
}

/* Opens the same file again, to read from. */
static int
open_file(struct log *l, const char *path)
{
	uint64_t uuid[2];
	int saved = errno;

	l->fd = lhi_fd_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
	    (l->im.live ? O_NOFOLLOW : 0));
	if (l->fd < 0) {
		saved = errno;
		return lhi_fail(-saved, "cannot open %s: %s", path,
		    strerror(saved));
	}
	if (pread(l->fd, uuid, sizeof(uuid),
	    offsetof(struct shm_header, uuid)) != (ssize_t)sizeof(uuid) ||
	    uuid[0] != sh64_load(&l->im.v.hdr->uuid[0]) ||
	    uuid[1] != sh64_load(&l->im.v.hdr->uuid[1]))
		return lhi_fail(-EAGAIN, "%s was replaced just now: try again",
		    path);
	return 0;
}

static void
free_log(struct log *l)
{
	for (size_t i = 0; i < l->n_keys; i++)
		free(l->keys[i].name);
	free(l->keys);
	free(l->began);
	free(l->found);
	if (l->fd >= 0)
		(void)close(l->fd);
	lhi_image_close(&l->im);
}

int
lh_log(const char *name, const struct lh_log_opts *opts, lh_log_fn fn,
    void *arg)
{
	static const struct lh_log_opts usual = LH_LOG_OPTS_INIT;
	struct log l = { .opts = opts != NULL ? opts : &usual, .fd = -1 };
	char path[sizeof(l.im.v.path)];
	struct lhi_key_name n;
	int saved = errno, error = 0;

	if (fn == NULL)
		return lhi_fail(-EINVAL, "no function to call (NULL)");
	if (l.opts->size != sizeof(usual))
		return lhi_fail(-EINVAL, "log options of %zu bytes: set them "
		    "with LH_LOG_OPTS_INIT", l.opts->size);
	if (l.opts->flags & ~LH_SYSTEM)
		return lhi_fail(-EINVAL, "unknown flag in 0x%x",
		    l.opts->flags);
	if (l.opts->key != NULL) {
		error = lhi_name_set(&n, l.opts->key);
		l.hash = n.hash;
	}
	if (error == 0 && l.opts->file == NULL)
		error =
		    lhi_object_path(path, sizeof(path), lhi_object_name(name),
			lhi_object_is_system(name, l.opts->flags));
	if (error == 0)
		error = lhi_image_open(&l.im, l.opts->file != NULL ?
		    l.opts->file : path, l.opts->file == NULL);
	if (error != 0)
		return error;
	error = open_file(&l, l.opts->file != NULL ? l.opts->file : path);
	if (error == 0)
		error = report_events(&l, fn, arg);
	free_log(&l);
	errno = saved;
	return error;
}

int
lh_log_grants(struct lh *lh, int on)
{
	int error = lhi_own(lh);
	uint32_t was;

	if (error != 0)
		return error;
	was = on ? sh32_fetch_or(&lh->v.hdr->flags, SHM_LOG_GRANTS) :
	    sh32_fetch_and(&lh->v.hdr->flags, ~SHM_LOG_GRANTS);
	if (((was & SHM_LOG_GRANTS) != 0) != (on != 0))
		lhi_event_session(&lh->v, on ? LH_LOG_GRANTS_ON :
		    LH_LOG_GRANTS_OFF, lh->sid);
	return lhi_damaged_or(&lh->v, (was & SHM_LOG_GRANTS) != 0);
}
