/* SPDX-License-Identifier: MIT */
/*
 * Any bytes, as a frame between a process and the shim: refused, or a whole
 * frame whose parts lie within these bytes, and which is packed into the very
 * same.  The first byte of an input says how to read the rest: as they are; or
 * behind a head that is in order, so that more of them get further.
 */
#include <stdlib.h>
#include <string.h>
#include "base/frame.h"
#include "fuzz/fuzz.h"

#define HEAD 8

const char fuzz_name[] = "frame";

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void
within(const void *part, size_t len, const unsigned char *buf, size_t size)
{
	const unsigned char *p = part;

	if (len > 0 && (p < buf || p + len > buf + size))
		fuzz_finding("a part of a frame lies beside it");
}

static void
look_at(const struct lhi_frame *f, const unsigned char *buf, size_t size)
{
	static unsigned char again[FRAME_LEN_MAX];
	int len;

	within(f->text, f->text_len, buf, size);
	for (unsigned i = 0; i < f->n; i++) {
		if (f->type == FRAME_HOLDERS)
			within(f->party[i].name, f->party[i].len, buf, size);
		else
			within(f->key[i].key, f->key[i].len, buf, size);
	}
	len = lhi_frame_pack(f, again, sizeof(again));
	if (len != (int)size || memcmp(again, buf, size) != 0)
		fuzz_finding("a frame of %zu bytes is packed into %d others",
		    size, len);
	if (lhi_frame_pack(f, again, size - 1) >= 0)
		fuzz_finding("a frame is packed into less than it takes");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char good[4] = { FRAME_MAGIC & 0xff,
	    FRAME_MAGIC >> 8, FRAME_VERSION, 0 };
	struct lhi_frame f;
	size_t head, len;
	unsigned char *buf;

	if (size == 0)
		return 0;
	head = data[0] & 1 ? HEAD : 0;
	len = head + size - 1;
	/* of that size, so that a step past its end is seen */
	buf = malloc(len > 0 ? len : 1);
	if (buf == NULL)
		return 0;
	memset(buf, 0, head);
	if (head > 0) {
		memcpy(buf, good, sizeof(good));
		buf[3] = data[0] >> 1;
	}
	memcpy(buf + head, data + 1, size - 1);
	if (lhi_frame_read(&f, buf, len) == 0)
		look_at(&f, buf, len);
	free(buf);
	return 0;
}
