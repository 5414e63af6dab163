/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, in words, for the calling thread (lh_error_detail()).
 *
 * lhi_fail() returns its code, so that an error is one line where it is met.
 * "Busy" is an everyday answer and must stay cheap: lhi_fail_busy() only copies
 * the facts; the sentence is made when somebody asks for it.
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
	int64_t delayed_ns;	/* free, but kept back for so long; 0 */
	uint32_t pid;		/* 0: nobody holds it */
	uint32_t readers;	/* 0: it is held exclusively */
	bool shim;		/* the shim holds it */
	bool session;		/* a named session holds it: `application` */
	bool with_session;	/* expires_ns is when that ends */
	bool waiters;		/* others wait for it */
	int blind;		/* why it cannot be told whether the holder
				 * lives; 0: it can */
	char application[32];
	char key[64];		/* cut */
};

int lhi_fail(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));
int lhi_fail_busy(int code, const struct lhi_busy_detail *busy);
/* Was that the latest failure, and is it the shim that holds it? */
bool lhi_fail_busy_by_shim(void);

/* What is undone after a failure may fail as well: while this thread is mute,
 * only codes are returned, and the sentence stays. */
void lhi_fail_mute(int mute);

/*
 * Something that a thread keeps beside the sentence: p, in place of what it has
 * kept so far; drop(p) is called when it is replaced, or the thread ends.
 * False: out of memory, and p was dropped.
 */
bool lhi_fail_keep(void *p, void (*drop)(void *p));
void *lhi_fail_kept(void);	/* or NULL */

#endif
