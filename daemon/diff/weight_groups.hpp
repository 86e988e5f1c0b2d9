#pragma once

#include "daemon/read/safetensors.hpp"
#include "daemon/read/weight_index.hpp"
#include "schemas/snapshot.hpp"

#include <map>
#include <string>
#include <vector>

namespace headwater::diff {

/// Weight files that make up one checkpoint: "model-00001-of-00002.safetensors" and its siblings,
/// or all that an index names.
struct WeightGroup {
  std::string key; ///< folder and stem: "model", "unet/diffusion_pytorch_model"
  std::vector<const FileEntry *> files; ///< sorted by path
  const FileEntry *index = nullptr;
  std::int64_t bytes() const;
};

/// A tensor and the file it lies in.
struct PlacedTensor {
  const read::StoredTensor *tensor = nullptr;
  std::uint32_t file = 0; ///< place in the group's files
};

/// What the headers of a group say together.
struct TensorTable {
  std::vector<read::SafetensorsHeader> headers; ///< by file
  std::vector<PlacedTensor> tensors;            ///< sorted by name
  std::int64_t elements = 0;
  std::vector<std::string> unreadable; ///< "path: why"; the table is complete when empty
  std::vector<std::string> malformed;  ///< "path: why"
  std::vector<std::string>
      pointers; ///< paths that hold a git-lfs pointer; unreadable names them as well
};

/// Groups of one kind of file ("safetensors" or pickles) by key.
std::map<std::string, WeightGroup> safetensors_groups(const Snapshot &snapshot);
std::map<std::string, WeightGroup> pickle_groups(const Snapshot &snapshot);
std::map<std::string, WeightGroup> gguf_groups(const Snapshot &snapshot);

/// Reads the headers of a group.
TensorTable tensor_table(const Snapshot &snapshot, const WeightGroup &group);

/// What happened where git-lfs pointers took the place of weights, and what to do.
std::string pointer_sentence(const std::vector<std::string> &paths);

/// True for a pickle that holds weights, by its name; others hold the state of a training run.
bool is_weight_pickle(std::string_view path);

} // namespace headwater::diff
