#pragma once

#include "daemon/net/client.hpp"
#include "schemas/result.hpp"

#include <string>
#include <string_view>

namespace headwater::hub {

/// What an answer that is not a success means (spec: error codes of the hub). `cause` is "CODE
/// STATUS", or "STATUS" when the hub gave no code.
Error error_of_answer(const net::ClientResponse &answer, bool with_token);

/// True for an answer that says nothing but "no such path here": what a mirror gives for a call
/// that it does not have.
bool is_missing_call(const Error &error);

} // namespace headwater::hub
