/* SPDX-License-Identifier: MIT */
/*
 * Input of the shim besides frames (frame.c) and etcd's answers (etcd.c): its
 * state file and its configuration; and frames the other way round.  No input
 * does harm, and each that is accepted is read as it was meant.
 *
 * The script.  Its first byte says what the rest is, by its remainder of 3:
 *	0	a frame, field by field: what can be packed is read as a frame
 *		that is packed the same
 *	1	a state file: what is taken is within bounds, and no other file
 *		says the same
 *	2	a configuration file: it is taken whole and within its bounds,
 *		or not at all, and then there is a sentence that says why
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/frame.h"
#include "fuzz/fuzz.h"
#include "shim/agent/shim_conf.h"
#include "shim/agent/shim.h"

const char fuzz_name[] = "shim";

#define STEPS_MAX UINT64_C(1000000)

static char path[64];
static unsigned seen;		/* so that reading is not left out */

static void
look_at(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (p[i] == '\0')
			fuzz_finding("a NUL was let through");
		seen += (unsigned char)p[i];
	}
}

static void
look_at_frame(const struct lhi_frame *f)
{
	if (f->n > (f->type == FRAME_HOLDERS ? FRAME_PARTIES : FRAME_KEYS))
		fuzz_finding("%u parts", (unsigned)f->n);
	for (unsigned i = 0; i < f->n; i++) {
		if (f->type == FRAME_HOLDERS)
			look_at(f->party[i].name, f->party[i].len);
		else if (f->key[i].len == 0 || f->key[i].mode > LH_SHARED)
			fuzz_finding("a key without a name, or a mode");
		else
			look_at(f->key[i].key, f->key[i].len);
	}
	look_at(f->text, f->text_len);
	if (f->type == FRAME_FAILED && f->error <= 0)
		fuzz_finding("an error that is none");
}

static void
read_back(const uint8_t *bytes, size_t len)
{
	static uint8_t again[FRAME_LEN_MAX];
	struct lhi_frame f;

	if (lhi_frame_read(&f, bytes, len) != 0)
		fuzz_finding("a frame of type %u is not read as one",
		    (unsigned)bytes[3]);
	look_at_frame(&f);
	if (lhi_frame_pack(&f, again, sizeof(again)) != (int)len ||
	    memcmp(again, bytes, len) != 0)
		fuzz_finding("a frame is packed otherwise");
}

/* A piece of the script, as text: not copied, and maybe cut short. */
static const char *
take_text(struct fuzz_input *in, size_t *len)
{
	const char *p = (const char *)in->p;

	if (*len > in->left)
		*len = in->left;
	in->p += *len;
	in->left -= *len;
	return p;
}

static void
take_parts(struct fuzz_input *in, struct lhi_frame *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		uint8_t mode = (uint8_t)fuzz_take(in, 1);
		size_t len = fuzz_take(in, 1);
		const char *p = take_text(in, &len);

		if (f->type != FRAME_HOLDERS && i < FRAME_KEYS)
			f->key[i] = (struct lhi_frame_key){ mode,
			    (uint8_t)len, p };
		else if (i < FRAME_PARTIES)
			f->party[i] = (struct lhi_frame_party){ mode >> 1,
			    mode & 1, (uint8_t)len, fuzz_take(in, 8), p };
	}
}

static void
pack(struct fuzz_input *in)
{
	static uint8_t buf[FRAME_LEN_MAX];
	struct lhi_frame f = { .type = (uint8_t)fuzz_take(in, 1) };
	size_t room, len;
	int n;

	f.id = (uint32_t)fuzz_take(in, 4);
	f.flags = (uint8_t)fuzz_take(in, 1);
	f.n = (uint8_t)fuzz_take(in, 1);
	f.wait_ms = f.holders = f.max_keys = (uint32_t)fuzz_take(in, 4);
	f.uuid[0] = f.uuid[1] = fuzz_take(in, 8);
	f.error = (int32_t)fuzz_take(in, 2);
	room = fuzz_take(in, 2);
	len = fuzz_take(in, 2);
	take_parts(in, &f);
	f.text = take_text(in, &len);
	f.text_len = (uint16_t)len;
	n = lhi_frame_pack(&f, buf, room < sizeof(buf) ? room : sizeof(buf));
	if (n > 0)
		read_back(buf, (size_t)n);
}

static void
put_file(const struct fuzz_input *in)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, in->p, in->left) != (ssize_t)in->left)
		fuzz_finding("%s cannot be written", path);
	(void)close(fd);
}

/* Saved again, it is the same file. */
static void
save_again(const struct fuzz_input *in, const struct kv_mark *m)
{
	char text[512];
	struct state_saver *sv = state_saver_new(path);
	int through[2];
	FILE *f;

	if (sv == NULL || pipe(through) != 0)
		return;
	state_saver_save(sv, m);
	/* a slow disk: it closes that when it is through */
	if (state_saver_free(sv, through[1]))
		(void)close(through[1]);
	(void)read(through[0], text, 1);
	(void)close(through[0]);
	f = fopen(path, "re");
	if (f == NULL || fread(text, 1, sizeof(text), f) != in->left ||
	    memcmp(text, in->p, in->left) != 0)
		fuzz_finding("another file says the same");
	(void)fclose(f);
}

static void
read_state(const struct fuzz_input *in)
{
	char why[SHIM_WHY_MAX] = "";
	struct kv_mark m;

	put_file(in);
	if (shim_state_read(path, &m, why) != 0) {
		if (why[0] == '\0' || m.cluster != 0 || m.revision != 0)
			fuzz_finding("refused, but used, or nobody says why");
		return;
	}
	if (m.revision < 0)
		fuzz_finding("a negative revision was let through");
	save_again(in, &m);
}

static void
read_conf(const struct fuzz_input *in)
{
	static struct conf c, before;
	struct conf_args args = { .file = path };
	char error[CONF_ERROR_MAX] = "";

	put_file(in);
	memset(&c, 'x', sizeof(c));
	before = c;
	if (shim_conf_load(&c, &args, error) != 0) {
		if (error[0] == '\0' || memchr(error, '\0', sizeof(error)) ==
		    NULL || memcmp(&c, &before, sizeof(c)) != 0)
			fuzz_finding("refused, but used, or nobody says why");
		return;
	}
	if (c.ttl_ms < 1000 || c.ttl_ms > 600000 || c.timeout_ms < 20 ||
	    c.timeout_ms * 4 > c.ttl_ms || c.hold_min_ms < 0 ||
	    c.max_clients < 16 || c.max_keys < 16 || c.socket_mode > 0777 ||
	    c.metrics_mode > 0777)
		fuzz_finding("a number that is out of bounds");
	if (c.endpoints[0] == '\0' || c.table[0] == '\0' ||
	    c.socket[0] != '/' || c.state_file[0] != '/' ||
	    c.pidfile[0] != '/')
		fuzz_finding("something is not said");
	seen += (unsigned)(strlen(c.endpoints) + strlen(c.root) +
	    strlen(c.host) + strlen(c.user) + strlen(c.password) +
	    strlen(c.ca_file) + strlen(c.cert_file) + strlen(c.metrics));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	switch (fuzz_take(&in, 1) % 3) {
	case 0:
		fuzz_steps("lhi_frame_pack", STEPS_MAX);
		pack(&in);
		break;
	case 1:
		fuzz_steps("shim_state_read", STEPS_MAX);
		read_state(&in);
		break;
	default:
		fuzz_steps("shim_conf_load", STEPS_MAX);
		read_conf(&in);
	}
	return 0;
}

static void
clean_up(void)
{
	(void)unlink(path);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	/* what is in it counts for more than the file */
	(void)clearenv();
	(void)snprintf(path, sizeof(path), "/dev/shm/lh-fuzz-shim.%d",
	    (int)getpid());
	(void)atexit(clean_up);
	return 0;
}
