#pragma once

#include "daemon/diff/subjects.hpp"
#include "daemon/read/tokenizer.hpp"

#include <string>

namespace headwater::diff {

/// What differs between two tokenizers of one format. `path` is the file, with a pointer where the
/// tokenizer is a part of it; returns false when nothing that they say differs.
bool compare_tokenizers(const std::string &path, const read::TokenizerFacts &before,
                        const read::TokenizerFacts &after, Changes &changes);

/// Reads a tokenizer file of any format. Errors: malformed.
Result<read::TokenizerFacts> read_tokenizer(read::FileRole role, std::string_view bytes);

/// What differs between two lists of added tokens.
bool compare_added_tokens(const std::string &path, const std::vector<read::AddedToken> &before,
                          const std::vector<read::AddedToken> &after, Changes &changes);

/// tokenizer_config.json, special_tokens_map.json and added_tokens.json of one folder.
void diff_tokenizer_settings(const Sides &sides, const FilePair &file, Changes &changes);

} // namespace headwater::diff
