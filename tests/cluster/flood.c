/* SPDX-License-Identifier: MIT */
/*
 * flood SOCKET TABLE UID CONNECTIONS SECONDS KIND: asks a shim more than it can
 * answer, as user UID.
 *
 * SOCKET is the shim's, TABLE the table's name.  Each connection has as many
 * questions under way as it may.  KIND is "same" (all ask about one key),
 * "different" (about many keys) or "want" (wants 64 new keys with each frame).
 * Prints how many connections there were, and answers of each kind.
 *
 * Rights are given up after both files are opened, so that the other user needs
 * no right to their directories.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "base/frame.h"
#include "shm/layout.h"
#include "shm/table_object.h"

#define AT_A_TIME 8

static struct lhi_frame f, hello = { .type = FRAME_HELLO, .id = 1 };
static char buf[FRAME_LEN_MAX], names[FRAME_KEYS][64];
static unsigned long answers[256], sent, number;
static const char *kind;

static int
connect_once(const struct sockaddr_un *to)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int n = lhi_frame_pack(&hello, buf, sizeof(buf));

	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0 &&
	    send(fd, buf, (size_t)n, MSG_NOSIGNAL) == n &&
	    recv(fd, buf, sizeof(buf), 0) > 0)
		return fd;
	(void)close(fd);
	return -1;
}

static void
fill_frame(void)
{
	bool want = strcmp(kind, "want") == 0;

	f = (struct lhi_frame){ .type = want ? FRAME_WANT : FRAME_STATUS,
	    .id = 2, .wait_ms = FRAME_NO_END, .n = want ? FRAME_KEYS : 1 };
	for (unsigned i = 0; i < f.n; i++) {
		if (strcmp(kind, "same") == 0)
			(void)strcpy(names[i], "cluster:same");
		else
			(void)snprintf(names[i], sizeof(names[i]),
			    "cluster:flood/%lu", number++);
		f.key[i].key = names[i];
		f.key[i].len = (uint8_t)strlen(names[i]);
		f.key[i].mode = 1;
	}
}

static void
flood_one(int fd)
{
	struct lhi_frame r;
	ssize_t n;

	for (int i = 0; i < AT_A_TIME; i++) {
		fill_frame();
		n = lhi_frame_pack(&f, buf, sizeof(buf));
		sent += send(fd, buf, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) ==
		    n;
	}
	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		if (lhi_frame_read(&r, buf, (size_t)n) == 0)
			answers[r.type]++;
}

int
main(int argc, char **argv)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int count = argc == 7 ? atoi(argv[4]) : 0, n = 0;
	int *fd = calloc((size_t)count + 1, sizeof(*fd));
	const struct shm_header *h;
	char path[PATH_MAX];
	time_t end;

	if (argc != 7 || fd == NULL ||
	    lhi_object_path(path, sizeof(path), argv[2], false) != 0)
		return 64;
	kind = argv[6];
	h = mmap(NULL, sizeof(*h), PROT_READ, MAP_SHARED,
	    open(path, O_RDONLY), 0);
	if (h == MAP_FAILED)
		return 66;
	hello.uuid[0] = sh64_load(&h->uuid[0]);
	hello.uuid[1] = sh64_load(&h->uuid[1]);
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d",
	    open(argv[1], O_PATH));
	if (setuid((uid_t)atoi(argv[3])) != 0 ||
	    prctl(PR_SET_DUMPABLE, 1) != 0)
		return 77;
	for (int i = 0; i < count; i++) {
		fd[n] = connect_once(&to);
		n += fd[n] >= 0;
	}
	printf("connections %d\n", n);
	(void)fflush(stdout);
	for (end = time(NULL) + atoi(argv[5]); time(NULL) < end;)
		for (int i = 0; i < n; i++)
			flood_one(fd[i]);
	printf("sent %lu\nholders %lu\nqueued %lu\ngranted %lu\nfailed %lu\n"
	    "away %lu\n", sent, answers[FRAME_HOLDERS], answers[FRAME_QUEUED],
	    answers[FRAME_GRANTED], answers[FRAME_FAILED],
	    answers[FRAME_AWAY]);
	return 0;
}
