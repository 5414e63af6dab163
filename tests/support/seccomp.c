/* SPDX-License-Identifier: MIT */
/* Filters of system calls, written out: two each, so no library is needed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "support/seccomp.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
	offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, \
	(skip))
#define ANSWER(how) BPF_STMT(BPF_RET | BPF_K, (how))

static int
install(struct sock_filter *code, unsigned short n)
{
	struct sock_fprog program = { n, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return -errno;
	return 0;
}

int
seccomp_refuse(long call)
{
	struct sock_filter code[] = {
		LOAD(nr),
		UNLESS((unsigned)call, 1),
		ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
		ANSWER(SECCOMP_RET_ALLOW),
	};

	return install(code, sizeof(code) / sizeof(code[0]));
}

int
seccomp_no_ofd_locks(void)
{
	struct sock_filter code[] = {
		LOAD(nr),
		UNLESS(SYS_fcntl, 5),
		LOAD(args[1]),
		UNLESS(F_OFD_GETLK, 1),
		ANSWER(SECCOMP_RET_ERRNO | EINVAL),
		UNLESS(F_OFD_SETLK, 1),
		ANSWER(SECCOMP_RET_ERRNO | EINVAL),
		ANSWER(SECCOMP_RET_ALLOW),
	};

	return install(code, sizeof(code) / sizeof(code[0]));
}
