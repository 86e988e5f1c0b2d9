#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace headwater {

/// What went wrong, by what the caller does about it.
enum class Errc : std::uint8_t {
  bad_input,    ///< a person gave something unusable: say so and stop (exit 2)
  transient,    ///< upstream trouble that passes: wait and try again
  rate_limited, ///< upstream asked for a pause
  gone,         ///< upstream says that it is not there (or not for us)
  gated,        ///< upstream wants a token with access
  malformed,    ///< the bytes are not what their name promises
  too_large,    ///< over a limit of ours
  store,        ///< the database or a file of ours
  internal,     ///< a defect of ours
};

/// Stable word for an error code, as logs and JSON show it.
std::string_view to_string(Errc code);

/// True when doing the same again later may succeed.
bool retryable(Errc code);

/// An error is a value: a code to act on, a sentence for a person, and what caused it ("" when
/// nothing did).
struct Error {
  Errc code = Errc::internal;
  std::string message;
  std::string cause = {};
  /// Seconds upstream asked to wait, 0 when it named none.
  std::int64_t retry_after_seconds = 0;
};

template <class T> using Result = std::expected<T, Error>;

/// An error result: `return fail(Errc::malformed, "config.json: ...")`.
inline std::unexpected<Error> fail(Errc code, std::string message, std::string cause = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(cause)});
}

/// The same error with where it happened put before its message ("config.json: " + message).
std::unexpected<Error> wrap(std::string_view where, Error error);

} // namespace headwater
