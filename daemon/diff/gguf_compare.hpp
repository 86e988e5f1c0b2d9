#pragma once

#include "daemon/diff/subjects.hpp"

namespace headwater::diff {

/// What differs between two GGUF files of one name, from their headers: metadata, tokenizer,
/// template, tensor table; and that the file was rewritten.
void compare_gguf(const Sides &sides, const FilePair &file, Changes &changes);

} // namespace headwater::diff
