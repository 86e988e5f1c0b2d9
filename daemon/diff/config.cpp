#include "daemon/diff/config_facts.hpp"
#include "daemon/diff/config_keys.hpp"
#include "daemon/diff/subjects.hpp"
#include "daemon/diff/tokenizer_class.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

constexpr std::size_t most_unknown_keys = 40;

/// Two config.json of one path: what the facts say moved is told by its meaning, what is only
/// written otherwise as such.
class ConfigDiff {
public:
  ConfigDiff(std::string path, const ConfigFacts &before, const ConfigFacts &after,
             const Judge &judge, Changes &changes)
      : path_(std::move(path)), left_(before), right_(after), judge_(judge), changes_(changes) {}

  void run() {
    compare(*left_.canonical.json, *right_.canonical.json, "", "");
    if (moved_keys_ > 0)
      changes_.push_back(make_change(
          "config.renamed", path_ + "#/text_config", "null", "null",
          fmt::format("{} moved {} text_config, the values are the same.",
                      counted(moved_keys_, "key"), left_.has_text_config ? "out of" : "into")));
    if (unknown_ > most_unknown_keys)
      changes_.push_back(make_change(
          "config.unknown", path_, "null", "null",
          fmt::format("{} more keys that we do not know differ.", unknown_ - most_unknown_keys)));
  }

private:
  /// Where a canonical pointer stands in one of the two files.
  static std::string original(const ConfigFacts &config, const std::string &pointer) {
    const auto at = config.canonical.moved.find(pointer);
    return at != config.canonical.moved.end() ? at->second : pointer;
  }

  std::string place(const std::string &pointer, bool in_after) const {
    const std::string here = original(in_after ? right_ : left_, pointer);
    return path_ + "#" + (here != pointer ? here : original(in_after ? left_ : right_, pointer));
  }

  void add(std::string_view kind, const std::string &pointer, const Json *before, const Json *after,
           std::string sentence) {
    changes_.push_back(make_change(
        kind, place(pointer, after != nullptr), before != nullptr ? json_text(*before) : "null",
        after != nullptr ? json_text(*after) : "null", std::move(sentence)));
  }

  void compare(const Json &before, const Json &after, const std::string &pointer,
               const std::string &group) {
    std::set<std::string> keys;
    for (const auto &[key, value] : before.items())
      keys.insert(key);
    for (const auto &[key, value] : after.items())
      keys.insert(key);
    for (const std::string &key : keys) {
      const std::string place_of_key = pointer + "/" + pointer_key(key);
      if (told_elsewhere(path_, place_of_key))
        continue;
      one(key, value_at(before, left_, pointer, key), value_at(after, right_, pointer, key),
          place_of_key, group, before, after);
    }
  }

  /// A key of an object; what text_config leaves to the top is what stands there.
  static const Json *value_at(const Json &object, const ConfigFacts &config,
                              const std::string &pointer, const std::string &key) {
    if (const auto at = object.find(key); at != object.end())
      return &*at;
    if (pointer != "/text_config" || !config.has_text_config)
      return nullptr;
    const auto top = config.canonical.json->find(key);
    return top != config.canonical.json->end() ? &*top : nullptr;
  }

  void one(const std::string &key, const Json *a, const Json *b, const std::string &pointer,
           const std::string &group, const Json &before, const Json &after) {
    if (pointer == "/text_config") {
      static const Json nothing = Json::object();
      return compare(a != nullptr && a->is_object() ? *a : nothing,
                     b != nullptr && b->is_object() ? *b : nothing, pointer,
                     config_group(group, key));
    }
    if (a != nullptr && b != nullptr && *a == *b) {
      if (a->is_object())
        compare(*a, *b, pointer, config_group(group, key));
      else
        told_by_another_name(key, *a, *b, pointer);
      return;
    }
    const std::string kind = config_kind(key, a, b, group);
    const ChangeKind &row = *find_change_kind(kind);
    const bool moves = judge_.moves(row.subject, path_ + "#" + pointer);
    // An object that stands in for the one at the top is told as a whole.
    if (a != nullptr && b != nullptr && a->is_object() && b->is_object() && key != "id2label" &&
        key != "label2id" && !moves)
      return compare(*a, *b, pointer, config_group(group, key));
    if (row.impact != Impact::cosmetic && !moves)
      return told_without_effect(kind, key, a, b, pointer);
    if (kind == "config.unknown" && ++unknown_ > most_unknown_keys)
      return;
    const ConfigKey *known = find_config_key(key);
    std::string sentence = describe(known != nullptr ? known->noun : "", {pointer, key, a, b});
    sentence += consequence(key, kind, a, b, before, after);
    add(kind, pointer, a, b, std::move(sentence));
  }

  const ConfigMeaning *meaning_at(const std::string &pointer, bool in_before) const {
    const ConfigFacts &config = in_before ? left_ : right_;
    const auto at = config.keys.find(pointer);
    return at != config.keys.end() ? &at->second : nullptr;
  }

  /// The same holds with both: said as what it is.
  void told_without_effect(const std::string &kind, const std::string &key, const Json *a,
                           const Json *b, const std::string &pointer) {
    const ConfigKey *row = find_config_key(key);
    const std::string_view noun = row != nullptr ? row->noun : std::string_view();
    const bool one_sided = a == nullptr || b == nullptr;
    const ConfigMeaning *meaning = meaning_at(pointer, a != nullptr);
    if (meaning == nullptr)
      meaning = meaning_at(pointer, a == nullptr);
    // The text model's own type comes and goes with its config, which is told.
    if (one_sided && pointer.starts_with("/text_config/") &&
        left_.has_text_config != right_.has_text_config)
      return;
    if (!one_sided && meaning != nullptr && meaning->by_build &&
        (kind == "config.window" || (!a->is_null() && !b->is_null())))
      return add("config.not-applied", pointer, a, b,
                 describe(noun, {pointer, key, a, b}) +
                     fmt::format(" The code of {} builds the same with either.",
                                 shown(left_.canonical.json->value("model_type", Json()))));
    const Quiet quiet = meaning != nullptr ? meaning->quiet : Quiet::no;
    if (kind == "tokenizer.class" && !one_sided)
      return add(
          "tokenizer.serialised-form", pointer, a, b,
          fmt::format("{} names the same tokenizer class in another form: {}.", key, shown(*b)));
    if (quiet == Quiet::part_type ||
        (meaning != nullptr && meaning->force == Force::no_effect && !one_sided))
      return add("config.not-applied", pointer, a, b,
                 describe("the model type", {pointer, key, a, b}) +
                     " The whole model's type alone decides what this part is.");
    if (one_sided && quiet == Quiet::rope_type)
      return add("config.default-stated", pointer, a, b,
                 "type repeats what rope_type says, for older readers.");
    if (one_sided && quiet == Quiet::rope_repeats)
      return add("config.default-stated", pointer, a, b,
                 fmt::format("{} repeats what the rotary positions say elsewhere.", key));
    const bool stated = one_sided || a->is_null() || b->is_null();
    if (quiet == Quiet::no && meaning != nullptr && meaning->by_build &&
        (kind == "config.window" || !stated))
      return add("config.not-applied", pointer, a, b,
                 describe(noun, {pointer, key, a, b}) +
                     fmt::format(" The code of {} builds the same with either.",
                                 shown(left_.canonical.json->value("model_type", Json()))));
    if (pointer == "/quantization_config" && one_sided && quiet == Quiet::no)
      return add(
          "config.default-stated", pointer, a, b,
          fmt::format("quantization_config is {} stated; quantize_config.json says the same.",
                      b != nullptr ? "now" : "no longer"));
    const bool derived = quiet == Quiet::no && meaning != nullptr && meaning->by_build;
    add("config.default-stated", pointer, a, b,
        fmt::format("{} {}; this is what {} without it.", plain_text(key, 60),
                    b != nullptr && !b->is_null() ? "is now stated as " + shown(*b)
                    : a != nullptr                ? "is no longer stated as " + shown(*a)
                                                  : "is now stated as nothing",
                    derived ? "the other sizes give" : "holds"));
  }

  /// The same value under another key, or in another spelling.
  void told_by_another_name(const std::string &key, const Json &a, const Json &b,
                            const std::string &pointer) {
    const std::string from = original(left_, pointer);
    const std::string to = original(right_, pointer);
    const auto &spelled_before = left_.canonical.spelled;
    const auto &spelled_after = right_.canonical.spelled;
    const auto old_spelling = spelled_before.find(pointer);
    const auto new_spelling = spelled_after.find(pointer);
    const std::string was =
        old_spelling != spelled_before.end() ? old_spelling->second : json_text(a);
    const std::string is =
        new_spelling != spelled_after.end() ? new_spelling->second : json_text(b);
    if (a.is_null())
      return;
    const auto is_text_of = [](const std::string &place, const std::string &flat) {
      return place == "/text_config" + flat;
    };
    if (is_text_of(from, to) || is_text_of(to, from))
      ++moved_keys_;
    else if (from != to)
      changes_.push_back(make_change(
          "config.renamed", path_ + "#" + to, was, is,
          fmt::format("{} is now written as {}; the value, {}, is the same.",
                      plain_text(from.substr(1), 100), plain_text(to.substr(1), 100), shown(b))));
    else if (was != is)
      changes_.push_back(
          make_change("config.renamed", path_ + "#" + to, was, is,
                      fmt::format("{}: {} is now written {}, a known alias of the same meaning.",
                                  plain_text(key, 60), plain_text(was, 60), plain_text(is, 60))));
  }

  std::string consequence(const std::string &key, const std::string &kind, const Json *a,
                          const Json *b, const Json &before, const Json &after) const {
    if (kind == "config.attention" && key == "num_key_value_heads" && a != nullptr &&
        b != nullptr) {
      const std::optional<std::int64_t> from = cache_bytes(before);
      const std::optional<std::int64_t> to = cache_bytes(after);
      if (from && to)
        return fmt::format(" The KV cache takes {} instead of {} bytes a token at 16 bits.",
                           with_thousands(*to), with_thousands(*from));
    }
    if (kind == "config.context" && a != nullptr && b != nullptr && a->is_number() &&
        b->is_number() && b->get<double>() > 0 && a->get<double>() > 0)
      return b->get<double>() >= a->get<double>()
                 ? fmt::format(" The cache of one longest sequence grows {:.4g} times.",
                               b->get<double>() / a->get<double>())
                 : fmt::format(" The cache of one longest sequence is divided by {:.4g}.",
                               a->get<double>() / b->get<double>());
    if (kind == "config.rope-factors")
      return " Files converted from this model must be made again.";
    if (key == "dtype" && b != nullptr && b->is_string())
      return fmt::format(" Loaded without an explicit format, the weights are now {}.",
                         plain_text(b->get<std::string>(), 40));
    if (kind == "config.model-type")
      return " Other code loads the model.";
    if (kind == "config.vocabulary")
      return " Software that checks the tokenizer against it, and adapters that hold embeddings, "
             "may fail.";
    return {};
  }

  /// Bytes that one token adds to the KV cache at 16 bits, for plain grouped-query attention in all
  /// layers.
  static std::optional<std::int64_t> cache_bytes(const Json &config) {
    const auto number = [&](const char *key) -> std::int64_t {
      const auto at = config.find(key);
      return at != config.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
    };
    if (config.contains("kv_lora_rank") || config.contains("layer_types") ||
        config.contains("hybrid_override_pattern"))
      return std::nullopt;
    const std::int64_t layers = number("num_hidden_layers");
    const std::int64_t heads = number("num_attention_heads");
    const std::int64_t kv_heads = number("num_key_value_heads");
    std::int64_t head = number("head_dim");
    if (head <= 0 && heads > 0)
      head = number("hidden_size") / heads;
    constexpr std::int64_t bound = 1 << 20;
    if (layers <= 0 || kv_heads <= 0 || head <= 0 || layers > bound || kv_heads > bound ||
        head > bound)
      return std::nullopt;
    return 2 * layers * kv_heads * head * 2;
  }

  std::string path_;
  const ConfigFacts &left_;
  const ConfigFacts &right_;
  const Judge &judge_;
  Changes &changes_;
  std::size_t unknown_ = 0;
  std::size_t moved_keys_ = 0;
};

void compare_keys(const RoleKinds &kinds, const std::string &path, const std::string &pointer,
                  const Json &before, const Json &after, Changes &changes) {
  std::set<std::string> keys;
  for (const auto &[key, value] : before.items())
    keys.insert(key);
  for (const auto &[key, value] : after.items())
    keys.insert(key);
  std::size_t told = 0;
  for (const std::string &key : keys) {
    if (told_with_template_or_code(key))
      continue;
    const auto left = before.find(key);
    const auto right = after.find(key);
    const Json *a = left != before.end() ? &*left : nullptr;
    const Json *b = right != after.end() ? &*right : nullptr;
    if (a != nullptr && b != nullptr && *a == *b)
      continue;
    const std::string at = pointer + "/" + pointer_key(key);
    if (a != nullptr && b != nullptr && a->is_object() && b->is_object() && goes_inside(key)) {
      compare_keys(kinds, path, at, *a, *b, changes);
      continue;
    }
    if (++told > most_unknown_keys)
      continue;
    changes.push_back(make_change(
        role_key_kind(kinds, key, a, b), path + "#" + at, a != nullptr ? json_text(*a) : "null",
        b != nullptr ? json_text(*b) : "null", describe("", {at, key, a, b})));
  }
  if (told > most_unknown_keys)
    changes.push_back(make_change(kinds.keys, path + "#" + pointer, "null", "null",
                                  fmt::format("{} more keys differ.", told - most_unknown_keys)));
}

void compare_file(const RoleKinds &kinds, const Sides &sides, const FilePair &file,
                  const Judge &judge, Changes &changes) {
  using State = Document::State;
  const Document &before = read_document(sides.before, file.path);
  const Document &after = read_document(sides.after, file.path);
  const auto note = [&](std::string_view kind, std::string sentence) {
    changes.push_back(make_change(kind, file.path, id_text(file.before), id_text(file.after),
                                  std::move(sentence)));
  };
  if (after.state == State::absent)
    return note(kinds.removed, fmt::format("{} was removed.", file.path));
  if (after.state == State::malformed && before.state != State::malformed)
    return note(kinds.malformed, fmt::format("{} does not load: {}.", file.path, after.problem));
  if (before.state == State::absent)
    return note(kinds.added, fmt::format("{} was added.", file.path));
  if (after.state != State::ok)
    return note("config.unreadable",
                fmt::format("{} differs and was not compared: {}.", file.path, after.problem));
  if (before.state != State::ok)
    return note("config.unreadable",
                fmt::format("{} can be read now and could not before, so it was not compared: {}.",
                            file.path, before.problem));
  if (kinds.keys.empty()) {
    ConfigDiff(file.path, *sides.before.facts.files.at(file.path)->config,
               *sides.after.facts.files.at(file.path)->config, judge, changes)
        .run();
  } else {
    compare_keys(kinds, file.path, "", canonical_numbers(*before.json),
                 canonical_numbers(*after.json), changes);
  }
}

} // namespace

void diff_config(const Sides &sides, Changes &changes) {
  const Judge judge(sides.before.facts, sides.after.facts);
  for (const FilePair &file : sides.files) {
    if (!file.differs)
      continue;
    if (const RoleKinds *kinds = role_kinds(file.role))
      compare_file(*kinds, sides, file, judge, changes);
  }
}

} // namespace headwater::diff
