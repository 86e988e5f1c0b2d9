#pragma once

#include "daemon/diff/sides.hpp"

#include <vector>

/// One function a subject: each appends what changed in its own files. A new subject is one file
/// and one line here.
namespace headwater::diff {

using Changes = std::vector<Change>;

/// config.json and the configs beside it: adapters, processors, quantisation, parts of a pipeline.
void diff_config(const Sides &sides, Changes &changes);
/// Where generation stops, over all files that say so together.
void diff_stop_set(const Sides &sides, Changes &changes);
/// generation_config.json but for stopping.
void diff_sampling(const Sides &sides, Changes &changes);
/// Vocabulary, merges, parts and settings of the tokenizer.
void diff_tokenizer(const Sides &sides, Changes &changes);
/// Chat templates wherever they live.
void diff_template(const Sides &sides, Changes &changes);
/// Weight files: tensors, formats, sizes, digests.
void diff_weights(const Sides &sides, Changes &changes);
/// Code that runs when the model is loaded, and other code.
void diff_code(const Sides &sides, Changes &changes);
/// The licence on the card, as a tag and in its own file.
void diff_licence(const Sides &sides, Changes &changes);

/// One key of a config that differs; shared by the files of generation and of the tokenizer.
/// `before` or `after` null stands for an absent key.
struct KeyChange {
  std::string path; ///< file and pointer
  std::string key;
  const Json *before = nullptr;
  const Json *after = nullptr;
};

/// "noun (key): 4,096 became 8,192", "noun (key) is new: ...", lists summarised as "3 of 48 moved,
/// most by 4 %".
std::string describe(std::string_view noun, const KeyChange &change);

/// The change of a config's licence tags or cards as the hub's facts have it, for an access change
/// without a commit.
void diff_licence_tags(const RepoFacts &before, const RepoFacts &after, Changes &changes);

} // namespace headwater::diff
