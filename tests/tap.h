/* SPDX-License-Identifier: MIT */
/*
 * TAP: how every test program of this project says what it saw.
 *
 *	#include "tap.h"
 *
 *	int main(void)
 *	{
 *		plan(3);			// or none: done() prints it
 *		ok(p != NULL, "it opens");
 *		is(lh_release(lh, &l), 0, "release %d", i);
 *		cmp(after, >, before, "the token grew");
 *		return done();
 *	}
 *
 * Output goes to standard output in one write(2) a line, so there is no buffer
 * that a fork could duplicate; diagnostics begin with "#".  prove(1) reads it.
 * Diagnostics of a failure go to standard error, which prove shows.
 *
 * Fork.  Only the process that was started prints test lines.  In a forked
 * child ok() and its relatives print nothing when they hold; when they do not,
 * they say so in a diagnostic and the child counts it: leave with
 * _exit(tap_child_status()), which is 0 or 1, and let the parent test that.
 * A child that calls done() gets the same value and prints nothing.
 *
 * Threads.  Any thread may call any of these; a lock keeps lines and numbers
 * together.  Do not fork while another thread is inside one of them.
 *
 * LH_TEST_FIRST=1: the program ends at its first "not ok", with 1.  It is for
 * those who only want to know whether it fails (tests/replay/mutants).
 *
 * A program that ends without done() has printed no closing plan or too few
 * lines, and prove counts that as a failure.
 */
#ifndef TAP_H
#define TAP_H

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One per program, however many of its files include this: hence weak. */
struct tap_state {
	pthread_mutex_t lock;
	pid_t owner;		/* who prints */
	pid_t counts_for;	/* whose failures `failed` counts */
	int planned;		/* -1: not yet */
	int run;
	int failed;
	const char *todo;	/* why, or NULL */
};

extern struct tap_state tap_state;

#define TAP_UNUSED	__attribute__((unused))

/*
 * In a program that has tests/support (TAP_SHARED), the functions are in
 * tap.o; in others they are in each file that includes this.
 */
#ifdef TAP_SHARED
#define TAP_API
#else
#define TAP_API		TAP_UNUSED static
#endif
#define TAP_FMT(f, a)	__attribute__((format(printf, f, a))) TAP_API

TAP_API int tap_is_child(void);
TAP_FMT(1, 2) void diag(const char *fmt, ...);
TAP_FMT(1, 2) void diag_failed(const char *fmt, ...);
TAP_FMT(1, 2) __attribute__((noreturn)) void bail_out(const char *fmt, ...);
TAP_FMT(1, 2) __attribute__((noreturn)) void skip_all(const char *fmt, ...);
TAP_API void plan(int n);
TAP_FMT(2, 3) void skip(int n, const char *fmt, ...);
TAP_API void todo(const char *reason);
TAP_API int tap_child_status(void);
TAP_API int done(void);
TAP_FMT(4, 0) int tap_vresult(int held, const char *file, int line,
    const char *fmt, va_list ap);
TAP_FMT(4, 5) int tap_result(int held, const char *file, int line,
    const char *fmt, ...);
TAP_FMT(6, 7) int tap_is(int64_t got, int64_t want, const char *expr,
    const char *file, int line, const char *fmt, ...);
TAP_FMT(6, 7) int tap_is_u(uint64_t got, uint64_t want, const char *expr,
    const char *file, int line, const char *fmt, ...);
TAP_FMT(6, 7) int tap_is_str(const char *got, const char *want,
    const char *expr, const char *file, int line, const char *fmt, ...);
TAP_FMT(7, 8) int tap_cmp(int held, int64_t a, int64_t b, const char *expr,
    const char *file, int line, const char *fmt, ...);

/* The checks.  After the values comes a printf format and its arguments. */
#define ok(cond, ...) \
	tap_result(!!(cond), __FILE__, __LINE__, __VA_ARGS__)
#define is(got, want, ...) \
	tap_is((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__, \
	    __VA_ARGS__)
#define is_u64(got, want, ...) \
	tap_is_u((uint64_t)(got), (uint64_t)(want), #got, __FILE__, __LINE__, \
	    __VA_ARGS__)
#define is_str(got, want, ...) \
	tap_is_str((got), (want), #got, __FILE__, __LINE__, __VA_ARGS__)
/* cmp(a, <=, b, ...): integers that fit int64_t; each evaluated once. */
#define cmp(a, op, b, ...) __extension__ ({ \
	__auto_type tap_a_ = (a); \
	__auto_type tap_b_ = (b); \
	tap_cmp((int64_t)tap_a_ op (int64_t)tap_b_, (int64_t)tap_a_, \
	    (int64_t)tap_b_, #a " " #op " " #b, __FILE__, __LINE__, \
	    __VA_ARGS__); })
#define pass(...)	tap_result(1, __FILE__, __LINE__, __VA_ARGS__)
#define fail(...)	tap_result(0, __FILE__, __LINE__, __VA_ARGS__)

#if !defined(TAP_SHARED) || defined(TAP_DEFINE)
struct tap_state tap_state __attribute__((weak)) = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.planned = -1,
};

/* Before main(): whoever runs this now is the process that prints. */
__attribute__((constructor)) static void tap_begin(void)
{
	if (!tap_state.owner)
		tap_state.owner = tap_state.counts_for = getpid();
}

/* In a child, the parent's failures are not ours. */
TAP_API int tap_is_child(void)
{
	pid_t me = getpid();

	if (tap_state.counts_for != me) {
		tap_state.counts_for = me;
		tap_state.failed = 0;
	}
	return me != tap_state.owner;
}

/* One line, one write; a line break inside becomes a blank. */
static void tap_line(int fd, const char *head, const char *fmt,
    va_list ap)
{
	char line[2048];
	size_t len, i;
	int n;

	len = (size_t)snprintf(line, sizeof(line), "%s", head);
	if (len > 256)
		len = 256;
	n = vsnprintf(line + len, sizeof(line) - len - 1, fmt, ap);
	if (n > 0)
		len += (size_t)n;
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	for (i = 0; i < len; i++)
		if (line[i] == '\n')
			line[i] = ' ';
	line[len++] = '\n';
	for (i = 0; i < len;) {
		ssize_t w = write(fd, line + i, len - i);

		if (w < 0 && errno != EINTR)
			return;
		if (w > 0)
			i += (size_t)w;
	}
}

__attribute__((format(printf, 2, 3)))
static void tap_print(const char *head, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(STDOUT_FILENO, head, fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 0)))
static void tap_vdiag(int fd, const char *fmt, va_list ap)
{
	char head[32] = "# ";
	int saved = errno;

	if (tap_is_child())
		snprintf(head, sizeof(head), "# [%d] ", (int)getpid());
	tap_line(fd, head, fmt, ap);
	errno = saved;
}

/* Something a reader wants to know. */
TAP_API void diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_vdiag(STDOUT_FILENO, fmt, ap);
	va_end(ap);
}

/* The same, of a failure: it is seen without running the test by hand. */
TAP_API void diag_failed(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_vdiag(STDERR_FILENO, fmt, ap);
	va_end(ap);
}

/* Nothing after this makes sense: prove stops everything. */
void bail_out(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (tap_is_child())
		tap_line(STDERR_FILENO, "# child gives up: ", fmt, ap);
	else
		tap_line(STDOUT_FILENO, "Bail out! ", fmt, ap);
	va_end(ap);
	if (tap_is_child())
		_exit(1);
	exit(255);
}

/* Say at the start how many there will be. */
TAP_API void plan(int n)
{
	if (tap_is_child())
		return;
	tap_state.planned = n;
	tap_print("", "1..%d", n);
}

/* Nothing here can be tested on this machine: say why, and end. */
void skip_all(const char *fmt, ...)
{
	va_list ap;

	if (tap_is_child())
		_exit(0);
	va_start(ap, fmt);
	tap_line(STDOUT_FILENO, "1..0 # SKIP ", fmt, ap);
	va_end(ap);
	exit(0);
}

/* The end of every check.  Returns true if it held. */
TAP_API int tap_vresult(int held, const char *file, int line,
    const char *fmt, va_list ap)
{
	char head[32], text[1024];
	int saved = errno, child;

	vsnprintf(text, sizeof(text), fmt, ap);
	pthread_mutex_lock(&tap_state.lock);
	child = tap_is_child();
	if (!child) {
		snprintf(head, sizeof(head), "%s %d - ",
		    held ? "ok" : "not ok", ++tap_state.run);
		if (tap_state.todo)
			tap_print(head, "%s # TODO %s", text, tap_state.todo);
		else
			tap_print(head, "%s", text);
	}
	if (!held) {
		if (child || !tap_state.todo)
			tap_state.failed++;
		diag_failed("failed: %s (%s:%d)", text, file, line);
		/* who only wants to know whether it fails */
		if (!child && !tap_state.todo &&
		    getenv("LH_TEST_FIRST") != NULL)
			_exit(1);
	}
	pthread_mutex_unlock(&tap_state.lock);
	errno = saved;
	return held;
}

TAP_API int tap_result(int held, const char *file, int line,
    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_vresult(held, file, line, fmt, ap);
	va_end(ap);
	return held;
}

/* A number as a person reads it: small negative ones are errno values. */
static const char *tap_num(char *buf, size_t size, int64_t v)
{
	const char *name = NULL;

	if (v < 0 && v > -200)
		name = strerrorname_np((int)-v);
	if (name)
		snprintf(buf, size, "%" PRId64 " (-%s)", v, name);
	else
		snprintf(buf, size, "%" PRId64, v);
	return buf;
}

TAP_API int tap_is(int64_t got, int64_t want, const char *expr,
    const char *file, int line, const char *fmt, ...)
{
	char a[64], b[64];
	va_list ap;

	va_start(ap, fmt);
	tap_vresult(got == want, file, line, fmt, ap);
	va_end(ap);
	if (got != want)
		diag_failed("%s is %s, want %s", expr,
		    tap_num(a, sizeof(a), got), tap_num(b, sizeof(b), want));
	return got == want;
}

TAP_API int tap_is_u(uint64_t got, uint64_t want,
    const char *expr, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_vresult(got == want, file, line, fmt, ap);
	va_end(ap);
	if (got != want)
		diag_failed("%s is %" PRIu64 " (%#" PRIx64 "), want %" PRIu64
		    " (%#" PRIx64 ")", expr, got, got, want, want);
	return got == want;
}

TAP_API int tap_is_str(const char *got, const char *want,
    const char *expr, const char *file, int line, const char *fmt, ...)
{
	int held = got && want ? !strcmp(got, want) : got == want;
	va_list ap;

	va_start(ap, fmt);
	tap_vresult(held, file, line, fmt, ap);
	va_end(ap);
	if (!held)
		diag_failed("%s is \"%s\", want \"%s\"", expr,
		    got ? got : "(null)", want ? want : "(null)");
	return held;
}

TAP_API int tap_cmp(int held, int64_t a, int64_t b,
    const char *expr, const char *file, int line, const char *fmt, ...)
{
	char abuf[64], bbuf[64];
	va_list ap;

	va_start(ap, fmt);
	tap_vresult(held, file, line, fmt, ap);
	va_end(ap);
	if (!held)
		diag_failed("%s does not hold: %s against %s", expr,
		    tap_num(abuf, sizeof(abuf), a),
		    tap_num(bbuf, sizeof(bbuf), b));
	return held;
}

/* n checks that this machine cannot make; CI looks at the reason. */
TAP_API void skip(int n, const char *fmt, ...)
{
	char text[512], head[32];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (tap_is_child())
		return;
	pthread_mutex_lock(&tap_state.lock);
	while (n-- > 0) {
		snprintf(head, sizeof(head), "ok %d # SKIP ", ++tap_state.run);
		tap_print(head, "%s", text);
	}
	pthread_mutex_unlock(&tap_state.lock);
}

/* Failures from here on are known, for that reason; NULL ends it. */
TAP_API void todo(const char *reason)
{
	tap_state.todo = reason;
}

/* For a child's _exit(): 1 when one of its checks did not hold. */
TAP_API int tap_child_status(void)
{
	(void)tap_is_child();
	return tap_state.failed ? 1 : 0;
}

/* The last line of main(): return done(). */
TAP_API int done(void)
{
	if (tap_is_child())
		return tap_child_status();
	if (tap_state.planned < 0)
		tap_print("", "1..%d", tap_state.run);
	else if (tap_state.planned != tap_state.run)
		diag_failed("planned %d checks, made %d",
		    tap_state.planned, tap_state.run);
	if (tap_state.failed)
		diag("%d of %d failed", tap_state.failed, tap_state.run);
	return tap_state.failed || (tap_state.planned >= 0 &&
	    tap_state.planned != tap_state.run);
}
#endif

#endif
