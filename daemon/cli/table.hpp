#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headwater::cli {

/// Columns padded to their widest cell, two spaces apart; widths count code points. Cells that are
/// numbers stand right.
std::string format_table(const std::vector<std::string> &header,
                         const std::vector<std::vector<std::string>> &rows);

/// ANSI colour around a level's or an impact's word ("high" is bold red ...); the word alone
/// without colour.
std::string coloured(std::string_view word, bool colour);

} // namespace headwater::cli
