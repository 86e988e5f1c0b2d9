// The archive that make_demo.py wrote (its form is told there), taken into the executable by the
// assembler.

#include "demo/demo_data.hpp"

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

asm(".section .rodata\n"
    ".global headwater_demo_begin\n"
    ".global headwater_demo_end\n"
    ".balign 16\n"
    "headwater_demo_begin:\n"
    ".incbin \"" HEADWATER_DEMO_ARCHIVE "\"\n"
    "headwater_demo_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" const unsigned char headwater_demo_begin[];
extern "C" const unsigned char headwater_demo_end[];

namespace headwater::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t max_inflated = 256U << 20U;

std::unexpected<Error> damaged() {
  return fail(Errc::internal, "the built-in histories are damaged");
}

Result<std::string> inflate_archive() {
  const std::size_t size = static_cast<std::size_t>(headwater_demo_end - headwater_demo_begin);
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) {
    length = length << 8U | headwater_demo_begin[i];
  }
  if (size < length_bytes || length > max_inflated) {
    return damaged();
  }
  std::string plain(length, '\0');
  uLongf written = length;
  const int status = uncompress(reinterpret_cast<Bytef *>(plain.data()), &written,
                                headwater_demo_begin + length_bytes, size - length_bytes);
  if (status != Z_OK || written != length) {
    return damaged();
  }
  return plain;
}

/// Writes the content once and links its other places to it; copies where the disk knows no links.
Result<void> write_places(const fs::path &root, const std::vector<std::string_view> &paths,
                          std::string_view content) {
  fs::path first;
  for (const std::string_view path : paths) {
    const fs::path target = root / path;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (!first.empty()) {
      fs::create_hard_link(first, target, error);
      if (!error) {
        continue;
      }
    }
    std::ofstream out(target, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) {
      return fail(Errc::store, fmt::format("{} cannot be written: check the space and rights of {}",
                                           target.string(), root.string()));
    }
    first = target;
  }
  return {};
}

} // namespace

Result<void> unpack_demo(const std::string &folder) {
  const Result<std::string> plain = inflate_archive();
  if (!plain) {
    return std::unexpected(plain.error());
  }
  std::string_view rest = *plain;
  while (!rest.empty()) {
    const std::size_t line_end = rest.find('\n');
    if (line_end == std::string_view::npos) {
      return damaged();
    }
    std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(line_end + 1);
    std::size_t size = 0;
    const auto [number_end, error] = std::from_chars(line.data(), line.data() + line.size(), size);
    line.remove_prefix(static_cast<std::size_t>(number_end - line.data()));
    if (error != std::errc() || size > rest.size()) {
      return damaged();
    }
    std::vector<std::string_view> paths;
    while (line.starts_with('\t')) {
      line.remove_prefix(1);
      paths.push_back(line.substr(0, line.find('\t')));
      line.remove_prefix(paths.back().size());
    }
    if (Result<void> written = write_places(folder, paths, rest.substr(0, size)); !written) {
      return written;
    }
    rest.remove_prefix(size);
  }
  return {};
}

} // namespace headwater::cli
