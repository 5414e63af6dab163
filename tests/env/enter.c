/* SPDX-License-Identifier: MIT */
/*
 * Environments that a process can enter by itself: see doc/environments.md for
 * what is expected in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "env/more.h"
#include "env/ops.h"
#include "support/seccomp.h"

#define NOBODY 65534

static int none(void) { return 0; }

static int
limit(int what, rlim_t n)
{
	struct rlimit l = { n, n };

	return setrlimit(what, &l) != 0 ? -errno : 0;
}

static int
closed_standard(void)
{
	for (int fd = 0; fd < 3; fd++)
		(void)close(fd);
	return 0;
}

/* No descriptor is left beyond those that are open. */
static int
no_descriptors(void)
{
	int top = 0;

	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY |
		    O_CLOEXEC) < 0)
			return -errno;
	for (int fd = 0; fd < 256; fd++)
		top = fcntl(fd, F_GETFD) >= 0 ? fd : top;
	return limit(RLIMIT_NOFILE, (rlim_t)top + 1);
}

static int address_space(void) { return limit(RLIMIT_AS, 64 << 20); }
static int file_size(void) { return limit(RLIMIT_FSIZE, 0); }

static int
become_nobody(void)
{
	return setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) !=
	    0 || setresuid(NOBODY, NOBODY, NOBODY) != 0 ? -errno : 0;
}

/* Root is not counted, so as another user. */
static int
processes(void)
{
	int e = limit(RLIMIT_NPROC, 1);

	return e != 0 ? e : become_nobody();
}

static int
no_capabilities(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };

	for (int c = 0; c <= 63; c++)
		(void)prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	return syscall(SYS_capset, &h, d) != 0 ? -errno : 0;
}

/* One of them, by its number: cap-N. */
static int
drop_capability(int n)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];

	if (prctl(PR_CAPBSET_DROP, n, 0, 0, 0) != 0 ||
	    syscall(SYS_capget, &h, d) != 0)
		return -errno;
	d[n / 32].effective &= ~(1u << n % 32);
	d[n / 32].permitted &= ~(1u << n % 32);
	d[n / 32].inheritable = 0;
	return syscall(SYS_capset, &h, d) != 0 ? -errno : 0;
}

/* The rest happens in a child, whose end is ours. */
static int
go_on_in_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		return 0;
	}
	(void)alarm(0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) {
		(void)signal(WTERMSIG(status), SIG_DFL);
		(void)raise(WTERMSIG(status));
	}
	_exit(WEXITSTATUS(status));
}

static int
own_mounts(void)
{
	return unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC |
	    MS_PRIVATE, NULL) != 0 ? -errno : 0;
}

static int
mounted(const char *type, const char *where, const char *options, int flags)
{
	int e = own_mounts();

	return e != 0 ? e : mount(type, where, type, (unsigned long)flags,
	    options) != 0 ? -errno : 0;
}

static int no_proc(void) { return mounted("tmpfs", "/proc", "", 0); }

static int
shm_tiny(void)
{
	return mounted("tmpfs", "/dev/shm", "size=64k", 0);
}

static int
hidepid(void)
{
	int e = mounted("proc", "/proc", "hidepid=2", 0);

	return e != 0 ? e : become_nobody();
}

static int
remount_shm(int flags)
{
	int e = own_mounts();

	if (e == 0 && mount("/dev/shm", "/dev/shm", NULL, MS_BIND, NULL) != 0)
		e = -errno;
	return e != 0 ? e : mount(NULL, "/dev/shm", NULL,
	    (unsigned long)(MS_REMOUNT | MS_BIND | flags), NULL) != 0 ?
	    -errno : 0;
}

/* Where `run` has made a directory. */
static int
shm_disk(void)
{
	const char *disk = getenv("ENV_DISK");
	int e = disk == NULL ? -ENOENT : own_mounts();

	return e != 0 ? e : mount(disk, "/dev/shm", NULL, MS_BIND, NULL) != 0 ?
	    -errno : 0;
}

static int shm_readonly(void) { return remount_shm(MS_RDONLY); }
static int shm_noexec(void)
{
	return remount_shm(MS_NOEXEC | MS_NOSUID | MS_NODEV);
}

static int
shm_full(void)
{
	static const char some[65536];
	int e = mounted("tmpfs", "/dev/shm", "size=256k", 0), fd;

	if (e != 0)
		return e;
	fd = open("/dev/shm/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, some, sizeof(some)) > 0)
		;
	(void)close(fd);
	return 0;
}

static int
pid_namespace(void)
{
	int e = unshare(CLONE_NEWPID) != 0 ? -errno : go_on_in_child();

	if (e == 0)		/* process 1 cannot kill itself */
		e = go_on_in_child();
	return e != 0 ? e : mounted("proc", "/proc", "", 0);
}

/* As a container has it, over the /dev/shm of the host. */
static int
container(void)
{
	return unshare(CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET) != 0 ?
	    -errno : pid_namespace();
}

static int
ipc_namespace(void)
{
	return unshare(CLONE_NEWIPC) != 0 ? -errno : 0;
}

static int
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), e = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		e = -errno;
	(void)close(fd);
	return e;
}

static int
user_namespace(void)
{
	int e = unshare(CLONE_NEWUSER) != 0 ? -errno : 0;

	if (e == 0)
		e = write_file("/proc/self/uid_map", "0 0 1\n");
	if (e == 0)
		e = write_file("/proc/self/setgroups", "deny");
	return e != 0 ? e : write_file("/proc/self/gid_map", "0 0 1\n");
}

static int
time_namespace(void)
{
	int e = unshare(CLONE_NEWTIME) != 0 ? -errno :
	    write_file("/proc/self/timens_offsets", "monotonic 86400 0\n");

	return e != 0 ? e : go_on_in_child();
}

static int
chrooted(void)
{
	char dir[] = "/tmp/leasehold-env-XXXXXX";

	if (mkdtemp(dir) == NULL || chroot(dir) != 0 || chdir("/") != 0)
		return -errno;
	return 0;
}

static int closed_all(void)
{
	return close_range(3, 39, 0) != 0 ? -errno : 0;
}

static int umask_none(void) { (void)umask(0); return 0; }
static int umask_all(void) { (void)umask(0777); return 0; }

static int no_membarrier(void) { return seccomp_refuse(SYS_membarrier); }
static int no_futex_waitv(void) { return seccomp_refuse(449); }
static int no_ptrace(void)
{
	int e = seccomp_refuse(SYS_ptrace);

	return e != 0 ? e : seccomp_refuse(SYS_kcmp);
}

static int frozen(void) { return more_freeze(true); }

static const struct {
	const char *name;
	int (*enter)(void);
} environments[] = {
	{ "usual", none }, { "closed-standard", closed_standard },
	{ "no-descriptors", no_descriptors }, { "closed-all", closed_all },
	{ "address-space", address_space }, { "file-size", file_size },
	{ "processes", processes }, { "no-capabilities", no_capabilities },
	{ "setuid", become_nobody }, { "chroot", chrooted },
	{ "no-proc", no_proc }, { "hidepid", hidepid },
	{ "pid-namespace", pid_namespace }, { "container", container },
	{ "user-namespace", user_namespace }, { "mount-namespace", own_mounts },
	{ "ipc-namespace", ipc_namespace }, { "time-namespace",
	    time_namespace }, { "shm-readonly", shm_readonly },
	{ "shm-full", shm_full }, { "shm-tiny", shm_tiny },
	{ "shm-noexec", shm_noexec }, { "shm-disk", shm_disk },
	{ "no-membarrier", no_membarrier },
	{ "no-futex-waitv", no_futex_waitv }, { "no-ptrace", no_ptrace },
	{ "no-ofd-locks", seccomp_no_ofd_locks }, { "umask-0", umask_none },
	{ "umask-0777", umask_all }, { "frozen", frozen },
	{ "two-copies", more_two_copies },
	{ "unloaded-copy", more_unloaded_copy },
};

int
enter(const char *environment)
{
	int cap;

	if (sscanf(environment, "cap-%d", &cap) == 1)
		return drop_capability(cap);
	for (size_t i = 0; i < sizeof(environments) / sizeof(environments[0]);
	    i++) {
		if (strcmp(environments[i].name, environment) == 0)
			return environments[i].enter();
	}
	return 1;
}
