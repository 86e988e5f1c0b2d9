#pragma once

#include "daemon/diff/subjects.hpp"
#include "daemon/read/gguf.hpp"
#include "daemon/read/tokenizer.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::diff {

/// What differs between two GGUF files of one name, from their headers: metadata, tokenizer,
/// template, tensor table; and that the file was rewritten.
void compare_gguf(const Sides &sides, const FilePair &file, Changes &changes);

/// A key of a GGUF file's metadata that a reader acts on: the kind of its change, and its value.
struct GgufKey {
  std::string key;
  std::string_view kind;
  std::string value_text;
};

std::vector<GgufKey> gguf_keys(const read::GgufHeader &header);
/// The vocabulary of a GGUF file in the common form.
read::TokenizerFacts gguf_tokenizer(const read::GgufHeader &header);
/// Its chat template.
std::optional<std::string> gguf_template(const read::GgufHeader &header);

} // namespace headwater::diff
