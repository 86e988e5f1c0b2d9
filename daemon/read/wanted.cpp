#include "daemon/read/wanted.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace headwater::read {
namespace {

using Named = std::pair<std::string_view, FileRole>;

constexpr auto by_name = std::to_array<Named>({
    {"config.json", FileRole::config},
    {"generation_config.json", FileRole::generation_config},
    {"model_index.json", FileRole::model_index},
    {"modules.json", FileRole::model_index},
    {"params.json", FileRole::native_params},
    {"adapter_config.json", FileRole::adapter_config},
    {"preprocessor_config.json", FileRole::processor_config},
    {"video_preprocessor_config.json", FileRole::processor_config},
    {"processor_config.json", FileRole::processor_config},
    {"audio_tokenizer_config.json", FileRole::processor_config},
    {"scheduler_config.json", FileRole::processor_config},
    {"sentence_bert_config.json", FileRole::processor_config},
    {"config_sentence_transformers.json", FileRole::processor_config},
    {"hf_quant_config.json", FileRole::quantisation_config},
    {"quantize_config.json", FileRole::quantisation_config},
    {"quant_config.json", FileRole::quantisation_config},
    {"quantization_config.json", FileRole::quantisation_config},
    {"tokenizer.json", FileRole::tokenizer_json},
    {"tokenizer_config.json", FileRole::tokenizer_config},
    {"special_tokens_map.json", FileRole::special_tokens_map},
    {"added_tokens.json", FileRole::added_tokens},
    {"tokenizer.model", FileRole::sentencepiece},
    {"spiece.model", FileRole::sentencepiece},
    {"sentencepiece.bpe.model", FileRole::sentencepiece},
    {"sentencepiece.model", FileRole::sentencepiece},
    {"source.spm", FileRole::sentencepiece},
    {"target.spm", FileRole::sentencepiece},
    {"tekken.json", FileRole::tekken},
    {"tiktoken.model", FileRole::tiktoken},
    {"vocab.json", FileRole::vocabulary_json},
    {"merges.txt", FileRole::merges},
    {"vocab.txt", FileRole::vocabulary_lines},
    {"chat_template.jinja", FileRole::template_jinja},
    {"chat_template.json", FileRole::template_json},
    {"requirements.txt", FileRole::requirements},
    {"pyproject.toml", FileRole::requirements},
    {"environment.yml", FileRole::requirements},
    {"environment.yaml", FileRole::requirements},
    {"setup.cfg", FileRole::requirements},
    {"tf_model.h5", FileRole::side_weights},
    {"flax_model.msgpack", FileRole::side_weights},
    {"rust_model.ot", FileRole::side_weights},
});

constexpr auto by_ending = std::to_array<Named>({
    {".safetensors.index.json", FileRole::weight_index},
    {".bin.index.json", FileRole::weight_index},
    {".safetensors", FileRole::safetensors},
    {".gguf", FileRole::gguf},
    {".tiktoken", FileRole::tiktoken},
    {".jinja", FileRole::template_additional},
    {".py", FileRole::code},
    {".sh", FileRole::script},
    {".ipynb", FileRole::script},
    {".js", FileRole::script},
    {".so", FileRole::binary},
    {".dll", FileRole::binary},
    {".dylib", FileRole::binary},
    {".exe", FileRole::binary},
    {".whl", FileRole::binary},
    {".bin", FileRole::pickle},
    {".pt", FileRole::pickle},
    {".pth", FileRole::pickle},
    {".ckpt", FileRole::pickle},
    {".pkl", FileRole::pickle},
    {".pickle", FileRole::pickle},
    {".joblib", FileRole::pickle},
    {".onnx", FileRole::side_weights},
    {".onnx_data", FileRole::side_weights},
    {".h5", FileRole::side_weights},
    {".keras", FileRole::side_weights},
    {".msgpack", FileRole::side_weights},
    {".ot", FileRole::side_weights},
    {".tflite", FileRole::side_weights},
    {".mlmodel", FileRole::side_weights},
    {".litertlm", FileRole::side_weights},
    {".task", FileRole::side_weights},
    {".sha256", FileRole::digests},
    {".sha256sum", FileRole::digests},
});

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return result;
}

bool within(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) || path.find("/" + std::string(folder)) != std::string_view::npos;
}

} // namespace

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash + 1);
}

FileRole role_of(std::string_view path) {
  const std::string_view name = base_name(path);
  const std::string small = lower(name);
  // Exports for other runtimes bring copies of configs and tokenizers along; none of them is what
  // the repo serves.
  if (within(path, "openvino/") || small.starts_with("openvino_") || within(path, "onnx/") ||
      path.find(".mlpackage/") != std::string_view::npos ||
      path.find(".mlmodelc/") != std::string_view::npos)
    return FileRole::side_weights;
  for (const auto &[known, role] : by_name)
    if (name == known)
      return role;
  if (small == "readme.md")
    return FileRole::card;
  if (small.starts_with("license") || small.starts_with("licence") || small == "copying" ||
      small.starts_with("use_policy") || small.starts_with("notice"))
    return FileRole::licence;
  if (small.starts_with("sha256sum") || small.starts_with("checksum") ||
      small == "onnx_hub_manifest.json" ||
      (small.find("manifest") != std::string::npos &&
       (small.ends_with(".json") || small.ends_with(".txt"))))
    return FileRole::digests;
  if (name.starts_with("tokenizer.") && name.ends_with(".json"))
    return FileRole::tokenizer_json;
  if (small.starts_with("requirements") && small.ends_with(".txt"))
    return FileRole::requirements;
  for (const auto &[ending, role] : by_ending)
    if (small.ends_with(ending))
      return role;
  return FileRole::other;
}

bool is_json_object(FileRole role) {
  switch (role) {
  case FileRole::config:
  case FileRole::generation_config:
  case FileRole::model_index:
  case FileRole::native_params:
  case FileRole::adapter_config:
  case FileRole::processor_config:
  case FileRole::quantisation_config:
  case FileRole::tokenizer_config:
  case FileRole::special_tokens_map:
  case FileRole::added_tokens:
  case FileRole::template_json:
    return true;
  default:
    return false;
  }
}

std::int64_t size_bound(FileRole role) {
  constexpr std::int64_t mib = 1 << 20;
  if (is_json_object(role))
    return 16 * mib;
  switch (role) {
  case FileRole::tokenizer_json:
  case FileRole::weight_index:
  case FileRole::tekken:
  case FileRole::sentencepiece:
  case FileRole::tiktoken:
  case FileRole::vocabulary_json:
  case FileRole::merges:
  case FileRole::vocabulary_lines:
    return 64 * mib;
  case FileRole::template_jinja:
  case FileRole::template_additional:
  case FileRole::code:
  case FileRole::requirements:
  case FileRole::card:
  case FileRole::licence:
  case FileRole::digests:
    return 2 * mib;
  default:
    return 0;
  }
}

FilePart wanted_part(const FileEntry &file) {
  const FileRole role = role_of(file.path);
  if (role == FileRole::safetensors)
    return FilePart::safetensors_header;
  if (role == FileRole::gguf)
    return FilePart::gguf_header;
  const std::int64_t bound = size_bound(role);
  return bound > 0 && file.size <= bound ? FilePart::whole : FilePart::none;
}

} // namespace headwater::read
