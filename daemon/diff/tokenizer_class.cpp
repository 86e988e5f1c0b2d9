#include "daemon/diff/tokenizer_class.hpp"

#include <algorithm>
#include <array>

namespace headwater::diff {
namespace {

constexpr auto adding_bos =
    std::to_array<std::string_view>({"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"});
constexpr auto byte_level = std::to_array<std::string_view>(
    {"GPT2Tokenizer", "Qwen2Tokenizer", "RobertaTokenizer", "CodeGenTokenizer", "BloomTokenizer"});

/// The fast form of a class does the same; a backend stands for any tokenizer.json, or any
/// tokenizer in Python.
std::string_view stem(std::string_view name) {
  if (name == "TokenizersBackend" || name == "PythonBackend")
    return "PreTrainedTokenizer";
  if (name.ends_with("Fast"))
    name.remove_suffix(4);
  return name;
}

} // namespace

bool is_byte_level(std::string_view tokenizer_class) {
  return std::ranges::find(byte_level, stem(tokenizer_class)) != byte_level.end();
}

bool same_tokenizer_class(std::string_view one, std::string_view other) {
  return !one.empty() && stem(one) == stem(other);
}

std::optional<bool> adds_bos_by_default(std::string_view tokenizer_class) {
  if (std::ranges::find(adding_bos, stem(tokenizer_class)) != adding_bos.end())
    return true;
  if (is_byte_level(tokenizer_class))
    return false;
  return std::nullopt;
}

std::string tokenizer_stem(std::string_view name) {
  return std::string(stem(name));
}

} // namespace headwater::diff
