/* SPDX-License-Identifier: MIT */
/* Exit statuses of the command and of the daemons. */
#ifndef DAEMON_EXIT_STATUS_H
#define DAEMON_EXIT_STATUS_H

/* From 64 on they are those of sysexits.h, where it has one. */
enum {
	EX_YES = 0,
	EX_NO = 1,		/* the answer to a question is "no" */
	EX_BAD_USAGE = 64,
	EX_DAMAGED = 65,	/* or of another version or clock */
	EX_NOT_RECORDED = 66,	/* log --at: not in the log */
	EX_AWAY = 69,
	EX_INTERNAL = 70,
	EX_SYSTEM = 71,
	EX_CANNOT_CREATE = 73,
	EX_BUSY = 75,		/* or timed out; the default of run -E */
	EX_LOST = 76,		/* the default of run --lost-exit-code */
	EX_DENIED = 77,
	EX_CANNOT_RUN = 126,
	EX_NOT_FOUND = 127,
	EX_SIGNAL = 128,	/* plus the signal's number */
};

#endif
