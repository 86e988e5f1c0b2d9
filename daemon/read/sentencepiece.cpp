#include "daemon/read/tokenizer.hpp"
#include "schemas/digest.hpp"
#include "schemas/json.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

// The protobuf's field numbers are those of sentencepiece_model.proto: ModelProto {1 pieces, 2
// trainer_spec, 3 normalizer_spec, 4 self_test_data, 5 denormalizer_spec}, SentencePiece {1 piece,
// 2 score, 3 type}.
namespace headwater::read {
namespace {

struct Field {
  std::uint64_t number = 0;
  unsigned wire = 0;           ///< 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes
  std::uint64_t value = 0;     ///< of wire 0, 1, 5
  std::string_view bytes = {}; ///< of wire 2
};

/// Reads one message field by field.
class Message {
public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}
  bool broken() const { return broken_; }

  std::optional<Field> next() {
    if (rest_.empty() || broken_)
      return std::nullopt;
    Field field;
    const std::uint64_t tag = varint();
    field.number = tag >> 3U;
    field.wire = static_cast<unsigned>(tag & 7U);
    if (field.number == 0)
      broken_ = true;
    switch (field.wire) {
    case 0:
      field.value = varint();
      break;
    case 1:
      field.value = fixed(8);
      break;
    case 5:
      field.value = fixed(4);
      break;
    case 2: {
      const std::uint64_t length = varint();
      if (length > rest_.size()) {
        broken_ = true;
      } else {
        field.bytes = rest_.substr(0, length);
        rest_.remove_prefix(length);
      }
      break;
    }
    default:
      broken_ = true;
    }
    return broken_ ? std::nullopt : std::optional(field);
  }

private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80)
        return value;
    }
    broken_ = true;
    return 0;
  }

  std::uint64_t fixed(std::size_t size) {
    if (rest_.size() < size) {
      broken_ = true;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;)
      value = value << 8U | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(size);
    return value;
  }

  std::string_view rest_;
  bool broken_ = false;
};

enum class Shape : std::uint8_t { number, flag, text, digest };

struct KnownField {
  std::uint64_t number;
  std::string_view name;
  Shape shape;
};

/// The trainer's settings that a reader acts on; how the model was trained is no part of what it
/// does.
constexpr auto trainer_fields = std::to_array<KnownField>({
    {3, "model_type", Shape::number},
    {5, "accept_language", Shape::text},
    {24, "treat_whitespace_as_suffix", Shape::flag},
    {30, "control_symbols", Shape::text},
    {31, "user_defined_symbols", Shape::text},
    {35, "byte_fallback", Shape::flag},
    {40, "unk_id", Shape::number},
    {41, "bos_id", Shape::number},
    {42, "eos_id", Shape::number},
    {43, "pad_id", Shape::number},
    {44, "unk_surface", Shape::text},
    {45, "unk_piece", Shape::text},
    {46, "bos_piece", Shape::text},
    {47, "eos_piece", Shape::text},
    {48, "pad_piece", Shape::text},
});

constexpr auto normalizer_fields = std::to_array<KnownField>({
    {1, "name", Shape::text},
    {2, "precompiled_charsmap", Shape::digest},
    {3, "add_dummy_prefix", Shape::flag},
    {4, "remove_extra_whitespaces", Shape::flag},
    {5, "escape_whitespaces", Shape::flag},
    {6, "normalization_rule_tsv", Shape::digest},
});

std::string value_json(const Field &field, Shape shape) {
  switch (shape) {
  case Shape::number:
    return std::to_string(static_cast<std::int32_t>(field.value));
  case Shape::flag:
    return field.value != 0 ? "true" : "false";
  case Shape::text:
    return Json(field.bytes).dump(-1, ' ', false, Json::error_handler_t::replace);
  case Shape::digest:
    return field.bytes.empty() ? "\"\"" : "\"sha256:" + sha256_hex(field.bytes) + "\"";
  }
  return "null";
}

template <std::size_t N>
bool read_settings(std::string_view bytes, std::string_view prefix,
                   const std::array<KnownField, N> &known, TokenizerFacts &facts) {
  Message message(bytes);
  while (const std::optional<Field> field = message.next()) {
    const auto row = std::ranges::find(known, field->number, &KnownField::number);
    if (row == known.end())
      continue;
    const std::string name = fmt::format("{}.{}", prefix, row->name);
    const auto before = std::ranges::find(facts.parts, name, &TokenizerPart::name);
    if (before == facts.parts.end())
      facts.parts.push_back({name, value_json(*field, row->shape)});
    else
      before->json += "," + value_json(*field, row->shape);
  }
  return !message.broken();
}

bool read_piece(std::string_view bytes, TokenizerFacts &facts) {
  VocabularyEntry entry;
  entry.id = static_cast<std::int64_t>(facts.vocabulary.size());
  entry.type = 1;
  Message message(bytes);
  while (const std::optional<Field> field = message.next()) {
    if (field->number == 1 && field->wire == 2)
      entry.text = field->bytes;
    else if (field->number == 2 && field->wire == 5)
      entry.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    else if (field->number == 3 && field->wire == 0)
      entry.type = static_cast<std::int32_t>(field->value);
  }
  if (std::isnan(entry.score))
    return false;
  facts.vocabulary.push_back(entry);
  return !message.broken();
}

} // namespace

Result<TokenizerFacts> read_sentencepiece(std::string_view bytes) {
  TokenizerFacts facts;
  Message model(bytes);
  bool readable = true;
  while (const std::optional<Field> field = model.next()) {
    if (field->number == 1 && field->wire == 2)
      readable = readable && read_piece(field->bytes, facts);
    else if (field->number == 2 && field->wire == 2)
      readable = readable && read_settings(field->bytes, "trainer_spec", trainer_fields, facts);
    else if (field->number == 3 && field->wire == 2)
      readable =
          readable && read_settings(field->bytes, "normalizer_spec", normalizer_fields, facts);
    else if (field->number == 5 && field->wire == 2)
      readable =
          readable && read_settings(field->bytes, "denormalizer_spec", normalizer_fields, facts);
    if (!readable)
      break;
  }
  if (!readable || model.broken() || facts.vocabulary.empty())
    return fail(Errc::malformed, "not a sentencepiece model");
  std::ranges::sort(facts.parts, {}, &TokenizerPart::name);
  return facts;
}

} // namespace headwater::read
