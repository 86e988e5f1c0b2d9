#include "daemon/cli/table.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace headwater::cli {
namespace {

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  bool escape = false;
  for (const char c : text) {
    if (c == '\x1b')
      escape = true;
    if (!escape && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U)
      ++width;
    if (escape && c == 'm')
      escape = false;
  }
  return width;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || c == ',' || c == '.';
  });
}

} // namespace

std::string format_table(const std::vector<std::string> &header,
                         const std::vector<std::vector<std::string>> &rows) {
  std::vector<std::size_t> widths;
  std::vector<bool> right;
  for (std::size_t column = 0; column < header.size(); ++column) {
    std::size_t width = width_of(header[column]);
    bool numbers = !rows.empty();
    for (const auto &row : rows) {
      width = std::max(width, width_of(row[column]));
      numbers = numbers && is_number(row[column]);
    }
    widths.push_back(width);
    right.push_back(numbers);
  }
  std::string out;
  const auto put = [&](const std::vector<std::string> &cells) {
    std::string line;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string pad(widths[column] - width_of(cells[column]), ' ');
      line += column == 0 ? "" : "  ";
      line += right[column] ? pad + cells[column] : cells[column] + pad;
    }
    while (line.ends_with(' '))
      line.pop_back();
    out += line + "\n";
  };
  put(header);
  for (const auto &row : rows)
    put(row);
  return out;
}

std::string coloured(std::string_view word, bool colour) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> codes{
      {{"critical", "1;37;41"},
       {"high", "1;31"},
       {"medium", "33"},
       {"low", "2"},
       {"breaking", "1;31"},
       {"security", "1;35"},
       {"access", "36"},
       {"behaviour", "33"},
       {"cost", "34"},
       {"cosmetic", "2"}}};
  const auto code =
      std::ranges::find(codes, word, &std::pair<std::string_view, std::string_view>::first);
  if (!colour || code == codes.end())
    return std::string(word);
  return "\x1b[" + std::string(code->second) + "m" + std::string(word) + "\x1b[0m";
}

} // namespace headwater::cli
