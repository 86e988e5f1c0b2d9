#include "daemon/hub/errors.hpp"

#include "daemon/hub/client.hpp"
#include "schemas/json.hpp"
#include "schemas/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::hub {
namespace {

bool is_html(const net::ClientResponse &answer) {
  const std::string *type = net::find_header(answer.headers, "Content-Type");
  return (type != nullptr && type->starts_with("text/html")) ||
         answer.body.starts_with("<!DOCTYPE") || answer.body.starts_with("<html");
}

/// What the hub says in its own words: X-Error-Message, or the error of a JSON body, or a short
/// plain text.
std::string message_of(const net::ClientResponse &answer) {
  if (const std::string *said = net::find_header(answer.headers, "X-Error-Message"))
    return plain_text(*said);
  JsonLimits limits;
  limits.max_bytes = 64U << 10U;
  const Result<Json> body = parse_json(answer.body, limits);
  if (body && body->is_object()) {
    const auto error = body->find("error");
    if (error != body->end() && error->is_string())
      return plain_text(error->get<std::string>());
    if (error != body->end() && error->is_array() && !error->empty() && error->front().is_string())
      return plain_text(error->front().get<std::string>());
    const auto errors = body->find("errors");
    if (errors != body->end() && errors->is_array() && !errors->empty() &&
        errors->front().is_object()) {
      const auto message = errors->front().find("message");
      if (message != errors->front().end() && message->is_string())
        return plain_text(message->get<std::string>());
    }
  }
  if (is_html(answer) || answer.body.size() > 300)
    return {};
  return plain_text(answer.body);
}

Errc code_of(int status, std::string_view code, std::string_view message, bool with_token,
             bool html) {
  if (status == 429)
    return Errc::rate_limited;
  if (code == "GatedRepo")
    return Errc::gated;
  if (code == "RepoNotFound" || code == "RevisionNotFound" || code == "EntryNotFound")
    return Errc::gone;
  switch (status) {
  // Without a token a repo that is missing and one that is private look the same; with one the
  // token itself is refused.
  case 401:
    return with_token ? Errc::bad_input : Errc::gone;
  // A signed address that ran out and a wall in between answer 403 too, and pass.
  case 403:
    return message.find("disabled") != std::string_view::npos ? Errc::gated : Errc::transient;
  case 404:
    return html ? Errc::transient : Errc::gone;
  case 410:
  case 451:
    return Errc::gone;
  case 400:
  case 405:
  case 414:
  case 422:
  case 501:
    return Errc::malformed;
  default:
    return Errc::transient;
  }
}

} // namespace

Error error_of_answer(const net::ClientResponse &answer, bool with_token) {
  const std::string *given = net::find_header(answer.headers, "X-Error-Code");
  const std::string code = given != nullptr ? plain_text(*given, 60) : std::string();
  const std::string message = message_of(answer);
  Error error;
  error.code = code_of(answer.status, code, message, with_token, is_html(answer));
  error.cause =
      code.empty() ? std::to_string(answer.status) : fmt::format("{} {}", code, answer.status);
  if (error.code == Errc::bad_input) {
    error.message = "the hub does not accept the token: give a valid one (HF_TOKEN or [hub] "
                    "token_file) or none";
  } else {
    error.message =
        fmt::format("the hub answered {}{}{}", answer.status, message.empty() ? "" : ": ", message);
  }
  return error;
}

bool is_missing_call(const Error &error) {
  return error.cause == "404" || error.cause == "405" || error.cause == "501";
}

std::string explain(const Error &error, std::string_view repo) {
  const std::string name = plain_text(repo);
  const std::string_view code = std::string_view(error.cause).substr(0, error.cause.find(' '));
  switch (error.code) {
  case Errc::gated:
    if (code != "GatedRepo")
      return fmt::format("{} is disabled by the hub: its files cannot be read", name);
    return fmt::format("{} is gated: ask for access on its page and give a token that has it "
                       "(HF_TOKEN or [hub] token_file)",
                       name);
  case Errc::gone:
    if (code == "RevisionNotFound")
      return fmt::format(
          "{}: the hub has no such revision: it was rewritten away, or the name is wrong", name);
    if (code == "EntryNotFound")
      return fmt::format("{}: {}", name, error.message);
    return fmt::format("{} does not exist, or is private: check the name, or give a token that can "
                       "read it (HF_TOKEN or [hub] token_file)",
                       name);
  case Errc::rate_limited:
    return fmt::format(
        "{}: the hub asks for a pause{}: a token raises the limit", name,
        error.retry_after_seconds > 0 ? fmt::format(" of {} s", error.retry_after_seconds) : "");
  case Errc::transient:
    return fmt::format("{}: {}: the hub cannot be read now, it is tried again later", name,
                       error.message);
  default:
    return fmt::format("{}: {}", name, error.message);
  }
}

} // namespace headwater::hub
