#include "daemon/read/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(headwater::read::read_tokenizer_json(bytes));
  static_cast<void>(headwater::read::read_tekken(bytes));
  static_cast<void>(headwater::read::read_vocabulary_json(bytes));
  static_cast<void>(headwater::read::read_tiktoken(bytes));
  static_cast<void>(headwater::read::read_merges(bytes));
  static_cast<void>(headwater::read::read_vocabulary_lines(bytes));
  return 0;
}
