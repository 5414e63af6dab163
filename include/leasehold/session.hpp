/* SPDX-License-Identifier: MIT */
/* Named sessions in C++: a part of leasehold.hpp. */
#ifndef LEASEHOLD_SESSION_HPP
#define LEASEHOLD_SESSION_HPP

#include <leasehold.hpp>

namespace leasehold {

/* A named session, as one process uses it; it goes on without. */
class session {
public:
	/* name nullptr: a new one; see lh_session_open() */
	explicit session(const table &table, const char *name = nullptr,
	    const lh_session_opts *opts = nullptr)
	    : lh_(table.shared())
	{
		lh_session *s = nullptr;

		detail::check(lh_session_open(table.c(), name, opts, &s));
		session_.reset(s);
	}
	/* The ttl in force.  Throws if it has ended. */
	milliseconds
	renew()
	{
		const std::int64_t ms = lh_session_renew(session_.get());

		if (ms < 0)
			throw error(static_cast<int>(ms));
		return milliseconds(ms);
	}
	/* By a thread of this process, as long as this is there. */
	void
	keep(bool on = true)
	{
		detail::check(lh_session_keep(session_.get(), on));
	}
	void destroy() { detail::check(lh_session_destroy(session_.get())); }
	struct lh_session_info
	info() const
	{
		struct lh_session_info i;

		detail::check(::lh_session_info(session_.get(), &i));
		return i;
	}
	lh_session *c() const noexcept { return session_.get(); }

private:
	std::shared_ptr<lh> lh_;
	std::unique_ptr<lh_session, decltype(&lh_session_close)> session_
	    { nullptr, lh_session_close };
};

} /* namespace leasehold */

#endif
