/* SPDX-License-Identifier: MIT */
/*
 * What processes and the shim (leasehold-shimd) say to each other about cluster
 * keys: one frame a message, over a Unix socket of type SOCK_SEQPACKET, in the
 * byte order of the host that both are on.
 *
 *	bytes	0  u16	FRAME_MAGIC
 *		2  u8	FRAME_VERSION
 *		3  u8	type, enum lhi_frame_type
 *		4  u32	id: the caller's number; an answer has that of what it
 *			answers
 *		8  ...	what the type says, packed, without gaps:
 *
 *	caller to shim
 *	HELLO	u64 uuid[2] of the table.  The first frame; all else before it
 *		is refused (the connection is closed)
 *	WANT	u32 wait_ms, u8 flags, u8 n, then n keys: u8 mode, u8 len, len
 *		bytes.  wait_ms: for so long it is wanted (FRAME_NO_END: until
 *		DROP, or the connection ends)
 *	DROP	nothing; id: of the WANT that is not wanted any more.  No
 *		answer to it (one to the WANT may still come)
 *	STATUS	u8 len, len bytes of a key
 *	STATS	nothing
 *	ANCHOR	u8 len, len bytes of a key: half of the tokens under its base
 *		are used up.  No answer
 *
 *	shim to caller
 *	WELCOME	u64 uuid[2], u32 most keys in a WANT, u32 most WANTs at a time
 *		on a connection, u32 ttl_ms of the session in the cluster
 *	QUEUED	nothing: the shim holds these keys in the table and has asked
 *		the cluster for them; they are to be waited for in the table now
 *	GRANTED	nothing: the rights are there; acquire now
 *	BUSY	text: who has one of them (WANT with FRAME_TRY)
 *	AWAY	text: the cluster cannot be reached, or says nothing for certain
 *	DENIED	text: it may not be had (permission, too many, a stopped shim)
 *	FAILED	i32 errno (positive), text
 *	HOLDERS	u32 holders, u32 waiting, u8 n (of these, told here), then n
 *		times: u8 FRAME_HOLDS/_WAITS, u8 mode, u64 revision, u8 len, len
 *		bytes: host and session in words
 *	TEXT	text: what STATS asked for
 *
 * Keys are as in the table, with its prefix.  Mode: LH_EXCLUSIVE, LH_SHARED.  A
 * text is u16 len and len bytes, none of them NUL.  Nothing may follow.
 *
 * A WANT has exactly one answer of QUEUED, GRANTED, BUSY, AWAY, DENIED and
 * FAILED; one with FRAME_TRY never QUEUED.  Several WANTs may be unanswered at
 * a time; answers come in any order.  A connection that ends drops all its
 * WANTs.  Rights that are not used are no harm: whoever else queues for them in
 * the cluster gets them.
 *
 * Pure: nothing here reads or writes a socket.  Any bytes may be read: what is
 * not exactly a frame is refused.
 */
#ifndef LHI_FRAME_H
#define LHI_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_MAGIC	0x464cu		/* "LF" */
#define FRAME_VERSION	1u
#define FRAME_KEYS	64u		/* in a WANT */
#define FRAME_KEY_MAX	255u
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
#define FRAME_TRY	0x1u	/* now or not at all: BUSY, not QUEUED */
#define FRAME_REANCHOR	0x2u	/* and with a base above all tokens so far */
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

/* A frame, read: what it points to is in the bytes that were read. */
struct lhi_frame {
	uint8_t type;
	uint8_t flags;		/* WANT */
	uint8_t n;		/* keys (WANT, STATUS and ANCHOR: 1), parties */
	uint32_t id;
	uint32_t wait_ms;	/* WANT */
	uint64_t uuid[2];	/* HELLO, WELCOME */
	uint32_t max_keys;	/* WELCOME */
	uint32_t max_wants;
	uint32_t ttl_ms;
	uint32_t holders;	/* HOLDERS: of these some may not be told */
	uint32_t waiting;
	int32_t error;		/* FAILED */
	uint16_t text_len;	/* BUSY, AWAY, DENIED, FAILED, TEXT */
	const char *text;	/* text_len bytes */
	union {
		struct lhi_frame_key key[FRAME_KEYS];
		struct lhi_frame_party party[FRAME_PARTIES];
	};
};

/*
 * Into buf: its length; -EINVAL if there is no such frame (a key that is too
 * long, an unknown type, ...), -EMSGSIZE if size is too small
 * (FRAME_LEN_MAX suffices for every frame).
 */
int lhi_frame_pack(const struct lhi_frame *f, void *buf, size_t size);

/*
 * Out of the len bytes of one message.  0; -EBADMSG: it is no frame;
 * -EPROTONOSUPPORT: one of another version.
 */
int lhi_frame_read(struct lhi_frame *f, const void *buf, size_t len);

/* Which side sends frames of that type? */
static inline int
lhi_frame_from_shim(uint8_t type)
{
	return type >= FRAME_WELCOME;
}

#endif
