/* SPDX-License-Identifier: MIT */
/*
 * The messages between processes and the shim (leasehold-shimd) about cluster
 * keys.  src/live and src/op send them, src/shim answers.  Each message is one
 * frame, over a Unix socket of type SOCK_SEQPACKET, in the byte order of the
 * host.
 *
 *	bytes	0  u16	FRAME_MAGIC
 *		2  u8	FRAME_VERSION
 *		3  u8	type, enum lhi_frame_type
 *		4  u32	id: chosen by the caller; an answer repeats it
 *		8  ...	fields of the type, packed, without gaps:
 *
 *	caller to shim
 *	HELLO	u64 uuid[2] of the table.  It must be the first frame; otherwise
 *		the connection is closed
 *	WANT	u32 wait_ms, u8 flags, u8 n, then n keys: u8 mode, u8 len, len
 *		bytes.  The request ends after wait_ms (FRAME_NO_END: only with
 *		DROP or the connection)
 *	DROP	no fields; id: the WANT that is not needed any more.  It has no
 *		answer (one to the WANT may still come)
 *	STATUS	u8 len, len bytes of a key
 *	STATS	no fields
 *	ANCHOR	u8 len, len bytes of a key: half of the tokens under its base
 *		are used up.  It has no answer
 *
 *	shim to caller
 *	WELCOME	u64 uuid[2], u32 most keys in a WANT, u32 most WANTs at a time
 *		on a connection, u32 ttl_ms of the session in the cluster
 *	QUEUED	no fields.  The shim holds these keys in the table and has
 *		requested them from the cluster; the caller must wait for them
 *		in the table
 *	GRANTED	no fields.  The rights are set; the caller can acquire now
 *	BUSY	text: who has one of the keys (WANT with FRAME_TRY)
 *	AWAY	text: the cluster cannot be reached, or gives no definite answer
 *	DENIED	text: no permission, too many keys, or a stopped shim
 *	FAILED	i32 errno (positive), text
 *	HOLDERS	u32 holders, u32 waiting, u8 n (listed here), then n
 *		times: u8 FRAME_HOLDS/_WAITS, u8 mode, u64 revision, u8 len, len
 *		bytes: host and session as text
 *	TEXT	text: the metrics that STATS requested
 *
 * A key is named as in the table, with its prefix.  Mode: LH_EXCLUSIVE,
 * LH_SHARED.  A text is u16 len and len bytes, none of them NUL.  Nothing may
 * follow the last field.
 *
 * A WANT has exactly one answer of QUEUED, GRANTED, BUSY, AWAY, DENIED and
 * FAILED; with FRAME_TRY it is never QUEUED.  Several WANTs may be unanswered
 * at a time, and answers come in any order.  The end of a connection drops all
 * its WANTs.  Unused rights do no harm: another host that queues for them gets
 * them.
 *
 * These are pure functions that access no socket.  They may decode any bytes:
 * everything that is not exactly a frame is refused.
 */
#ifndef LHI_FRAME_H
#define LHI_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_MAGIC	0x464cu		/* "LF" */
#define FRAME_VERSION	1u
#define FRAME_KEYS	64u		/* in a WANT */
#define FRAME_PARTIES	32u		/* in a HOLDERS */
#define FRAME_NAME_MAX	255u
#define FRAME_TEXT_MAX	32000u
#define FRAME_LEN_MAX	32768u		/* of any frame */
#define FRAME_NO_END	UINT32_MAX

enum lhi_frame_type {
	FRAME_HELLO = 1,
	FRAME_WANT,
	FRAME_DROP,
	FRAME_STATUS,
	FRAME_STATS,
	FRAME_ANCHOR,
	FRAME_WELCOME = 65,
	FRAME_QUEUED,
	FRAME_GRANTED,
	FRAME_BUSY,
	FRAME_AWAY,
	FRAME_DENIED,
	FRAME_FAILED,
	FRAME_HOLDERS,
	FRAME_TEXT
};

/* flags of a WANT */
#define FRAME_TRY	0x1u	/* do not wait: BUSY instead of QUEUED */
#define FRAME_REANCHOR	0x2u	/* with a base above all earlier tokens */
#define FRAME_FLAGS	0x3u

/* A key; `key` is not NUL-terminated. */
struct lhi_frame_key {
	uint8_t mode;
	uint8_t len;
	const char *key;
};

enum { FRAME_HOLDS = 1, FRAME_WAITS = 2 };

struct lhi_frame_party {
	uint8_t what;		/* FRAME_HOLDS, FRAME_WAITS */
	uint8_t mode;
	uint8_t len;
	uint64_t revision;
	const char *name;	/* len bytes */
};

/* A decoded frame.  Its pointers point into the bytes that were decoded. */
struct lhi_frame {
	uint8_t type;
	uint8_t flags;		/* WANT */
	uint8_t n;		/* number of keys (STATUS and ANCHOR: 1) or
				 * parties */
	uint32_t id;
	uint32_t wait_ms;	/* WANT */
	uint64_t uuid[2];	/* HELLO, WELCOME */
	uint32_t max_keys;	/* WELCOME */
	uint32_t max_wants;
	uint32_t ttl_ms;
	uint32_t holders;	/* HOLDERS: all holders, also unlisted ones */
	uint32_t waiting;
	int32_t error;		/* FAILED */
	uint16_t text_len;	/* BUSY, AWAY, DENIED, FAILED, TEXT */
	const char *text;	/* text_len bytes */
	union {
		struct lhi_frame_key key[FRAME_KEYS];
		struct lhi_frame_party party[FRAME_PARTIES];
	};
};

/* Encodes a frame into buf.  Returns its length; -EINVAL if the frame is
 * invalid (for example a key is too long or the type unknown); -EMSGSIZE if
 * `size` is too small.  FRAME_LEN_MAX is enough for every frame. */
int lhi_frame_pack(const struct lhi_frame *f, void *buf, size_t size);

/* Decodes the len bytes of one message.  Returns 0; -EBADMSG if it is no frame;
 * -EPROTONOSUPPORT if it is a frame of another version. */
int lhi_frame_read(struct lhi_frame *f, const void *buf, size_t len);

/* True if the shim sends frames of that type; otherwise a caller does. */
static inline int
lhi_frame_from_shim(uint8_t type)
{
	return type >= FRAME_WELCOME;
}

#endif
