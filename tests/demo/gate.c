/* SPDX-License-Identifier: MIT */
/* See gate.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"

#define PAGE_LEN	256

/* FNV-1a: enough to tell a torn page from a whole one. */
static uint64_t
sum(const char *text, size_t len)
{
	uint64_t h = 0xcbf29ce484222325;

	while (len--)
		h = (h ^ (unsigned char)*text++) * 0x100000001b3;
	return h;
}

static int
load(int fd, struct page *p)
{
	char text[PAGE_LEN + 1];
	uint64_t stored;
	ssize_t n = pread(fd, text, PAGE_LEN, 0);
	int len = 0;

	memset(p, 0, sizeof(*p));
	if (n < 0)
		return -errno;
	if (n == 0)
		return 0;	/* new: nobody has been here */
	text[n] = 0;
	if (n != PAGE_LEN || sscanf(text, "leasehold-demo\ntoken %" SCNu64
	    "\nwrites %" SCNu64 "\nby %u\n%nsum %" SCNx64, &p->token,
	    &p->writes, &p->by, &len, &stored) != 4)
		return -EUCLEAN;
	return sum(text, (size_t)len) == stored ? 0 : -EUCLEAN;
}

static int
store(int fd, const struct page *p)
{
	char text[PAGE_LEN + 1];
	int len = snprintf(text, sizeof(text), "leasehold-demo\ntoken %" PRIu64
	    "\nwrites %" PRIu64 "\nby %u\n", p->token, p->writes, p->by);
	ssize_t n;

	len += snprintf(text + len, sizeof(text) - (size_t)len, "sum %016"
	    PRIx64 "\n", sum(text, (size_t)len));
	memset(text + len, ' ', (size_t)(PAGE_LEN - len));
	text[PAGE_LEN - 1] = '\n';
	n = pwrite(fd, text, PAGE_LEN, 0);
	return n < 0 ? -errno : n == PAGE_LEN ? 0 : -EIO;
}

static int
lock(int fd, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET };

	while (fcntl(fd, F_OFD_SETLKW, &l) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int
gate_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* The whole gate: let this token in, and with `in` its content. */
static int
pass(int fd, uint64_t token, const struct page *in, struct page *out)
{
	int rc = lock(fd, F_WRLCK);

	if (rc)
		return rc;
	rc = load(fd, out);
	if (!rc && token < out->token)
		rc = -ESTALE;
	if (!rc && in) {
		out->writes = in->writes;
		out->by = in->by;
	}
	if (!rc && (in || token > out->token)) {
		out->token = token;
		rc = store(fd, out);
	}
	(void)lock(fd, F_UNLCK);
	return rc;
}

int
gate_read(int fd, uint64_t token, struct page *page)
{
	return pass(fd, token, NULL, page);
}

int
gate_write(int fd, uint64_t token, struct page *page)
{
	struct page in = *page;

	return pass(fd, token, &in, page);
}
