/* SPDX-License-Identifier: MIT */
/*
 * A process that stays in the middle of execve(2):
 *
 *	stalled UID DIR DEVICE [elsewhere | wait | COMMAND...]
 *
 * as that user mounts on DIR a file system with one file, by DEVICE
 * (/dev/fuse), which never answers when a descriptor of that file is closed.
 * Another process has one, which execve(2) closes.  `elsewhere`: it has a unix
 * socket as well, of a network namespace that no process is in.  `wait`: it
 * says "begun PID" and stops itself before execve(2).  COMMAND: that is
 * executed first, and this program by it.  With STALLED_INODE its file has that
 * number, and all bytes of it are locked.
 *
 * Prints "stalled PID".  Status 2: that does not work on this kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECONDS 60
#define COMMAND_MAX 20
#define MODE 0755
#define FILE_NODE 2
#define VALID_S 1000
#define REQUEST_MAX 131072	/* the least that the kernel accepts */

static void
reply(int dev, const struct fuse_in_header *to, int error, const void *what,
    size_t n)
{
	struct {
		struct fuse_out_header h;
		char bytes[256];
	} out = { .h = { .len = (uint32_t)(sizeof(out.h) + n),
		.error = -error, .unique = to->unique } };

	if (n > 0)
		memcpy(out.bytes, what, n);
	if (write(dev, &out, out.h.len) < 0)
		_exit(1);
}

static struct fuse_attr
attributes(uint64_t node)
{
	const char *ino = getenv("STALLED_INODE");

	return (struct fuse_attr){ .nlink = 1, .blksize = 4096,
		.ino = ino != NULL && node == FILE_NODE ? strtoull(ino, NULL,
		    10) : node,
		.mode = (node == FILE_NODE ? S_IFREG : S_IFDIR) | MODE };
}

static void
answer(int dev, const struct fuse_in_header *h)
{
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
		.minor = 31, .max_write = 4096 };
	const struct fuse_entry_out entry = { .nodeid = FILE_NODE,
		.entry_valid = VALID_S, .attr_valid = VALID_S,
		.attr = attributes(FILE_NODE) };
	const struct fuse_attr_out attr = { .attr_valid = VALID_S,
		.attr = attributes(h->nodeid) };
	const struct fuse_open_out file = { .fh = 1 };

	switch (h->opcode) {
	case FUSE_INIT:
		reply(dev, h, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply(dev, h, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(dev, h, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(dev, h, 0, &file, sizeof(file));
		break;
	case FUSE_FLUSH:
		printf("stalled %d\n", (int)h->pid);
		(void)fflush(stdout);
		break;
	case FUSE_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(dev, h, ENOSYS, NULL, 0);
	}
}

static void
serve(int dev)
{
	static union {
		struct fuse_in_header h;
		char bytes[REQUEST_MAX];
	} in;
	ssize_t n;

	while ((n = read(dev, &in, sizeof(in))) > 0 || errno == EINTR ||
	    errno == ENOENT)
		if (n > 0)
			answer(dev, &in.h);
	_exit(0);
}

static void
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		exit(2);
	(void)close(fd);
}

/* Enters a user namespace where that user may mount, and is itself. */
static void
become(unsigned uid)
{
	char map[60];

	if (setgroups(0, NULL) != 0 || setgid(uid) != 0 || setuid(uid) != 0)
		exit(1);
	(void)prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		exit(2);
	(void)snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", map);
	write_file("/proc/self/gid_map", map);
}

/* Begins a child that ends with this process. */
static pid_t
begin_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)alarm(SECONDS);
	}
	return pid;
}

/* Executes a program with a descriptor of that file system. */
static void
execute(const char *dir)
{
	struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	char path[200];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* (the copy stays, and shows the lock) */
	if (fd < 0 || (getenv("STALLED_INODE") != NULL &&
	    (fcntl(fd, F_OFD_SETLK, &all) != 0 || dup(fd) < 0)))
		_exit(2);
	(void)execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

/* Executes the command, with `stalled again DIR` as its last arguments. */
static void
execute_command(char **argv)
{
	char *command[COMMAND_MAX];
	int n = 0;

	for (; argv[4 + n] != NULL && n < COMMAND_MAX - 4; n++)
		command[n] = argv[4 + n];
	command[n++] = argv[0];
	command[n++] = (char[]){ "again" };
	command[n++] = argv[2];
	command[n] = NULL;
	(void)execv(command[0], command);
	_exit(1);
}

int
main(int argc, char **argv)
{
	unsigned uid;
	char text[200];
	int dev;

	if (argc == 3 && strcmp(argv[1], "again") == 0)
		execute(argv[2]);
	if (argc < 4)
		return 1;
	uid = (unsigned)atoi(argv[1]);
	(void)alarm(SECONDS);
	if (uid != 0)
		become(uid);
	else if (unshare(CLONE_NEWNS) != 0)
		return 2;
	dev = open(argv[3], O_RDWR | O_CLOEXEC);
	(void)snprintf(text, sizeof(text), "fd=%d,rootmode=40000,user_id=%u,"
	    "group_id=%u", dev, uid, uid);
	if (dev < 0 || mount("stalled", argv[2], "fuse", MS_NOSUID | MS_NODEV,
	    text) != 0)
		return 2;
	if (begin_child() == 0)
		serve(dev);
	(void)close(dev);
	if (begin_child() == 0) {
		if (argc > 4 && strcmp(argv[4], "wait") == 0) {
			printf("begun %d\n", (int)getpid());
			(void)fflush(stdout);
			(void)raise(SIGSTOP);
		} else if (argc == 5 && (unshare(CLONE_NEWNET) != 0 ||
		    socket(AF_UNIX, SOCK_DGRAM, 0) < 0 ||
		    unshare(CLONE_NEWNET) != 0))
			_exit(2);
		else if (argc > 5)
			execute_command(argv);
		execute(argv[2]);
	}
	(void)pause();
	return 0;
}
