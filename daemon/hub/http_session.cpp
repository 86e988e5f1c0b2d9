#include "daemon/hub/http_session.hpp"

#include "daemon/hub/errors.hpp"
#include "daemon/net/url.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

namespace headwater::hub {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using Clock = std::chrono::steady_clock;

/// A published window is five minutes long: whoever has waited so many of them out gives up for
/// now.
constexpr int max_rate_pauses = 4;

net::ClientOptions client_options(const HubOptions &options) {
  net::ClientOptions result = net::client_options_from_environment();
  result.user_agent = options.user_agent;
  return result;
}

/// What may be asked again: a passing fault, and bytes that are not what they should be (a proxy's
/// page, a cut).
bool worth_a_retry(const Error &error) {
  return error.code == Errc::transient || error.code == Errc::malformed;
}

} // namespace

HttpSession::HttpSession(const asio::strand<asio::any_io_executor> &strand, HubOptions options)
    : strand_(strand), options_(std::move(options)),
      client_(net::Client::make(strand, client_options(options_))),
      rate_(options_.requests_per_second) {
  while (options_.endpoint.ends_with('/'))
    options_.endpoint.pop_back();
}

awaitable<bool> HttpSession::pause(std::chrono::milliseconds time) {
  if (closed_)
    co_return false;
  if (time.count() <= 0)
    co_return true;
  asio::steady_timer timer(strand_, time);
  pauses_.insert(&timer);
  const auto [ec] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  pauses_.erase(&timer);
  co_return !ec && !closed_;
}

awaitable<Result<net::ClientResponse>> HttpSession::ask(Ask question) {
  int retries = 0;
  int rate_pauses = 0;
  while (true) {
    const std::chrono::milliseconds turn = rate_.reserve(question.bucket, Clock::now());
    if (!co_await pause(turn))
      co_return fail(Errc::transient, "the hub client was closed");
    net::ClientRequest request;
    request.url = options_.endpoint + question.target;
    request.bearer_token = options_.token;
    request.max_body_bytes = question.max_bytes;
    request.stop_at_limit = question.stop_at_limit;
    request.headers.emplace_back("Accept-Encoding", question.accept_encoding);
    if (!question.range.empty())
      request.headers.emplace_back("Range", question.range);
    Result<net::ClientResponse> answer = co_await client_->send(std::move(request));

    Error error;
    bool final_word = false;
    if (!answer) {
      error = answer.error();
      final_word = error.code != Errc::transient;
    } else {
      const Clock::time_point now = Clock::now();
      rate_.observe(answer->headers, now);
      rate_.observe(answer->first_headers, now);
      if (answer->status == 200 || answer->status == 206) {
        const Result<void> checked = question.check ? question.check(*answer) : Result<void>();
        if (checked) {
          retry_budget_.succeeded();
          set_trouble({});
          co_return answer;
        }
        error = checked.error();
      } else {
        error = error_of_answer(*answer, !options_.token.empty());
        final_word = error.code != Errc::transient;
        if (final_word && error.code != Errc::rate_limited)
          set_trouble({});
      }
    }

    // Said while it is waited out, not only once the retries are spent.
    if (error.code == Errc::rate_limited || (!final_word && worth_a_retry(error)))
      set_trouble(error.message);
    std::chrono::milliseconds wait{};
    if (error.code == Errc::rate_limited) {
      const std::optional<std::chrono::seconds> named =
          RateBudget::pause_after_429(answer->headers);
      wait = named ? std::chrono::milliseconds(*named)
                   : backoff(3, std::chrono::milliseconds(options_.first_backoff_ms), 0.5);
      error.retry_after_seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
      if (rate_pauses++ >= max_rate_pauses)
        co_return std::unexpected(std::move(error));
    } else {
      const int allowed =
          error.code == Errc::malformed ? std::min(1, options_.retries) : options_.retries;
      if (final_word || !worth_a_retry(error) || retries >= allowed || !retry_budget_.take())
        co_return std::unexpected(std::move(error));
      const double random = std::uniform_real_distribution<double>(0, 1)(random_);
      wait = backoff(retries++, std::chrono::milliseconds(options_.first_backoff_ms), random);
    }
    if (!co_await pause(wait))
      co_return std::unexpected(std::move(error));
  }
}

awaitable<bool> HttpSession::wait_a_moment(int retry) {
  const double random = std::uniform_real_distribution<double>(0, 1)(random_);
  co_return co_await pause(
      backoff(retry, std::chrono::milliseconds(options_.first_backoff_ms), random));
}

std::string HttpSession::trouble() const {
  const std::lock_guard lock(trouble_mutex_);
  return trouble_;
}

void HttpSession::set_trouble(std::string what) {
  const std::lock_guard lock(trouble_mutex_);
  trouble_ = std::move(what);
}

Result<std::string> HttpSession::next_page(const net::ClientResponse &answer) const {
  for (const auto &[name, value] : answer.headers) {
    if (!net::same_name(name, "Link"))
      continue;
    const std::optional<std::string> link = net::find_link(value, "next");
    if (!link)
      continue;
    const Result<net::Url> endpoint = net::parse_url(options_.endpoint);
    const Result<net::Url> here = net::parse_url(answer.url);
    if (!endpoint)
      return std::unexpected(endpoint.error());
    if (!here)
      return std::unexpected(here.error());
    const Result<net::Url> next = net::resolve_url(*here, *link);
    if (!next)
      return fail(Errc::malformed, "the link to the next page is none: " + next.error().message);
    std::string target = next->target;
    // A mirror under a path names itself with that path; one that passes the origin's links on is
    // asked itself.
    const std::string prefix = endpoint->target == "/" ? std::string() : endpoint->target;
    if (next->origin() == endpoint->origin() && !prefix.empty() && target.starts_with(prefix + "/"))
      target.erase(0, prefix.size());
    if (!target.starts_with("/api/models/"))
      return fail(Errc::malformed, fmt::format("the link to the next page leads elsewhere: {}",
                                               plain_text(next->str())));
    return target;
  }
  return std::string();
}

void HttpSession::close() {
  closed_ = true;
  client_->close();
  for (asio::steady_timer *timer : pauses_)
    timer->cancel();
}

} // namespace headwater::hub
