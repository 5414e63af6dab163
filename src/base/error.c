/* SPDX-License-Identifier: MIT */
/*
 * Error codes and details: see error.h and leasehold/error.h.
 *
 * A thread's detail is a heap block, made at its first failure.  So the
 * library's thread-local storage is only four words, and the library can be
 * loaded with dlopen() into a process whose static TLS is used up.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold/error.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/printable.h"

struct detail {
	int mute;
	int busy_code;		/* not 0: `text` is still to be made from
				 * `busy` */
	struct lhi_busy_detail busy;
	void *kept;
	void (*drop)(void *);
	char text[PRINTABLE_TEXT_MAX];
};

static __thread struct detail *mine
    __attribute__((tls_model("initial-exec")));
/* of a thread for which no block can be made */
static struct detail lost = { .text = "out of memory, also for the words that "
    "would say more of this error" };
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
free_detail(void *arg)
{
	struct detail *d = arg;

	mine = NULL;
	if (d->kept != NULL)
		d->drop(d->kept);
	free(d);
}

static bool has_key;

static void
make_detail_key(void)
{
	has_key = pthread_key_create(&key, free_detail) == 0;
}

static struct detail *
get_detail(void)
{
	struct detail *d = mine;

	if (d != NULL && d != &lost)
		return d;
	(void)pthread_once(&once, make_detail_key);
	d = has_key ? calloc(1, sizeof(*d)) : NULL;
	if (d != NULL && pthread_setspecific(key, d) != 0) {
		free(d);
		d = NULL;
	}
	mine = d != NULL ? d : &lost;
	return d;
}

int
lhi_fail(int code, const char *fmt, ...)
{
	int saved = errno;
	struct detail *d = get_detail();
	va_list ap;

	if (d != NULL && !d->mute) {
		d->busy_code = 0;
		va_start(ap, fmt);
		(void)vsnprintf(d->text, sizeof(d->text), fmt, ap);
		va_end(ap);
		lhi_printable_text(d->text, sizeof(d->text));
	}
	errno = saved;
	return code;
}

int
lhi_fail_again(int code, const char *sentence)
{
	struct detail *d = get_detail();

	if (d != NULL && !d->mute) {
		d->busy_code = 0;
		(void)snprintf(d->text, sizeof(d->text), "%s", sentence);
	}
	return code;
}

int
lhi_fail_busy(int code, const struct lhi_busy_detail *busy)
{
	int saved = errno;
	struct detail *d = get_detail();

	if (d != NULL && !d->mute) {
		d->busy_code = code;
		d->busy = *busy;
	}
	errno = saved;
	return code;
}

bool
lhi_fail_busy_by_shim(void)
{
	return mine != NULL && mine->busy_code != 0 && mine->busy.shim;
}

void
lhi_fail_mute(int mute)
{
	if (mine != NULL && mine != &lost)
		mine->mute = mute;
}

bool
lhi_fail_keep(void *p, void (*drop)(void *))
{
	struct detail *d = get_detail();

	if (d == NULL) {
		if (p != NULL)
			drop(p);
		return false;
	}
	if (d->kept != NULL)
		d->drop(d->kept);
	d->kept = p;
	d->drop = drop;
	return true;
}

void *
lhi_fail_kept(void)
{
	return mine == NULL ? NULL : mine->kept;
}

/* Says when the lease of a busy key's holder ends. */
static void
describe_end(const struct lhi_busy_detail *b, char *buf, size_t size)
{
	double left = (double)(b->expires_ns - b->now_ns) / NS_PER_SEC;

	if (left < 0)
		left = 0;
	if (b->expires_ns == INT64_MAX)
		(void)snprintf(buf, size, "its lease has no deadline");
	else if (b->with_right)
		(void)snprintf(buf, size, "its lease ends in %.3f s, with this "
		    "host's right to the key, unless the cluster confirms that",
		    left);
	else
		(void)snprintf(buf, size, "%s ends in %.3f s unless it is %s",
		    b->with_session ? "that session" : "its lease", left,
		    b->with_session ? "renewed" : "extended");
}

/* Makes the sentence about a cluster key that no process of this host holds,
 * although the table's word is not free.  False: another key. */
static bool
report_not_here(struct detail *d, const char *verdict, const char *who)
{
	const struct lhi_busy_detail *b = &d->busy;
	char when[48] = "";

	if (b->shim) {
		(void)snprintf(d->text, sizeof(d->text), "%skey '%s' is kept "
		    "for the cluster by %s: no process of this host has it",
		    verdict, b->key, who);
		return true;
	}
	if (!b->right_ended)
		return false;
	if (b->expires_ns != 0)
		(void)snprintf(when, sizeof(when), " %.3f s ago",
		    (double)(b->now_ns - b->expires_ns) / NS_PER_SEC);
	(void)snprintf(d->text, sizeof(d->text), "%skey '%s' is not held here "
	    "any more: the lease of %s ended%s with this host's right to the "
	    "key, and another host may have it", verdict, b->key, who, when);
	return true;
}

/* Makes the sentence about a busy key. */
static void
report_busy(struct detail *d)
{
	const struct lhi_busy_detail *b = &d->busy;
	const char *verdict = d->busy_code == -ETIMEDOUT ?
	    "timed out waiting: " : d->busy_code == -ECANCELED ?
	    "cancelled while waiting: " : d->busy_code == -EALREADY ?
	    "you already hold it: " : "";
	double held = (double)(b->now_ns - b->since_ns) / NS_PER_SEC;
	char readers[48] = "", ends[128], who[104], blind[256] = "";

	if (b->sign_lost)
		(void)snprintf(blind, sizeof(blind), "; this process cannot "
		    "tell whether the holder lives, because its sign of life "
		    "/dev/shm/leasehold.%u/%016llx-%u.sign is lost (%s): see "
		    "that it has ended, then break its lease "
		    "(leasehold-break(1))",
		    b->sign_uid, (unsigned long long)b->sign_table,
		    b->sign_record, strerror(b->blind));
	else if (b->blind != 0)
		(void)snprintf(blind, sizeof(blind), "; this process cannot "
		    "tell whether the holder lives, because it cannot use "
		    "the table's live file (%s)", strerror(b->blind));
	if (b->bound)
		(void)snprintf(who, sizeof(who), "session '%s', which lives as "
		    "long as process %u%s,", b->application, b->pid,
		    b->foreign ? " of another pid namespace" : "");
	else if (b->session)
		(void)snprintf(who, sizeof(who), "session '%s'",
		    b->application);
	else if (b->pid == 0)
		(void)snprintf(who, sizeof(who), "a process that its session's "
		    "record does not name");
	else
		(void)snprintf(who, sizeof(who), "process %u%s (%s)", b->pid,
		    b->foreign ? " of another pid namespace" : "",
		    b->application);
	describe_end(b, ends, sizeof(ends));
	if (b->readers > 1)
		(void)snprintf(readers, sizeof(readers),
		    "%u readers, the last one ", b->readers);
	else if (b->readers == 1)
		(void)snprintf(readers, sizeof(readers), "one reader, ");
	if (b->held && report_not_here(d, verdict, who))
		;
	else if (b->held)
		(void)snprintf(d->text, sizeof(d->text),
		    "%skey '%s' is held by %s%s for %.3f s, token %llu; %s%s",
		    verdict, b->key, readers, who, held < 0 ? 0 : held,
		    (unsigned long long)b->token, ends, blind);
	else if (b->delayed_ns > 0)
		(void)snprintf(d->text, sizeof(d->text),
		    "%skey '%s' is free, but nobody is granted it for %.3f s, "
		    "because a session that held it ended uncleanly",
		    verdict, b->key, (double)b->delayed_ns / NS_PER_SEC);
	else
		(void)snprintf(d->text, sizeof(d->text),
		    "%skey '%s' is free at this moment, but %s", verdict,
		    b->key, b->waiters ? "others wait for it" :
		    "was held a moment ago; try again");
	d->busy_code = 0;
	lhi_printable_text(d->text, sizeof(d->text));
}

const char *
lh_error_detail(void)
{
	if (mine == NULL)
		return "";
	if (mine->busy_code != 0)
		report_busy(mine);
	return mine->text;
}

const char *
lh_strerror(int error)
{
	switch (error < 0 && error > -4096 ? -error : error) {
	case 0:		return "success";
	case EAGAIN:	return "busy";
	case ETIMEDOUT:	return "busy until the time was up";
	case ECANCELED:	return "wait cancelled";
	case EDEADLK:	return "deadlock";
	case ESTALE:	return "lease lost, or table removed";
	case EPERM:	return "not yours";
	case EALREADY:	return "already held by this handle";
	case ENOLCK:	return "nothing to release";
	case EBUSY:	return "in use";
	case ENOENT:	return "no such table, key or lease";
	case ESRCH:	return "no such process";
	case EEXIST:	return "there is such a table";
	case ENOSPC:	return "table or shared memory full";
	case ENOMEM:	return "out of memory";
	case EINVAL:	return "invalid argument";
	case ENAMETOOLONG: return "name too long";
	case EPROTO:	return "table has another layout or version";
	case EUCLEAN:	return "table damaged";
	case EOVERFLOW:	return "table too old, or its counters used up";
	case EXDEV:	return "table belongs to another time namespace";
	case EHOSTUNREACH: return "cluster unreachable";
	case EACCES:	return "permission denied";
	case EOPNOTSUPP: return "not supported by this table";
	case EIO:	return "input/output error of a fence file or gate";
	case EROFS:	return "read-only file system";
	case EDQUOT:	return "disk quota used up";
	case ELOOP:	return "a symbolic link where a file should be";
	case ENOTDIR:	return "a part of the path is no directory";
	case EINPROGRESS: return "table retired, but not removed";
	case EOWNERDEAD: return "previous holder left without a release";
	case ENOTRECOVERABLE: return "what the key guards was given up";
	case EMFILE:
	case ENFILE:	return "too many open files";
	default:	return "unknown error";
	}
}
