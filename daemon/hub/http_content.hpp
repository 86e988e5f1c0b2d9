#pragma once

#include "daemon/hub/http_session.hpp"
#include "schemas/result.hpp"
#include "schemas/snapshot.hpp"

#include <string>

#include <boost/asio/awaitable.hpp>

namespace headwater::hub {

/// The bytes of `part` of the file that `target` ("/org/name/resolve/REV/path") leads to. What is
/// read whole is checked against its digest; of a weight file only the header is ever asked for.
boost::asio::awaitable<Result<std::string>> read_content(HttpSession &session, std::string target,
                                                         FileEntry file, FilePart part);

} // namespace headwater::hub
