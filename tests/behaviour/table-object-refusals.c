/* SPDX-License-Identifier: MIT */
/* test: slow 20 */
/*
 * Guarantee G12: whatever is in the place of a table's object, lh_open()
 * refuses it cleanly: the documented error, a sentence, no handle, no change,
 * at once.  Kinds of file: symlink (to nothing, to a table), FIFO (which must
 * not be waited for), directory, socket.  Contents: empty, short, foreign, and
 * a real table in which one word of the header is wrong.  A wrong count that
 * leads to the same object looks like a right one: then opening may succeed,
 * but all use must stay within the object.
 *
 * Otherwise a bad file would crash, hang or mislead every process of the
 * machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "shm/layout.h"
#include "shm/table_object.h"
#include "shm/table_place.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const char *table;
static char path[192];
static char *image;		/* a good table's bytes */
static size_t image_len;

static int
ignore(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

static int
attach(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh_lease lease;
	struct lh *const blank = (struct lh *)(uintptr_t)0x5a5a5a5a;
	struct lh *lh = blank;
	int64_t began_ns = t_now_ns();
	int r = lh_open(&lh, table, &o);

	if (r == 0) {
		/* whatever these say: they come back */
		if (t_acquire(lh, "another", 1000, 0, &lease) == 0)
			lh_release(lh, &lease);
		t_acquire(lh, "k", 1000, 0, &lease);
		lh_list(lh, NULL, ignore, NULL);
		lh_check(lh, NULL, NULL);
		lh_close(lh);
	} else {
		if (lh != blank)
			fail("a refusal writes no handle");
		if (!t_has_detail())
			fail("a refusal says why");
	}
	if (t_since_ms(began_ns) > t_ms(1000))
		fail("attaching does not wait");
	return r;
}

static void
refused(int want, const char *what)
{
	is(attach(), want, "%s is refused", what);
}

/* A header that is sound says that it was made in that file. */
static void
set_place(int fd, size_t len)
{
	struct shm_header h;

	if (len < sizeof(h) || pread(fd, &h, sizeof(h), 0) != sizeof(h) ||
	    lhi_object_sum(&h) != sh64_load(&h.header_sum) ||
	    lhi_place_set(&h, fd) != 0)
		return;
	sh64_store(&h.header_sum, lhi_object_sum(&h));
	if (pwrite(fd, &h, sizeof(h), 0) != sizeof(h))
		bail_out("cannot write %s", path);
}

static void
put(const void *bytes, size_t len, off_t size)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);

	if (fd < 0 || pwrite(fd, bytes, len, 0) != (ssize_t)len ||
	    ftruncate(fd, size) != 0)
		bail_out("cannot write %s", path);
	set_place(fd, len);
	if (bytes == image &&
	    pread(fd, image, sizeof(struct shm_header), 0) < 0)
		bail_out("cannot read %s", path);
	close(fd);
}

/* Whether the object is still the image with `len` bytes replaced at off. */
static bool
unchanged(const void *bytes, size_t off, size_t len)
{
	char *now = malloc(image_len);
	int fd = open(path, O_RDONLY);
	bool same = now != NULL && fd >= 0 &&
	    read(fd, now, image_len) == (ssize_t)image_len &&
	    memcmp(now, image, off) == 0 &&
	    memcmp(now + off, bytes, len) == 0 &&
	    memcmp(now + off + len, image + off + len,
	    image_len - off - len) == 0;

	close(fd);
	free(now);
	return same;
}

static void
keep_image(void)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	struct stat st;
	struct lh *lh;
	int fd;

	o.max_keys = 16;
	o.max_sessions = 4;
	o.max_leases = 128;
	if (lh_open(&lh, table, &o) != 0 || lh_key_create(lh, "k") != 0 ||
	    lh_close(lh) != 0)
		bail_out("no table: %s", lh_error_detail());
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0)
		bail_out("no object at %s", path);
	image_len = (size_t)st.st_size;
	image = malloc(image_len);
	if (image == NULL || read(fd, image, image_len) != st.st_size)
		bail_out("cannot read %s", path);
	close(fd);
	is(attach(), 0, "a good table is attached to");
	put(image, image_len, st.st_size);
	is(attach(), 0, "and so is a copy of it");
	unlink(path);
}

static void
kinds(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	char target[256];
	struct stat st;
	int fd;

	snprintf(target, sizeof(target), "%s.target", path);
	is(symlink(target, path), 0, "a symlink");
	refused(-EPROTO, "a symlink to nothing");
	is(stat(target, &st), -1, "and nothing is created behind it");
	unlink(path);
	put(image, image_len, (off_t)image_len);
	is(rename(path, target), 0, "a table elsewhere");
	is(symlink(target, path), 0, "and a symlink to it");
	refused(-EPROTO, "a symlink to a table");
	unlink(path);
	unlink(target);

	is(mkfifo(path, 0600), 0, "a FIFO");
	refused(-EPROTO, "a FIFO");
	unlink(path);
	is(mkdir(path, 0700), 0, "a directory");
	refused(-EPROTO, "a directory");
	rmdir(path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	memcpy(sun.sun_path, path, strlen(path) + 1);
	is(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0, "a socket");
	refused(-EPROTO, "a socket");
	close(fd);
	unlink(path);
}

static void
contents(void)
{
	static char junk[8192];

	put("", 0, 0);
	refused(-EPROTO, "an empty file");
	put("hello", 5, 5);
	refused(-EPROTO, "a short file");
	put(image, 100, 100);
	refused(-EPROTO, "a part of a header");
	put(image, 4096, 4096);
	refused(-EPROTO, "a header without its table");
	put(image, image_len - 4096, (off_t)image_len - 4096);
	refused(-EPROTO, "a table without its end");
	put(image, image_len, (off_t)image_len - 1);
	refused(-EPROTO, "a table without its last byte");
	put(image, image_len, (off_t)image_len + 4096);
	refused(-EPROTO, "a table with more behind it");
	put("", 0, (off_t)image_len);
	refused(-EPROTO, "zeroes");
	memset(junk, 0xff, sizeof(junk));
	put(junk, sizeof(junk), (off_t)image_len);
	refused(-EPROTO, "ones");
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (char)(i * 2654435761u >> 13);
	put(junk, sizeof(junk), (off_t)image_len);
	refused(-EPROTO, "another program's file");
}

/* The table with one 32-bit word of the header replaced. */
static int
altered(size_t off, uint32_t value)
{
	bool kept;
	int r;

	put(image, image_len, (off_t)image_len);
	{
		int fd = open(path, O_RDWR);

		if (fd < 0 || pwrite(fd, &value, 4, (off_t)off) != 4)
			bail_out("cannot alter %s", path);
		close(fd);
	}
	r = attach();
	kept = unchanged(&value, off, 4);
	if (r != 0 && !kept)
		fail("a refusal changes nothing (word at %zu)", off);
	return r;
}

#define DAMAGE		1	/* -EPROTO or -EUCLEAN */

/* Of all structures; "once" are fields of the header alone. */
static const struct field {
	size_t off, size;
	const char *name, *guard;
} fields[] = {
#define STRUCT(s, len)
#define FIELD(offset, type, name, guard, meaning) \
	{ offset, sizeof(type), #name, guard },
#define ARRAY(offset, type, name, n, guard, meaning) \
	{ offset, sizeof(type) * (n), #name, guard },
#define END(s)
#include "shm/layout.def"
};

/* Returns the expected answer when a word of that field is wrong. */
static int
answer_to(const struct field *f)
{
	return f->off < offsetof(struct shm_header, object_len) ? -EPROTO :
	    DAMAGE;
}

static bool
is_one_bit(uint32_t x)
{
	return x != 0 && (x & (x - 1)) == 0;
}

static void
headers(void)
{
	static const uint32_t values[] = { 0, 1, 2, 3, 7, 0x7fffffff,
		0x80000000, 0xffffffff, 0x01000000, 0x5a5a5a5a };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct field *f = &fields[i];
		int good = 0, all = 0, want = answer_to(f);

		if (strcmp(f->guard, "once") != 0)
			continue;
		for (size_t at = 0; at < f->size; at += 4)
			for (size_t j = 0; j < sizeof(values) /
			    sizeof(values[0]); j++) {
				uint32_t was;
				int r;

				memcpy(&was, image + f->off + at, 4);
				if (values[j] == was)
					continue;
				r = altered(f->off + at, values[j]);
				all++;
				/* of one bit it is known that it was changed */
				if (r == want || (want == DAMAGE &&
				    (r == -EPROTO || r == -EUCLEAN)) ||
				    (r == -EUCLEAN && is_one_bit(values[j] ^
				    was)))
					good++;
				else
					diag("%s + %zu = %#x: %d", f->name, at,
					    values[j], r);
			}
		is(good, all, "a wrong %s is refused", f->name);
	}
}

int
main(void)
{
	table = t_table();
	snprintf(path, sizeof(path), "%s", t_object(table));
	keep_image();
	kinds();
	contents();
	headers();
	put(image, image_len, (off_t)image_len);
	is(attach(), 0, "after all of it a good table is attached to");
	unlink(path);
	is(attach(), 0, "and a new one is made where nothing stands");
	free(image);
	return done();
}
