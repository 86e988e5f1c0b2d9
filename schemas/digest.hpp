#pragma once

#include <string>
#include <string_view>

namespace headwater {

/// Lower-case hex SHA-256 of the bytes.
std::string sha256_hex(std::string_view bytes);
/// Lower-case hex SHA-1 of the bytes.
std::string sha1_hex(std::string_view bytes);
/// Git's id of a blob with these bytes: SHA-1 of "blob SIZE\0" and the bytes.
std::string git_blob_id(std::string_view bytes);

} // namespace headwater
