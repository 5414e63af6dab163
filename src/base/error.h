/* SPDX-License-Identifier: MIT */
/*
 * The calling thread's last error as a sentence (lh_error_detail()).  Every
 * part of the library reports its errors through it.
 *
 * lhi_fail() returns its code, so that reporting an error takes one line.
 * "Busy" is a frequent result and must be cheap.  So lhi_fail_busy() only
 * copies the facts, and the sentence is made when the caller asks for it.
 */
#ifndef LHI_ERROR_H
#define LHI_ERROR_H

#include <stdbool.h>
#include <stdint.h>

struct lhi_busy_detail {
	int64_t now_ns;
	int64_t since_ns;
	int64_t expires_ns;
	uint64_t token;
	int64_t delayed_ns;	/* free, but not granted for this long; or 0 */
	uint32_t pid;		/* of the holder; 0: its record has none */
	uint32_t readers;	/* 0: it is held exclusively */
	bool held;		/* false: it is free */
	bool shim;		/* the shim holds it */
	bool session;		/* a named session, `application`, holds it */
	bool bound;		/* that lives as long as process `pid` */
	bool with_session;	/* expires_ns is the end of the named session */
	bool with_right;	/* expires_ns is the end of this host's right to
				 * the cluster key */
	bool right_ended;	/* and that has passed; 0: not known when */
	bool waiters;		/* others wait for it */
	bool foreign;		/* `pid` is of another pid namespace */
	bool sign_lost;		/* `blind` is of the holder's second sign */
	uint32_t sign_uid;	/* which is this user's, ... */
	uint32_t sign_record;	/* ... of that session record ... */
	uint64_t sign_table;	/* ... of that table */
	int blind;		/* errno of the failed check whether the holder
				 * lives; 0: checked */
	char application[32];
	char key[64];		/* truncated */
};

/* Sets the sentence and returns `code`. Names in it may have any bytes: they
 * become printable. */
int lhi_fail(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));
/* Sets a sentence that was this thread's or another's before. */
int lhi_fail_again(int code, const char *sentence) __attribute__((cold));
/* Stores the facts of a busy key and returns `code`. */
int lhi_fail_busy(int code, const struct lhi_busy_detail *busy);
/* True if the last failure was a busy key that the shim holds. */
bool lhi_fail_busy_by_shim(void);

/* While a thread is mute, failures return their codes and leave its sentence
 * unchanged.  Used while a failed operation is undone. */
void lhi_fail_mute(int mute);

/* Keeps p for the thread, in place of what it kept before.  drop(p) is called
 * when p is replaced or the thread ends.  Returns false if there is no memory;
 * then p was dropped. */
bool lhi_fail_keep(void *p, void (*drop)(void *p));
void *lhi_fail_kept(void);	/* or NULL */

#endif
