/* SPDX-License-Identifier: MIT */
/*
 * A program that locks files, as each line of standard input says.  It knows
 * nothing of leasehold.  It answers each line with "0", the name of an
 * error, or what was asked for.
 *
 *	open FD FILE		flock FD sh|ex|un [nb]
 *	set|wait FD r|w|u START LEN	fcntl(): F_SETLK, F_SETLKW
 *	ofd|ofdwait ...		the same for the open file
 *	get FD r|w START LEN	F_GETLK: "free", or the process
 *	lockf FD lock|tlock|ulock LEN
 *	close FD		closefrom FD	dup FROM TO	fclose FD
 *	alarms intr|restart LINE	an alarm each 200 ms meanwhile, with a
 *				handler without SA_RESTART, or with
 *	handled			"1" if a handler has run
 *	fork LINE, thread LINE, vfork LINE	another one does that line
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS 6

static volatile sig_atomic_t handled;

static void
note(int number)
{
	(void)number;
	handled++;
}

/* (It repeats, because the first may come right before the call.) */
static int
set_alarms(long us, int flags)
{
	struct itimerval t = { { 0, us }, { 0, us } };
	struct sigaction sa = { .sa_handler = note, .sa_flags = flags };

	return sigaction(SIGALRM, &sa, NULL) != 0 ? -1 :
	    setitimer(ITIMER_REAL, &t, NULL);
}

static int
open_as(int fd, const char *path)
{
	int new = open(path, O_RDWR | O_CREAT, 0600);

	if (new < 0 || new == fd)
		return new;
	if (dup2(new, fd) < 0)
		return -1;
	return close(new);
}

static int
lock_flock(int fd, char **w)
{
	int how = strcmp(w[2], "sh") == 0 ? LOCK_SH :
	    strcmp(w[2], "ex") == 0 ? LOCK_EX : LOCK_UN;

	return flock(fd, how | (*w[3] != '\0' ? LOCK_NB : 0));
}

static int
lock_range(int fd, int cmd, char **w)
{
	struct flock fl = { .l_type = *w[2] == 'r' ? F_RDLCK :
	    *w[2] == 'w' ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET,
	    .l_start = atol(w[3]), .l_len = atol(w[4]) };
	int e = fcntl(fd, cmd, &fl);

	if (e == 0 && cmd == F_GETLK) {
		if (fl.l_type == F_UNLCK)
			puts("free");
		else
			printf("%ld\n", (long)fl.l_pid);
	}
	return e;
}

static int run(char *line);

static void *
run_thread(void *line)
{
	(void)run(line);
	return NULL;
}

static int
run_beside(const char *how, char *line)
{
	pthread_t t;
	pid_t child;
	int fd;

	if (strcmp(how, "thread") == 0) {
		if (pthread_create(&t, NULL, run_thread, line) != 0)
			return -1;
		return pthread_join(t, NULL);
	}
	if (strcmp(how, "vfork") == 0) {	/* it closes that descriptor */
		fd = atoi(line);
		child = vfork();
		if (child == 0) {
			(void)close(fd);
			_exit(0);
		}
		if (waitpid(child, NULL, 0) == child)
			puts("0");
		return 0;
	}
	child = fork();
	if (child == 0) {
		(void)run(line);
		(void)fflush(stdout);
		_exit(0);
	}
	return waitpid(child, NULL, 0) == child ? 0 : -1;
}

static int
do_words(char **w)
{
	int fd = atoi(w[1]);
	FILE *f;

	if (strcmp(w[0], "open") == 0)
		return open_as(fd, w[2]);
	if (strcmp(w[0], "flock") == 0)
		return lock_flock(fd, w);
	if (strcmp(w[0], "set") == 0)
		return lock_range(fd, F_SETLK, w);
	if (strcmp(w[0], "wait") == 0)
		return lock_range(fd, F_SETLKW, w);
	if (strcmp(w[0], "ofd") == 0)
		return lock_range(fd, F_OFD_SETLK, w);
	if (strcmp(w[0], "ofdwait") == 0)
		return lock_range(fd, F_OFD_SETLKW, w);
	if (strcmp(w[0], "get") == 0)
		return lock_range(fd, F_GETLK, w);
	if (strcmp(w[0], "lockf") == 0)
		return lockf(fd, *w[2] == 'l' ? F_LOCK : *w[2] == 't' ?
		    F_TLOCK : F_ULOCK, atol(w[3]));
	if (strcmp(w[0], "close") == 0)
		return close(fd);
	if (strcmp(w[0], "closefrom") == 0)
		return close_range((unsigned)fd, ~0u, 0);
	if (strcmp(w[0], "dup") == 0)
		return dup2(fd, atoi(w[2])) < 0 ? -1 : 0;
	if (strcmp(w[0], "handled") == 0)
		return puts(handled ? "1" : "0") < 0;
	if (strcmp(w[0], "fclose") == 0)
		return (f = fdopen(fd, "r+")) == NULL ? -1 : fclose(f);
	errno = EINVAL;
	return -1;
}

static int
run(char *line)
{
	static char empty[1];
	char *w[WORDS], *rest = line, *word;
	int n = 0, result;

	line[strcspn(line, "\n")] = '\0';
	word = strchr(line, ' ');
	if (strncmp(line, "alarms ", 7) == 0) {
		(void)set_alarms(200000, word[1] == 'r' ? SA_RESTART : 0);
		result = run(strchr(word + 1, ' ') + 1);
		(void)set_alarms(0, SA_RESTART);
		return result;
	}
	if (strncmp(line, "fork ", 5) == 0 || strncmp(line, "vfork ", 6) == 0 ||
	    strncmp(line, "thread ", 7) == 0) {
		*word = '\0';
		return run_beside(line, word + 1);
	}
	while (n < WORDS && (word = strsep(&rest, " ")) != NULL)
		w[n++] = word;
	while (n < WORDS)
		w[n++] = empty;
	errno = 0;
	result = do_words(w);
	if (result == 0 && strcmp(w[0], "get") != 0 &&
	    strcmp(w[0], "handled") != 0)
		puts("0");
	else if (result < 0)
		puts(strerrorname_np(errno));
	return 0;
}

int
main(void)
{
	char line[5000];

	(void)setvbuf(stdout, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin) != NULL)
		(void)run(line);
	return 0;
}
