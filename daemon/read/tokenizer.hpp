#pragma once

#include "schemas/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwater::read {

/// One row of a vocabulary.
struct VocabularyEntry {
  std::string_view text; ///< as the file spells it: base64 where the format keeps bytes
  std::int64_t id = 0;
  double score = 0;      ///< of unigram and sentencepiece models
  std::int32_t type = 0; ///< of sentencepiece models
  friend bool operator==(const VocabularyEntry &, const VocabularyEntry &) = default;
};

/// A token that is matched before the vocabulary is used.
struct AddedToken {
  std::string content;
  std::int64_t id = 0;
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = false;
  bool special = false;
  friend bool operator==(const AddedToken &, const AddedToken &) = default;
};

/// A named part of a tokenizer as canonical JSON text (keys sorted, defaults left out); "null"
/// parts are left out.
struct TokenizerPart {
  std::string name; ///< "normalizer", "pre_tokenizer", "model.byte_fallback", ...
  std::string json;
  friend bool operator==(const TokenizerPart &, const TokenizerPart &) = default;
};

using Merge = std::pair<std::string_view, std::string_view>;

/// What any of the tokenizer formats says, in one form. Views point into `storage` or the caller's
/// text.
struct TokenizerFacts {
  std::vector<VocabularyEntry> vocabulary; ///< in file order
  std::vector<Merge> merges;               ///< by rank
  bool merges_as_pairs = false;
  bool base64 = false;              ///< vocabulary texts are base64 of bytes
  std::vector<TokenizerPart> parts; ///< sorted by name
  std::vector<AddedToken> added;    ///< sorted by id
  std::shared_ptr<const void> storage = nullptr;
};

/// Reads a tokenizer.json. Errors: malformed, with the place in words.
Result<TokenizerFacts> read_tokenizer_json(std::string_view text);
/// Reads a sentencepiece model (the protobuf): pieces, scores, types, and the flags that matter at
/// run time.
Result<TokenizerFacts> read_sentencepiece(std::string_view bytes);
/// Reads a tekken.json.
Result<TokenizerFacts> read_tekken(std::string_view text);
/// Reads a tiktoken file: a line a token, base64 and rank.
Result<TokenizerFacts> read_tiktoken(std::string_view text);
/// Reads a vocab.json: token -> id.
Result<TokenizerFacts> read_vocabulary_json(std::string_view text);
/// Reads a merges.txt: a line a merge.
Result<TokenizerFacts> read_merges(std::string_view text);
/// Reads a vocab.txt: a line a token, ids by line.
Result<TokenizerFacts> read_vocabulary_lines(std::string_view text);

/// The part of that name, "null" where there is none.
std::string_view part_of(const TokenizerFacts &facts, std::string_view name);

} // namespace headwater::read
