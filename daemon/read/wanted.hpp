#pragma once

#include "schemas/snapshot.hpp"

#include <cstdint>
#include <string_view>

namespace headwater::read {

/// What a file of a model repository is for, by its path.
enum class FileRole : std::uint8_t {
  config,
  generation_config,
  model_index,   ///< a diffusers pipeline's parts
  native_params, ///< params.json of Mistral's own format
  adapter_config,
  processor_config,
  quantisation_config,
  tokenizer_json,
  tokenizer_config,
  special_tokens_map,
  added_tokens,
  sentencepiece,
  tekken,
  tiktoken,
  vocabulary_json,
  merges,
  vocabulary_lines,
  template_jinja,
  template_additional,
  template_json,
  weight_index,
  safetensors,
  gguf,
  pickle,
  side_weights, ///< for another runtime: ONNX, OpenVINO, TensorFlow, Flax, Core ML
  code,
  script,
  binary,
  requirements,
  card,
  licence,
  digests, ///< a list of the repository's own files with their digests
  other,
};

/// The role of the file at `path` (from the repo's root).
FileRole role_of(std::string_view path);

/// True for a document of a few kB whose top is a JSON object: a config, settings, a list by name.
bool is_json_object(FileRole role);

/// The largest file of a role that is read, in bytes; 0 for one that never is.
std::int64_t size_bound(FileRole role);

/// Which part of a file is read: whole where its role asks for it and its size is within the bound,
/// the header of weights, nothing of all others.
FilePart wanted_part(const FileEntry &file);

/// "a/b/c.json" -> "c.json".
std::string_view base_name(std::string_view path);
/// "a/b/c.json" -> "a/b/", "c.json" -> "".
std::string_view folder_of(std::string_view path);

} // namespace headwater::read
