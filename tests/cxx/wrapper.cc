/* SPDX-License-Identifier: MIT */
/*
 * leasehold.hpp: owners release, answers are answers, failures are exceptions
 * with code and words, and nothing outlives what it needs.
 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <atomic>
#include <string>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>
#include <leasehold.hpp>

using leasehold::milliseconds;
using leasehold::options;

static int tested, failed;

static void
ok(bool held, const char *what)
{
	std::printf("%s %d - %s\n", held ? "ok" : "not ok", ++tested, what);
	failed += !held;
}

template <typename F>
static void
throws(std::errc code, F f, const char *what)
{
	try {
		f();
		ok(false, what);
	} catch (const leasehold::error &e) {
		ok(e.code() == code && std::strchr(e.what(), ' ') != nullptr,
		    what);
	}
}

/* In another file, so that the header is compiled twice. */
int elsewhere(const leasehold::table &table);

static leasehold::lease
pass_on(leasehold::lease l)
{
	return l;
}

static void
leases(const std::string &name)
{
	leasehold::table table(name), other(name);

	static_assert(!std::is_copy_constructible_v<leasehold::lease>);
	static_assert(std::is_nothrow_move_constructible_v<leasehold::lease>);
	static_assert(std::is_nothrow_move_assignable_v<leasehold::lease>);
	{
		leasehold::lease a = table.acquire("k");
		ok(a.token() > 0 && a.verify(), "acquired");
		ok(std::string(a.info().key) == "k", "its key");
		std::uint64_t seen = 0;
		ok(table.explain("k", [&](const lh_key_info &info) {
			seen = info.n_holders == 1 ? info.holders[0].token : 0;
		}) && seen == a.token(), "explained");
		ok(!table.explain("not there", [](const lh_key_info &) { }),
		    "an unknown key is not");
		throws(std::errc::io_error, [&] {
			(void)table.explain("k", [](const lh_key_info &) {
				throw leasehold::error(-EIO);
			});
		}, "what is thrown meanwhile arrives");
		ok(!other.try_acquire("k"), "busy is an answer");
		ok(table.verify("k", a.token()), "its token is known");
		ok(!table.verify("k", a.token() + 1), "another is not");
		a = pass_on(std::move(a));
		ok(a.verify(), "moved about");
		a.extend(milliseconds(1000));
	}
	ok(bool(other.try_acquire("k")), "released at the brace");
	leasehold::lease b = table.acquire("k");
	b.convert(LH_SHARED);
	options shared;
	shared.mode = LH_SHARED;
	ok(bool(other.try_acquire("k", shared)), "readers together");
	b.convert(LH_EXCLUSIVE, options());
	ok(b.mode() == LH_EXCLUSIVE, "and one alone");
	try {
		(void)other.acquire("k");
		ok(false, "one's own lease cannot be waited for");
	} catch (const leasehold::error &e) {
		ok(e.code() == std::errc::resource_deadlock_would_occur,
		    "a deadlock is thrown");
	}
	b.release();
	ok(!b, "nothing left to release");

	{
		auto many = table.acquire_many({ { "z" },
		    { "y", LH_SHARED } });
		ok(many.size() == 2 && many[0].verify() && many[1].verify(),
		    "many keys");
		ok(many[1].mode() == LH_SHARED, "in their order");
		throws(std::errc::resource_unavailable_try_again, [&] {
			options o;
			o.max_wait = milliseconds(0);
			other.acquire_many({ { "x" }, { "z" } }, o);
		}, "or none");
		ok(bool(other.try_acquire("x")), "of them");
	}
	ok(bool(other.try_acquire("z")), "released at the brace");

	options brief;
	brief.ttl = milliseconds(20);
	leasehold::lease c = table.acquire("k", brief);
	usleep(60000);
	ok(!c.verify(), "run out");
	try {
		c.extend(milliseconds(1000));
		ok(false, "lost is an exception");
	} catch (const leasehold::error &e) {
		ok(e.code().value() == ESTALE &&
		    e.code().category() == leasehold::category(),
		    "lost is an exception");
		ok(std::strstr(e.what(), "ran out") != nullptr, e.what());
	}
}

static void
failures(const std::string &name)
{
	leasehold::table table(name), other(name);
	options o;

	leasehold::lease held = other.acquire("k");
	o.max_wait = milliseconds(30);
	throws(std::errc::timed_out, [&] { table.acquire("k", o); },
	    "a wait that times out");
	throws(std::errc::invalid_argument, [&] { table.acquire(""); },
	    "no key");
	throws(std::errc::filename_too_long,
	    [&] { table.acquire(std::string(300, 'k')); }, "a long key");
	o.flags = LH_NO_CREATE;
	throws(std::errc::no_such_file_or_directory,
	    [&] { table.try_acquire("nobody's", o); }, "an unknown key");
	throws(std::errc::invalid_argument,
	    [] { leasehold::table bad(std::string("a/b")); }, "a bad table");
}

static void
outlive(const std::string &name)
{
	leasehold::lease l;
	leasehold::table other(name);
	{
		leasehold::table table(name);

		l = table.acquire("k");
	}
	ok(l.verify(), "a lease keeps its attachment");
	l = {};
	ok(bool(other.try_acquire("k")), "and releases it");
}

static void
live(const std::string &name)
{
	leasehold::table table(name), other(name);
	std::atomic<unsigned> seen { 0 };
	leasehold::live_options lo;
	options o;

	o.ttl = milliseconds(3000);
	lo.on_event = [&](const lh_event &e) { seen |= e.what; };
	lo.renew_every = milliseconds(20);
	{
		leasehold::live_lock lock(table, "live", lo, o);
		auto watch = lock.watch(LH_EVENT_ACQUIRED | LH_EVENT_LOST);

		ok(!lock.valid(), "not held yet");
		{
			std::unique_lock guard(lock);

			ok(lock.valid(), "held by a guard");
			throws(std::errc::connection_already_in_progress,
			    [&] { lock.lock(); }, "not twice");
			usleep(900000);
			for (int i = 0; lock.valid() && i < 2000 &&
			    lock.state().renewals <= 3; i++)
				usleep(1000);
			ok(lock.valid() && lock.state().renewals > 3,
			    "renewed");
			ok(!other.try_acquire("live"), "nobody gets in");
		}
		ok(!lock.valid() && lock.release(), "released by it");
		ok(lock.try_lock(), "tried");
		ok(lh_break(other.c(), "live", nullptr, 0) == 1, "broken");
		for (int i = 0; lock.valid() && i < 10000; i++)
			usleep(1000);
		ok(!lock.valid() && !lock.release(), "lost is an answer");
		auto e = watch.next();
		ok(e && e->what == LH_EVENT_ACQUIRED, "watched");
		(void)watch.next();
		e = watch.next();
		ok(e && e->loss == LH_LOSS_BROKEN && watch.fd() >= 0,
		    "with the reason");
		ok(!watch.next(), "and that is all");
		lock.lock();
	}
	ok(bool(other.try_acquire("live")), "released at the brace");
	ok(seen & LH_EVENT_RENEWED, "a callback was called");
}

static void
a_value(leasehold::table &table)
{
	leasehold::lease l = table.acquire("v");

	ok(!table.value("v") && !table.value("no such"), "no value");
	l.set_value(std::string("a\0b", 3));
	auto v = table.value("v");
	ok(v && v->first == std::string("a\0b", 3) && v->second == l.token(),
	    "a value, and its token");
	throws(std::errc::invalid_argument,
	    [&] { l.set_value(std::string(257, 'x')); }, "too long a one");
	l.set_value("");
	ok(!table.value("v"), "cleared");
}

static void
around(const std::string &name)
{
	leasehold::table table(name), other(name);
	auto seven = [](leasehold::live_lock &l) { return l.valid() ? 7 : 0; };

	auto r = leasehold::with(table, "w", seven);
	ok(r && *r == 7, "run under a lease");
	leasehold::lease held = other.acquire("w");
	ok(!leasehold::with(table, "w", seven), "or not at all");
	held.release();
	try {
		leasehold::with(table, "w",
		    [](leasehold::live_lock &) { throw 5; });
		ok(false, "what it throws is its own");
	} catch (int five) {
		ok(five == 5, "what it throws is its own");
	}
	ok(bool(other.try_acquire("w")), "and the key is free");

	a_value(table);

	char path[] = "/tmp/leasehold-cxx.XXXXXX";
	close(mkstemp(path));
	unlink(path);
	leasehold::gate gate(path, LH_GATE_DURABLE);
	leasehold::lease a = table.acquire("w");
	ok(gate.pass(a), "a gate lets it pass");
	ok(!gate.pass(a.token() - 1), "and no older one");
	throws(std::errc::invalid_argument, [&] { gate.pass(0); },
	    "nor what is no token");
	unlink(path);
	throws(std::errc::no_such_file_or_directory, [&] { gate.pass(a); },
	    "a gate that is gone throws");
}

static void
sessions(const std::string &name)
{
	leasehold::table table(name), other(name);
	lh_lease left;

	{
		leasehold::session s(table, "cxx");
		leasehold::lease a = table.acquire("s");
		const std::uint64_t token = a.token();

		a.hand_over(s.c());
		ok(a.token() > token && s.info().leases == 1, "handed over");
		ok(s.renew() == milliseconds(15000), "renewed");
		left = a.leave();
		ok(!a, "left there");
	}
	ok(!other.try_acquire("s"), "it stays held");
	leasehold::session again(other, "cxx");
	ok(lh_verify(other.c(), &left) == 0, "and is presented by others");
	again.destroy();
	ok(bool(other.try_acquire("s")), "until the session ends");
	throws(std::errc(ESTALE), [&] { again.renew(); }, "for good");
}

static void
tickets(const std::string &name)
{
	leasehold::table table(name);
	leasehold::lease held = table.acquire("t");
	leasehold::ticket first(table, "t");

	{
		leasehold::ticket second(table, "t");

		ok(first.rank() == 1 && second.rank() == 2, "two in line");
		ok(!second.finish() && second.fd() >= 0, "not granted yet");
	}
	held.release();
	auto mine = first.finish();
	ok(mine && mine->verify(), "the first is granted, the other gone");
	throws(std::errc::invalid_argument, [&] { first.finish(); },
	    "and that was all");
	ok(lh_ask_release(table.c(), "t", nullptr, 0) == 1 &&
	    lh_lease_asked(table.c(), &mine->c()) == 1, "asked for");
}

static void
permits(const std::string &name)
{
	leasehold::table table(name);
	leasehold::semaphore two(table, "sem", 2);
	leasehold::lease a = two.acquire();
	auto b = two.try_acquire();

	ok(bool(b) && !two.try_acquire(), "two permits, and no more");
	ok(two.status().held == 2 && two.status().limit == 2, "both held");
	b.reset();
	ok(bool(two.try_acquire()), "released with its lease");
	{
		leasehold::live_lock kept(table, std::move(a),
		    std::chrono::seconds(30));

		ok(!a && kept.valid(), "a live handle has adopted it");
		ok(two.status().held == 1, "one is held");
	}
	ok(two.status().held == 0, "and released when that goes");
	throws(std::errc::invalid_argument,
	    [&] { leasehold::semaphore(table, "sem", 3); }, "another limit");
}

static void
robust(const std::string &name)
{
	leasehold::table table(name);
	options how;

	how.flags = LH_ROBUST;
	{
		leasehold::table gone(name);

		gone.acquire("r", how).leave();	/* nobody releases it */
	}
	auto next = table.acquire("r");
	ok(next.is_inconsistent(), "a robust holder left without a release");
	next.release();
	next = table.acquire("r", how);
	ok(next.is_inconsistent(), "and the next one did not repair it");
	next.mark_consistent();
	ok(!next.is_inconsistent(), "marked consistent");
	throws(std::errc::invalid_argument, [&] { next.mark_consistent(); },
	    "and there is no more to mark");
	next.release();
	ok(!table.acquire("r").is_inconsistent(), "the next one is not warned");
}

/* The standard's guards take a live lock, in either mode, with a time. */
static void
guards(const std::string &name)
{
	using namespace std::chrono_literals;
	leasehold::table table(name), other(name);
	options alone;
	alone.flags = LH_NO_DEADLOCK;	/* one thread waits for itself here */
	leasehold::live_lock a(table, "guarded");
	leasehold::live_lock b(other, "guarded", {}, alone);

	{
		std::shared_lock one(a), two(b);

		ok(one.owns_lock() && two.owns_lock(), "two readers");
	}
	{
		std::unique_lock one(a);
		std::unique_lock late(b, 50ms);
		std::shared_lock never(b, std::try_to_lock);

		ok(!late.owns_lock(), "a writer bars one for a time");
		ok(!never.owns_lock(), "and a reader");
		ok(!late.try_lock_until(std::chrono::steady_clock::now() +
		    20ms), "until a moment, too");
	}
	{
		std::shared_lock one(a);

		ok(!std::unique_lock(b, 20ms).owns_lock(),
		    "a reader bars a writer");
		ok(std::shared_lock(b, 1s).owns_lock(), "no other reader");
	}
}

/* A key with a NUL byte would be another key. */
static void
names(const std::string &name)
{
	using namespace std::string_literals;
	leasehold::table table(name);
	const std::string key = "good\0bad"s;

	throws(std::errc::invalid_argument, [&] { table.acquire(key); },
	    "acquire: a NUL byte in the key");
	throws(std::errc::invalid_argument, [&] { table.try_acquire(key); },
	    "try_acquire");
	throws(std::errc::invalid_argument,
	    [&] { (void)table.verify(key, 1); }, "verify");
	throws(std::errc::invalid_argument,
	    [&] { leasehold::live_lock lock(table, key); }, "live_lock");
	throws(std::errc::invalid_argument,
	    [&] { leasehold::table other("x\0y"s); }, "a table's name");
	auto lease = table.try_acquire("good");
	ok(lease.has_value(), "nobody holds what stands before it");
	{
		/* a view ends where it says, and not at a NUL byte */
		const std::string_view text = "good-and-more";
		const std::string_view inside = text.substr(0, 4);

		ok(table.verify(inside, lease->token()), "a view is a key");
		ok(!table.try_acquire(inside).has_value(), "the same key");
		ok(table.try_acquire(text).has_value(), "and no longer one");
	}
}

int
main()
{
	const std::string name = "test-cxx." + std::to_string(getpid());

	leases(name);
	failures(name);
	outlive(name);
	live(name);
	around(name);
	sessions(name);
	tickets(name);
	permits(name);
	robust(name);
	guards(name);
	names(name);
	ok(elsewhere(leasehold::table(name)) == 0, "in another file");
	ok(lh_table_remove(name.c_str(), 0) == 0, "nobody is attached");
	unlink(("/dev/shm/leasehold." + std::to_string(geteuid()) + "/" +
	    name + ".floor").c_str());
	std::printf("1..%d\n", tested);
	return failed != 0;
}
