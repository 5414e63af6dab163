/* SPDX-License-Identifier: MIT */
/*
 * SIGBUS (spec section 6): a library handles no signals unasked: without
 * LH_CATCH_SIGBUS a truncated table is SIGBUS. With it, or by lh_sigbus() in
 * the application's handler, the call returns -EUCLEAN. The application's own
 * handler is never replaced, and a fault outside tables is as deadly as before.
 *
 * Otherwise the library would hide faults of its application, or kill it
 * because of a truncated file.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "behaviour/zeros.h"

static const char *table;

static struct lh *
open_with(uint32_t flags)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;

	o.flags = flags;
	must(lh_open(&lh, table, &o), "open");
	return lh;
}

static int
truncate_and_acquire(struct lh *lh)
{
	struct lh_lease l;

	zeros_destroy(table, TRUNCATED);
	return lh_acquire(lh, "k", NULL, &l);
}

static int
not_asked(void *arg)
{
	return truncate_and_acquire(open_with(0));
}

static int
on_request(void *arg)
{
	struct lh *lh = open_with(LH_CATCH_SIGBUS);
	struct sigaction now;

	is(truncate_and_acquire(lh), -EUCLEAN, "caught");
	ok(t_has_detail(), "in words");
	is(lh_close(lh), 0, "closed");
	(void)sigaction(SIGBUS, NULL, &now);
	ok(now.sa_handler == SIG_DFL, "the handler goes with the last one");
	return 0;
}

static volatile sig_atomic_t ours, theirs;

static void
on_sigbus(int sig, siginfo_t *info, void *context)
{
	if (lh_sigbus(sig, info, context)) {
		ours++;
		return;
	}
	theirs++;
	(void)mmap((void *)((uintptr_t)info->si_addr & ~UINT64_C(4095)), 4096,
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
	    0);
}

/* A mapping of the test's whose file is empty. */
static volatile char *
make_hole(void)
{
	FILE *f = tmpfile();

	return mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);
}

static void
install_own(void)
{
	struct sigaction sa = { .sa_sigaction = on_sigbus,
	    .sa_flags = SA_SIGINFO };

	(void)sigaction(SIGBUS, &sa, NULL);
}

static int
own_handler(void *arg)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = open_with(0);
	struct sigaction now;

	install_own();
	o.flags = LH_CATCH_SIGBUS;
	is(lh_open(&(struct lh *){ NULL }, table, &o), -EBUSY, "not replaced");
	ok(t_has_detail(), "in words");
	(void)sigaction(SIGBUS, NULL, &now);
	ok(now.sa_sigaction == on_sigbus, "it is there still");
	is(truncate_and_acquire(lh), -EUCLEAN, "lh_sigbus() does it");
	is(ours, 1, "called once");
	is(*make_hole(), 0, "what is not a table's");
	is(theirs, 1, "reaches the application's handler");
	is(lh_close(lh), 0, "closed");
	return 0;
}

static int
strange_fault(void *arg)
{
	(void)open_with(LH_CATCH_SIGBUS);
	return *make_hole();
}

static int
sent(void *arg)
{
	(void)open_with(LH_CATCH_SIGBUS);
	(void)raise(SIGBUS);
	return 0;
}

static int
ignored(void *arg)
{
	struct lh *lh;

	(void)signal(SIGBUS, SIG_IGN);
	lh = open_with(LH_CATCH_SIGBUS);
	(void)raise(SIGBUS);
	is(truncate_and_acquire(lh), -EUCLEAN, "caught");
	is(lh_close(lh), 0, "closed");
	ok(signal(SIGBUS, SIG_DFL) == SIG_IGN, "it is ignored again");
	return 0;
}

/* A second attachment of the process shares the mapping, and its fate. */
static int
opened_again(void *arg)
{
	struct lh *lh = open_with(LH_CATCH_SIGBUS), *other =
	    open_with(LH_CATCH_SIGBUS);
	struct lh_lease l;

	is(truncate_and_acquire(lh), -EUCLEAN, "one");
	is(lh_acquire(other, "k", NULL, &l), -EUCLEAN, "the other");
	is(lh_close(other), 0, "closed");
	(void)lh_table_remove(table, LH_FORCE);
	other = open_with(LH_CATCH_SIGBUS);
	is(lh_acquire(other, "k", NULL, &l), 0, "a new table of that name");
	is(lh_acquire(lh, "k", NULL, &l), -EUCLEAN, "the old one");
	is(lh_close(other), 0, "closed");
	is(lh_close(lh), 0, "closed");
	return 0;
}

static int
gate(void *arg)
{
	char path[] = "/tmp/leasehold-test-gate-XXXXXX";
	struct lh *lh = open_with(LH_CATCH_SIGBUS);
	struct lh_gate *g, *punched;
	int fd = mkstemp(path);

	(void)unlink(path);
	must(lh_gate_open(&g, path, NULL, 0), "gate");
	must(lh_gate_open(&punched, path, NULL, 0), "gate");
	is(lh_gate_check(g, 7, LH_EXCLUSIVE), 0, "it passes");
	(void)close(fd);
	fd = open(path, O_RDWR);
	is(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
	    0, "punched");
	is(lh_gate_check(punched, 3, LH_EXCLUSIVE), -EUCLEAN, "zeros let "
	    "nothing pass");
	is(lh_gate_close(punched), 0, "closed");
	is(lh_gate_close(g), 0, "closed");
	(void)close(fd);
	(void)unlink(path);
	is(lh_close(lh), 0, "closed");
	return 0;
}

static void
try(const char *what, int (*fn)(void *arg), int want)
{
	is(t_reap(t_fork(fn, NULL), T_HANG_MS), want, "%s", what);
	(void)lh_table_remove(table, LH_FORCE);
}

int
main(void)
{
	table = t_table();
	try("unasked: SIGBUS", not_asked, 256 + SIGBUS);
	try("with LH_CATCH_SIGBUS", on_request, 0);
	try("a handler of the application's", own_handler, 0);
	try("a fault elsewhere: SIGBUS", strange_fault, 256 + SIGBUS);
	try("a signal that was sent: SIGBUS", sent, 256 + SIGBUS);
	try("ignored before", ignored, 0);
	try("two attachments", opened_again, 0);
	try("a gate", gate, 0);
	return done();
}
