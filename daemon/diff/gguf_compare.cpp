#include "daemon/diff/gguf_compare.hpp"

#include "daemon/diff/template_render.hpp"
#include "daemon/diff/tensor_compare.hpp"
#include "daemon/diff/tokenizer_compare.hpp"
#include "daemon/diff/weight_groups.hpp"
#include "daemon/read/gguf.hpp"
#include "schemas/digest.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::GgufHeader;
using read::GgufValue;

constexpr std::string_view template_key = "tokenizer.chat_template";

struct KeyMeaning {
  std::string_view key; ///< ends with a dot for a group of keys
  std::string_view kind;
};

constexpr auto meanings = std::to_array<KeyMeaning>({
    {"general.architecture", "config.model-type"},
    {"general.file_type", "weights.metadata"},
    {"general.quantization_version", "weights.metadata"},
    {"general.alignment", "weights.header-text"},
    {"general.", "weights.header-text"},
    {"quantize.", "weights.header-text"},
    {"split.", "weights.header-text"},
    {"tokenizer.ggml.eos_token_id", "stop-set.changed"},
    {"tokenizer.ggml.eot_token_id", "stop-set.changed"},
    {"tokenizer.ggml.add_bos_token", "tokenizer.add-bos"},
    {"tokenizer.ggml.add_eos_token", "tokenizer.add-eos"},
    {"tokenizer.ggml.pre", "tokenizer.pre-tokenizer"},
    {"tokenizer.ggml.model", "tokenizer.model"},
    {"tokenizer.ggml.precompiled_charsmap", "tokenizer.normalizer"},
    {"tokenizer.ggml.add_space_prefix", "tokenizer.text-option"},
    {"tokenizer.", "tokenizer.special-token"},
});

std::string_view kind_of(std::string_view key) {
  for (const KeyMeaning &row : meanings)
    if (row.key.ends_with('.') ? key.starts_with(row.key) : key == row.key)
      return row.kind;
  return "weights.metadata";
}

bool is_vocabulary_key(std::string_view key) {
  return key == "tokenizer.ggml.tokens" || key == "tokenizer.ggml.scores" ||
         key == "tokenizer.ggml.token_type" || key == "tokenizer.ggml.merges";
}

template <class T> T number_at(const GgufHeader &header, std::string_view raw, std::size_t i) {
  std::array<char, sizeof(T)> piece{};
  std::ranges::copy(raw.substr(12 + i * sizeof(T), sizeof(T)), piece.begin());
  if (header.big_endian)
    std::ranges::reverse(piece);
  return std::bit_cast<T>(piece);
}

/// The vocabulary of a GGUF file in the common form.
read::TokenizerFacts tokenizer_of(const GgufHeader &header) {
  read::TokenizerFacts facts;
  const GgufValue *tokens = read::find_metadata(header, "tokenizer.ggml.tokens");
  if (tokens == nullptr)
    return facts;
  for (const std::string_view text : read::gguf_strings(header, *tokens))
    facts.vocabulary.push_back({text, static_cast<std::int64_t>(facts.vocabulary.size())});
  constexpr std::uint32_t int32 = 5;
  constexpr std::uint32_t float32 = 6;
  if (const GgufValue *scores = read::find_metadata(header, "tokenizer.ggml.scores");
      scores != nullptr && scores->element_type == float32)
    for (std::size_t i = 0; i < facts.vocabulary.size() && i < scores->count; ++i)
      facts.vocabulary[i].score = number_at<float>(header, scores->raw, i);
  if (const GgufValue *types = read::find_metadata(header, "tokenizer.ggml.token_type");
      types != nullptr && types->element_type == int32)
    for (std::size_t i = 0; i < facts.vocabulary.size() && i < types->count; ++i)
      facts.vocabulary[i].type = number_at<std::int32_t>(header, types->raw, i);
  if (const GgufValue *merges = read::find_metadata(header, "tokenizer.ggml.merges"))
    for (const std::string_view merge : read::gguf_strings(header, *merges)) {
      const std::size_t space = merge.find(' ', 1);
      facts.merges.emplace_back(merge.substr(0, space), space == std::string_view::npos
                                                            ? std::string_view()
                                                            : merge.substr(space + 1));
    }
  return facts;
}

Json value_json(const GgufValue &value) {
  if (!value.json.empty()) {
    Json parsed = Json::parse(value.json, nullptr, false);
    return parsed.is_discarded() ? Json(value.json) : parsed;
  }
  return {{"count", value.count}, {"sha256", sha256_hex(value.raw)}};
}

void compare_metadata(const std::string &path, const GgufHeader &before, const GgufHeader &after,
                      Changes &changes) {
  std::map<std::string_view, std::pair<const GgufValue *, const GgufValue *>> keys;
  for (const GgufValue &value : before.metadata)
    keys[value.key].first = &value;
  for (const GgufValue &value : after.metadata)
    keys[value.key].second = &value;
  for (const auto &[key, values] : keys) {
    const auto &[a, b] = values;
    if (is_vocabulary_key(key) || key.starts_with(template_key))
      continue;
    if (a != nullptr && b != nullptr && a->type == b->type &&
        before.big_endian == after.big_endian && a->raw == b->raw)
      continue;
    const Json was = a != nullptr ? value_json(*a) : Json();
    const Json is = b != nullptr ? value_json(*b) : Json();
    if (was == is)
      continue;
    changes.push_back(
        make_change(kind_of(key), path + "#/" + pointer_key(key), json_text(was), json_text(is),
                    describe("", {path, std::string(key), a != nullptr ? &was : nullptr,
                                  b != nullptr ? &is : nullptr})));
  }
}

void compare_templates_of(const std::string &path, const GgufHeader &before,
                          const GgufHeader &after, Changes &changes) {
  const std::optional<std::string> was = read::gguf_string(before, template_key);
  const std::optional<std::string> is = read::gguf_string(after, template_key);
  if (was == is)
    return;
  const std::string place = path + "#/" + std::string(template_key);
  if (!was || !is) {
    changes.push_back(
        make_change(is ? "template.added" : "template.removed", place,
                    was ? json_text(Json(*was)) : "null", is ? json_text(Json(*is)) : "null",
                    fmt::format("{} {} a chat template.", path, is ? "gained" : "lost")));
    return;
  }
  for (const TemplateFinding &finding : compare_templates(*was, *is, {}).findings)
    if (find_change_kind(finding.kind) != nullptr)
      changes.push_back(make_change(finding.kind, place, json_text(Json(finding.before)),
                                    json_text(Json(finding.after)), finding.sentence));
}

std::vector<TensorView> tensors_of(const GgufHeader &header) {
  std::vector<TensorView> tensors;
  tensors.reserve(header.tensors.size());
  for (const read::StoredTensor &tensor : header.tensors)
    tensors.push_back({tensor.name, tensor.dtype, &tensor.shape});
  std::ranges::sort(tensors, {}, &TensorView::name);
  return tensors;
}

bool not_recorded(const std::string &bytes) {
  return is_lfs_pointer(bytes) || bytes.starts_with(std::string_view("\0\0\0\0", 4));
}

} // namespace

std::vector<GgufKey> gguf_keys(const GgufHeader &header) {
  std::vector<GgufKey> keys;
  for (const GgufValue &value : header.metadata) {
    const std::string_view kind = kind_of(value.key);
    if (!is_vocabulary_key(value.key) && !value.key.starts_with(template_key) &&
        find_change_kind(kind)->impact != Impact::cosmetic)
      keys.push_back({value.key, kind, json_text(value_json(value))});
  }
  return keys;
}

read::TokenizerFacts gguf_tokenizer(const GgufHeader &header) {
  return tokenizer_of(header);
}

std::optional<std::string> gguf_template(const GgufHeader &header) {
  return read::gguf_string(header, template_key);
}

void compare_gguf(const Sides &sides, const FilePair &file, Changes &changes) {
  const std::int64_t grown = file.after->size - file.before->size;
  const std::string size =
      grown == 0 ? std::string("size unchanged")
                 : fmt::format("size {}{} bytes", grown > 0 ? "+" : "", with_thousands(grown));
  changes.push_back(make_change(
      "weights.values", file.path, id_text(file.before), id_text(file.after),
      fmt::format("Weights rewritten in place under the same name, {}: {}.", file.path, size)));
  std::string problem;
  const std::string *old_bytes = bytes_of(sides.before, file.path, &problem);
  const std::string *new_bytes = bytes_of(sides.after, file.path, &problem);
  if (new_bytes != nullptr && is_lfs_pointer(*new_bytes) &&
      (old_bytes == nullptr || !is_lfs_pointer(*old_bytes))) {
    changes.push_back(make_change("weights.malformed", file.path, id_text(file.before),
                                  id_text(file.after), pointer_sentence({file.path})));
    return;
  }
  if (old_bytes == nullptr || new_bytes == nullptr || not_recorded(*old_bytes) ||
      not_recorded(*new_bytes))
    return;
  const Result<GgufHeader> &after = *sides.after.facts.files.at(file.path)->gguf;
  const Result<GgufHeader> &before = *sides.before.facts.files.at(file.path)->gguf;
  if (!after || !before) {
    const bool broke = !after && before;
    changes.push_back(make_change(
        broke ? "weights.malformed" : "weights.unreadable", file.path, id_text(file.before),
        id_text(file.after),
        fmt::format("{}: {}.", file.path, plain_text((!after ? after : before).error().message))));
    return;
  }
  compare_metadata(file.path, *before, *after, changes);
  compare_tokenizers(file.path + "#/tokenizer.ggml", tokenizer_of(*before), tokenizer_of(*after),
                     changes);
  compare_templates_of(file.path, *before, *after, changes);
  compare_tensors(file.path, tensors_of(*before), tensors_of(*after), changes);
}

} // namespace headwater::diff
