/* SPDX-License-Identifier: MIT */
/*
 * leasehold for C++17: the same calls with owners instead of pairs.  There is
 * no library of its own to compile; link libleasehold.
 *
 *	leasehold::table table;
 *	if (auto lease = table.try_acquire("nightly-report"))
 *		write_report(lease->token());		// released at the brace
 *
 *	leasehold::live_lock lock(table, "catalogue");	// renews itself
 *	std::unique_lock guard(lock);
 *	while (more_to_do() && lock.valid())
 *		do_a_little();
 *
 * Failures throw leasehold::error, whose code() compares with std::errc and
 * whose what() is lh_error_detail(). "Busy" of the try_ functions and "lost" of
 * the checks (verify, valid, pass) are results, not failures.
 *
 * The declarations of the C functions of the same names describe what each call
 * does and guarantees.  Owners are moved, not copied, and used by one thread at
 * a time; live_lock is used by any number.  The attachment is closed when the
 * last one of a table and its leases, locks and watches is gone, in whatever
 * order.  In a forked child destructors do nothing.
 *
 * Above 500 lines, in one piece: it is made to be copied into a project.
 */
#ifndef LEASEHOLD_HPP
#define LEASEHOLD_HPP

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <leasehold.h>

namespace leasehold {

using std::chrono::milliseconds;

/* The category of the library's codes, which equal the std::errc of the same
 * number. */
inline const std::error_category &
category() noexcept
{
	struct names final : std::error_category {
		const char *
		name() const noexcept override
		{
			return "leasehold";
		}
		std::string
		message(int code) const override
		{
			return lh_strerror(code);
		}
		std::error_condition
		default_error_condition(int code) const noexcept override
		{
			return { code, std::generic_category() };
		}
	};
	static const names all;

	return all;
}

class error : public std::system_error {
public:
	/* Throws at once if a result is below 0: the detail is this thread's
	 * last. */
	explicit error(int result)
	    : std::system_error(-result, category()),
	      detail_(lh_error_detail())
	{
	}
	error(int result, const char *detail)
	    : std::system_error(-result, category()), detail_(detail)
	{
	}
	const char *
	what() const noexcept override
	{
		return detail_.empty() ? std::system_error::what() :
		    detail_.c_str();
	}

private:
	std::string detail_;
};

namespace detail {

inline int
check(int result)
{
	if (result < 0)
		throw error(result);
	return result;
}

/* True if the result is 0, false if it is `no`; throws otherwise. */
inline bool
answer(int result, int no)
{
	return result != no && check(result) == 0;
}

/* Throws for a name with a NUL byte, which would be cut there, and be another
 * name. */
inline std::string_view
whole_name(std::string_view name)
{
	if (name.find('\0') != std::string_view::npos)
		throw error(-EINVAL, "a name has a NUL byte: the table would "
		    "take what is before it for the name");
	return name;
}

/* A name as a C string, for as long as a call lasts. */
class c_name {
public:
	explicit c_name(std::string_view name) : text_(whole_name(name)) {}
	operator const char *() const noexcept { return text_.c_str(); }

private:
	const std::string text_;
};

/* Owner of an object that a C function ends. */
template <typename T, int (*End)(T *)> struct ender {
	void
	operator()(T *t) const noexcept
	{
		(void)End(t);
	}
};

} /* namespace detail */

/* Like struct lh_acquire_opts, into which it converts. */
struct options {
	lh_mode mode = LH_EXCLUSIVE;
	milliseconds ttl { 30000 };
	milliseconds max_wait { 3600000 };	/* 0: try */
	std::uint32_t priority = 0;
	lh_scope scope = LH_EPHEMERAL;
	std::uint32_t flags = 0;		/* LH_ROBUST and others */
	struct lh_cancel *cancel = nullptr;
	const struct lh_acquire_more *more = nullptr;	/* yours to keep */

	lh_acquire_opts
	c(bool only_try = false) const noexcept
	{
		lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

		o.mode = mode;
		o.scope = scope;
		o.flags = flags;
		o.priority = priority;
		o.ttl_ms = ttl.count();
		o.max_wait_ms = only_try ? 0 : max_wait.count();
		o.cancel = cancel;
		o.more = more;
		return o;
	}
};

/* One of many keys. */
struct item {
	std::string key;
	lh_mode mode = LH_EXCLUSIVE;
};

class table;

/* One grant. Released at its end, unless that was done before. */
class lease {
public:
	lease() noexcept = default;
	lease(lease &&from) noexcept
	    : lh_(std::move(from.lh_)), lease_(from.lease_)
	{
		from.lh_ = nullptr;
	}
	lease &
	operator=(lease &&from) noexcept
	{
		std::swap(lh_, from.lh_);
		std::swap(lease_, from.lease_);
		return *this;
	}
	~lease()
	{
		if (lh_)
			(void)lh_release(lh_.get(), &lease_);
	}

	/* Throws if it was lost. */
	void
	release()
	{
		auto lh = std::exchange(lh_, nullptr);

		detail::check(lh_release(lh.get(), &lease_));
	}
	void
	extend(milliseconds ttl)
	{
		detail::check(lh_extend(lh_.get(), &lease_, ttl.count()));
	}
	void
	convert(lh_mode mode)
	{
		detail::check(lh_convert(lh_.get(), &lease_, mode));
	}
	/*
	 * The same, but waits until other readers have left.  Throws
	 * std::errc::resource_deadlock_would_occur if that would never happen.
	 */
	void
	convert(lh_mode mode, const options &how)
	{
		const lh_acquire_opts o = how.c();

		detail::check(lh_convert_wait(lh_.get(), &lease_, mode, &o));
	}
	/*
	 * Hands it over to that named session, or (nullptr) to the table's
	 * attachment.  It is still released at the brace, unless leave() is
	 * called.
	 */
	void
	hand_over(lh_session *to)
	{
		detail::check(lh_handoff(lh_.get(), &lease_, to));
	}
	/*
	 * Leaves the lease in its named session; this object no longer owns it.
	 */
	lh_lease
	leave() noexcept
	{
		lh_ = nullptr;
		return lease_;
	}
	/* True if it is still held. */
	bool
	verify() const
	{
		return detail::answer(lh_verify(lh_.get(), &lease_), -ESTALE);
	}
	/* Its key, times and policy, as they are now.  Throws if it is lost. */
	struct ::lh_lease_info
	info() const
	{
		struct ::lh_lease_info found = LH_LEASE_INFO_INIT;

		detail::check(::lh_lease_info(lh_.get(), &lease_, &found));
		return found;
	}
	/* The key's value: up to LH_VALUE_MAX bytes; empty: none. */
	void
	set_value(std::string_view value)
	{
		detail::check(lh_value_set(lh_.get(), &lease_, value.data(),
		    value.size()));
	}
	/*
	 * True if an earlier holder with LH_ROBUST did not release the key, and
	 * nobody has declared what it guards consistent since.
	 */
	bool
	is_inconsistent() const noexcept
	{
		return (lease_.notes & LH_NOTE_INCONSISTENT) != 0;
	}
	/*
	 * Declares what the key guards consistent, after it was repaired.
	 * Throws if the lease was lost, or is_inconsistent() is false.
	 */
	void
	mark_consistent()
	{
		detail::check(lh_mark_consistent(lh_.get(), &lease_));
	}
	std::uint64_t token() const noexcept { return lease_.token; }
	lh_mode mode() const noexcept { return lh_mode(lease_.mode); }
	std::uint32_t notes() const noexcept { return lease_.notes; }
	/* True if it has something to release. */
	explicit operator bool() const noexcept { return lh_ != nullptr; }
	const lh_lease &c() const noexcept { return lease_; }

private:
	friend class table;
	friend class ticket;
	friend class semaphore;
	lease(std::shared_ptr<lh> lh, const lh_lease &lease) noexcept
	    : lh_(std::move(lh)), lease_(lease)
	{
	}

	std::shared_ptr<lh> lh_;
	lh_lease lease_ {};
};

/* An attachment. */
class table {
public:
	explicit table(const char *name = nullptr,
	    const lh_open_opts *opts = nullptr)
	{
		lh *lh = nullptr;

		detail::check(lh_open(&lh, name, opts));
		lh_ = std::shared_ptr<::lh>(lh,
		    detail::ender<::lh, lh_close>());
	}
	explicit table(std::string_view name,
	    const lh_open_opts *opts = nullptr)
	    : table(detail::c_name(name), opts)
	{
	}

	lease
	acquire(std::string_view key, const options &opts = {}) const
	{
		const lh_acquire_opts o = opts.c();
		lh_lease l;

		detail::check(lh_acquire(lh_.get(), detail::c_name(key), &o,
		    &l));
		return { lh_, l };
	}
	/* Returns nothing if others block it; does not wait. */
	std::optional<lease>
	try_acquire(std::string_view key, const options &opts = {}) const
	{
		const lh_acquire_opts o = opts.c(true);
		lh_lease l;

		if (!detail::answer(lh_acquire(lh_.get(), detail::c_name(key),
		    &o, &l),
		    -EAGAIN))
			return std::nullopt;
		return lease(lh_, l);
	}
	/*
	 * Acquires all of these keys, or none; the leases are in their order.
	 */
	std::vector<lease>
	acquire_many(const std::vector<item> &items,
	    const options &opts = {}) const
	{
		const lh_acquire_opts o = opts.c();
		std::vector<lh_item> of(items.size());
		std::vector<lh_lease> l(items.size());
		std::vector<lease> all;

		for (std::size_t i = 0; i < items.size(); i++)
			of[i] = { detail::whole_name(items[i].key).data(),
			    items[i].mode, 0 };
		all.reserve(items.size());
		detail::check(lh_acquire_many(lh_.get(), of.data(), of.size(),
		    &o, l.data()));
		for (const lh_lease &one : l)
			all.push_back(lease(lh_, one));
		return all;
	}
	/* True if this is the token of a present lease. */
	bool
	verify(std::string_view key, std::uint64_t token) const
	{
		return detail::answer(lh_verify_token(lh_.get(),
		    detail::c_name(key),
		    token), -ESTALE);
	}
	/* Returns the value of a key, and the token of the lease under which it
	 * was set; nothing if it has no value, or does not exist. */
	std::optional<std::pair<std::string, std::uint64_t>>
	value(std::string_view key) const
	{
		char bytes[LH_VALUE_MAX];
		std::size_t len = 0;
		std::uint64_t token = 0;

		if (!detail::answer(lh_value_get(lh_.get(),
		    detail::c_name(key), bytes,
		    &len, &token), -ENOENT) || len == 0)
			return std::nullopt;
		return std::make_pair(std::string(bytes, len), token);
	}
	/*
	 * Calls fn with the key's holders and waiters, and what they do; the
	 * data is valid during that call only.  Returns false if the key does
	 * not exist.
	 */
	bool
	explain(std::string_view key,
	    const std::function<void(const lh_key_info &)> &fn) const
	{
		struct ask {
			const std::function<void(const lh_key_info &)> *fn;
			std::exception_ptr thrown;
		} a { &fn, nullptr };
		const auto tell = [](const lh_key_info *info, void *arg) {
			auto *to = static_cast<ask *>(arg);

			try {
				(*to->fn)(*info);
			} catch (...) {
				to->thrown = std::current_exception();
			}
			return 0;
		};
		const int result = lh_explain(lh_.get(), detail::c_name(key),
		    tell, &a);

		if (a.thrown)
			std::rethrow_exception(a.thrown);
		return detail::answer(result, -ENOENT);
	}
	lh *c() const noexcept { return lh_.get(); }
	const std::shared_ptr<lh> &shared() const noexcept { return lh_; }

private:
	std::shared_ptr<lh> lh_;
};

/* A place in a key's queue, without a thread; cancelled at its end. */
class ticket {
public:
	ticket(const table &t, std::string_view key, const options &opts = {})
	    : lh_(t.shared())
	{
		const lh_acquire_opts o = opts.c();
		lh_ticket *made = nullptr;

		detail::check(lh_acquire_start(lh_.get(),
		    detail::c_name(key), &o,
		    &made));
		ticket_.reset(made);
	}
	/* Readable when finish() has a result. */
	int fd() const { return detail::check(lh_ticket_fd(ticket_.get())); }
	int
	rank() const
	{
		return detail::check(lh_ticket_rank(ticket_.get()));
	}
	/* Returns nothing while it is not granted.  It cannot be used any more
	 * after it has returned the lease, or thrown. */
	std::optional<lease>
	finish()
	{
		lh_lease l;
		const int result = lh_ticket_finish(ticket_.get(), &l);

		if (result == -EAGAIN)
			return std::nullopt;
		if (result != -EINVAL && result != -EPERM)
			(void)ticket_.release();	/* it is gone */
		detail::check(result);
		return lease(lh_, l);
	}

private:
	std::shared_ptr<lh> lh_;
	std::unique_ptr<lh_ticket, detail::ender<lh_ticket,
	    lh_ticket_cancel>> ticket_;
};

/* A limited number of holders at once; a permit is a lease. */
class semaphore {
public:
	semaphore(const table &t, std::string_view name, std::uint32_t limit)
	    : lh_(t.shared())
	{
		lh_sem *made = nullptr;

		detail::check(lh_sem_open(lh_.get(), detail::c_name(name),
		    limit,
		    &made));
		sem_.reset(made);
	}
	lease
	acquire(const options &opts = {}) const
	{
		const lh_acquire_opts o = opts.c();
		lh_lease l;

		detail::check(lh_sem_acquire(sem_.get(), &o, &l));
		return lease(lh_, l);
	}
	std::optional<lease>
	try_acquire(const options &opts = {}) const
	{
		const lh_acquire_opts o = opts.c(true);
		lh_lease l;

		if (!detail::answer(lh_sem_acquire(sem_.get(), &o, &l),
		    -EAGAIN))
			return std::nullopt;
		return lease(lh_, l);
	}
	struct lh_sem_status
	status() const
	{
		struct lh_sem_status s {};

		s.size = sizeof(s);
		detail::check(lh_sem_status(sem_.get(), &s));
		return s;
	}

private:
	std::shared_ptr<lh> lh_;
	std::unique_ptr<lh_sem, detail::ender<lh_sem, lh_sem_close>> sem_;
};

/* A receiver of a live lock's changes; see lh_lock_watch(). */
class watch {
public:
	int fd() const { return detail::check(lh_watch_fd(watch_.get())); }
	std::optional<lh_event>
	next()
	{
		lh_event e = LH_EVENT_INIT;

		if (!detail::answer(lh_watch_next(watch_.get(), &e), -EAGAIN))
			return std::nullopt;
		return e;
	}

private:
	friend class live_lock;
	explicit watch(lh_watch *w) : watch_(w) { }

	std::unique_ptr<lh_watch, detail::ender<lh_watch, lh_watch_close>>
	    watch_;
};

struct live_options {
	/* called from the thread that renews: be brief, do not throw */
	std::function<void(const lh_event &)> on_event;
	std::optional<milliseconds> renew_every;	/* ttl / 3; 0: never */
	milliseconds warn { 0 };
};

/* A lease that renews itself and reports its loss.  std::unique_lock and
 * std::shared_lock take it, also with a time.  Released at its end. */
class live_lock {
public:
	live_lock(const table &table, std::string_view key,
	    live_options opts = {}, const options &how = {})
	    : lh_(table.shared()), how_(how),
	      event_(std::move(opts.on_event))
	{
		const lh_lock_opts o = c_opts(opts);
		lh_lock *lock = nullptr;

		detail::check(lh_lock_open(lh_.get(), detail::c_name(key), &o,
		    &lock));
		lock_.reset(lock);
	}
	/*
	 * Adopts a lease that is held, and renews it by that ttl from now on.
	 */
	live_lock(const table &table, lease &&held, milliseconds ttl,
	    live_options opts = {}, const options &how = {})
	    : lh_(table.shared()), how_(how),
	      event_(std::move(opts.on_event))
	{
		const lh_lock_opts o = c_opts(opts);
		lh_lock *lock = nullptr;

		detail::check(lh_lock_adopt(lh_.get(), &held.c(), ttl.count(),
		    &o, &lock));
		(void)held.leave();
		lock_.reset(lock);
	}
	live_lock(const live_lock &) = delete;
	live_lock &operator=(const live_lock &) = delete;
	~live_lock()
	{
		(void)lh_lock_release(lock_.get());
	}

	void
	lock()
	{
		const lh_acquire_opts o = how_.c();

		detail::check(lh_lock_acquire(lock_.get(), &o));
	}
	bool
	try_lock()
	{
		const lh_acquire_opts o = how_.c(true);

		return detail::answer(lh_lock_acquire(lock_.get(), &o),
		    -EAGAIN);
	}
	/* TimedLockable, for std::unique_lock. */
	template <typename Rep, typename Period>
	bool
	try_lock_for(const std::chrono::duration<Rep, Period> &span)
	{
		return acquire_for(how_.mode, span);
	}
	template <typename Clock, typename Duration>
	bool
	try_lock_until(const std::chrono::time_point<Clock, Duration> &end)
	{
		return acquire_for(how_.mode, end - Clock::now());
	}
	/* SharedTimedLockable, for std::shared_lock: as one of several readers.
	 * One object holds its key once, in either mode. */
	void
	lock_shared()
	{
		lh_acquire_opts o = how_.c();

		o.mode = LH_SHARED;
		detail::check(lh_lock_acquire(lock_.get(), &o));
	}
	bool
	try_lock_shared()
	{
		return acquire_for(LH_SHARED, milliseconds(0));
	}
	template <typename Rep, typename Period>
	bool
	try_lock_shared_for(const std::chrono::duration<Rep, Period> &span)
	{
		return acquire_for(LH_SHARED, span);
	}
	template <typename Clock, typename Duration>
	bool
	try_lock_shared_until(
	    const std::chrono::time_point<Clock, Duration> &end)
	{
		return acquire_for(LH_SHARED, end - Clock::now());
	}
	void
	unlock_shared() noexcept
	{
		unlock();
	}
	/*
	 * Does not throw if it was lost, because guards call it; see release()
	 */
	void
	unlock() noexcept
	{
		(void)lh_lock_release(lock_.get());
	}
	/* Returns false if it was lost. */
	bool
	release()
	{
		return detail::answer(lh_lock_release(lock_.get()), -ESTALE);
	}
	bool
	valid() const
	{
		return detail::answer(lh_lock_valid(lock_.get()), -ESTALE);
	}
	struct lh_lock_state
	state() const
	{
		struct lh_lock_state s {};

		s.size = sizeof(s);
		detail::check(lh_lock_state(lock_.get(), &s));
		return s;
	}
	std::uint64_t token() const { return state().lease.token; }
	void
	extend(milliseconds ttl)
	{
		detail::check(lh_lock_extend(lock_.get(), ttl.count(),
		    nullptr));
	}
	void
	renew_every(milliseconds every)
	{
		detail::check(lh_lock_renew_every(lock_.get(),
		    every.count()));
	}
	leasehold::watch
	watch(std::uint32_t what = 0)
	{
		lh_watch *w = nullptr;

		detail::check(lh_lock_watch(lock_.get(), what, &w));
		return leasehold::watch(w);
	}
	lh_lock *c() const noexcept { return lock_.get(); }

private:
	template <typename Rep, typename Period>
	bool
	acquire_for(lh_mode mode,
	    const std::chrono::duration<Rep, Period> &span)
	{
		const milliseconds wait =
		    std::chrono::ceil<milliseconds>(span);
		lh_acquire_opts o = how_.c(true);
		int result;

		o.mode = mode;
		o.max_wait_ms = wait.count() > 0 ? wait.count() : 0;
		result = lh_lock_acquire(lock_.get(), &o);
		return result != -ETIMEDOUT && detail::answer(result, -EAGAIN);
	}
	lh_lock_opts
	c_opts(const live_options &opts)
	{
		lh_lock_opts o = LH_LOCK_OPTS_INIT;

		if (opts.renew_every)
			o.renew_ms = opts.renew_every->count();
		o.warn_ms = opts.warn.count();
		if (event_) {
			o.event = tell;
			o.arg = this;
		}
		return o;
	}
	static void
	tell(lh_lock *, const lh_event *e, void *arg) noexcept
	{
		static_cast<live_lock *>(arg)->event_(*e);
	}

	std::shared_ptr<lh> lh_;
	options how_;
	std::function<void(const lh_event &)> event_;
	/* last: no callback runs any more when event_ goes */
	std::unique_ptr<lh_lock, detail::ender<lh_lock, lh_lock_close>> lock_;
};

/* The named requirements that it meets. */
namespace detail {

template <typename T, typename = void>
struct is_shared_timed_lockable : std::false_type {
};
template <typename T>
struct is_shared_timed_lockable<T, std::void_t<
    decltype(std::declval<T &>().lock()),
    decltype(std::declval<T &>().unlock()),
    decltype(bool(std::declval<T &>().try_lock())),
    decltype(bool(std::declval<T &>().try_lock_for(milliseconds(1)))),
    decltype(bool(std::declval<T &>().try_lock_until(
	std::chrono::steady_clock::time_point()))),
    decltype(std::declval<T &>().lock_shared()),
    decltype(std::declval<T &>().unlock_shared()),
    decltype(bool(std::declval<T &>().try_lock_shared())),
    decltype(bool(std::declval<T &>().try_lock_shared_for(milliseconds(1)))),
    decltype(bool(std::declval<T &>().try_lock_shared_until(
	std::chrono::steady_clock::time_point())))>> : std::true_type {
};

} /* namespace detail */

static_assert(detail::is_shared_timed_lockable<live_lock>::value,
    "Lockable, TimedLockable, SharedLockable, SharedTimedLockable");

/* The largest token that was shown to a resource; see leasehold/gate.h. */
class gate {
public:
	explicit gate(std::string_view path, std::uint32_t flags = 0)
	{
		lh_gate *g = nullptr;

		detail::check(lh_gate_open(&g, detail::c_name(path), nullptr,
		    flags));
		gate_.reset(g);
	}
	/* True if the token may pass.  Throws if that is not known: do not
	 * write then, either. */
	bool
	pass(std::uint64_t token, lh_mode mode = LH_EXCLUSIVE)
	{
		return detail::answer(lh_gate_check(gate_.get(), token, mode),
		    -ESTALE);
	}
	bool pass(const lease &l) { return pass(l.token(), l.mode()); }

private:
	std::unique_ptr<lh_gate, detail::ender<lh_gate, lh_gate_close>> gate_;
};

/*
 * Runs f(lock) under the key if it is free this very moment.  Returns false, or
 * nothing, if it is busy; f did not run.  The results and exceptions of f are
 * its own.  At its end f can check whether the key was held all the time:
 * lock.valid().
 */
template <typename F>
auto
with(const table &table, std::string_view key, F &&f,
    const options &opts = {})
{
	using result = std::invoke_result_t<F, live_lock &>;
	live_lock lock(table, key, {}, opts);
	const bool mine = lock.try_lock();

	if constexpr (std::is_void_v<result>) {
		if (mine)
			std::invoke(std::forward<F>(f), lock);
		return mine;
	} else {
		return mine ? std::optional<result>(
		    std::invoke(std::forward<F>(f), lock)) : std::nullopt;
	}
}

} /* namespace leasehold */

#include <leasehold/session.hpp>

#endif
