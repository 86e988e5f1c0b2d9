#include "schemas/result.hpp"

namespace headwater {

std::string_view to_string(Errc code) {
  switch (code) {
  case Errc::bad_input:
    return "bad-input";
  case Errc::transient:
    return "transient";
  case Errc::rate_limited:
    return "rate-limited";
  case Errc::gone:
    return "gone";
  case Errc::gated:
    return "gated";
  case Errc::malformed:
    return "malformed";
  case Errc::too_large:
    return "too-large";
  case Errc::store:
    return "store";
  case Errc::internal:
    return "internal";
  }
  return "internal";
}

bool retryable(Errc code) {
  return code == Errc::transient || code == Errc::rate_limited;
}

std::unexpected<Error> wrap(std::string_view where, Error error) {
  error.message = std::string(where) + ": " + error.message;
  return std::unexpected(std::move(error));
}

} // namespace headwater
