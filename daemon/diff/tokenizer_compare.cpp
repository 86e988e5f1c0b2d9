#include "daemon/diff/tokenizer_compare.hpp"

#include "schemas/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::AddedToken;
using read::Merge;
using read::TokenizerFacts;
using read::VocabularyEntry;

/// Entries of one side that have no equal on the other, by what differs.
struct VocabularyDifference {
  std::vector<const VocabularyEntry *> removed;
  std::vector<const VocabularyEntry *> added;
  std::vector<std::pair<const VocabularyEntry *, const VocabularyEntry *>> renumbered;
  std::vector<std::pair<const VocabularyEntry *, const VocabularyEntry *>> rescored;
};

/// Entries that have no equal beside them on the other side. Most edits touch a few places of a
/// long list, so equal entries are passed over in step, and after a difference the lists are
/// brought into step again where a near entry allows it.
std::pair<std::vector<const VocabularyEntry *>, std::vector<const VocabularyEntry *>>
out_of_step(std::span<const VocabularyEntry> before, std::span<const VocabularyEntry> after) {
  constexpr std::size_t near = 32;
  std::pair<std::vector<const VocabularyEntry *>, std::vector<const VocabularyEntry *>> left;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < before.size() && j < after.size()) {
    if (before[i] == after[j]) {
      ++i;
      ++j;
      continue;
    }
    std::size_t skip = 1;
    while (skip <= near && !(i + skip < before.size() && before[i + skip] == after[j]) &&
           !(j + skip < after.size() && after[j + skip] == before[i]))
      ++skip;
    const bool gone = skip <= near && i + skip < before.size() && before[i + skip] == after[j];
    const bool came = skip <= near && !gone;
    for (std::size_t n = 0; n < (gone ? skip : came ? 0 : 1); ++n)
      left.first.push_back(&before[i++]);
    for (std::size_t n = 0; n < (came ? skip : gone ? 0 : 1); ++n)
      left.second.push_back(&after[j++]);
  }
  for (; i < before.size(); ++i)
    left.first.push_back(&before[i]);
  for (; j < after.size(); ++j)
    left.second.push_back(&after[j]);
  return left;
}

VocabularyDifference compare_vocabularies(std::span<const VocabularyEntry> all_before,
                                          std::span<const VocabularyEntry> all_after) {
  const auto [before, after] = out_of_step(all_before, all_after);
  VocabularyDifference difference;
  std::unordered_map<std::string_view, const VocabularyEntry *> by_text;
  by_text.reserve(before.size());
  for (const VocabularyEntry *entry : before)
    by_text[entry->text] = entry;
  for (const VocabularyEntry *entry : after) {
    const auto at = by_text.find(entry->text);
    if (at == by_text.end()) {
      difference.added.push_back(entry);
      continue;
    }
    const VocabularyEntry &old = *at->second;
    if (old.id != entry->id)
      difference.renumbered.emplace_back(&old, entry);
    if (old.score != entry->score || old.type != entry->type)
      difference.rescored.emplace_back(&old, entry);
    by_text.erase(at);
  }
  for (const VocabularyEntry *entry : before)
    if (const auto at = by_text.find(entry->text); at != by_text.end() && at->second == entry)
      difference.removed.push_back(entry);
  return difference;
}

std::string base64_decoded(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0)
      break;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xFFU);
    }
  }
  return bytes;
}

std::string token_shown(const VocabularyEntry &entry, bool base64) {
  return shown_text(base64 ? base64_decoded(entry.text) : std::string(entry.text), 40);
}

template <class Items, class Show> std::string first_few(const Items &items, Show show) {
  std::string text;
  for (std::size_t i = 0; i < items.size() && i < 4; ++i)
    text += (i > 0 ? ", " : "") + show(items[i]);
  if (items.size() > 4)
    text += fmt::format(" and {} more", items.size() - 4);
  return text;
}

class Comparison {
public:
  Comparison(const std::string &path, const TokenizerFacts &before, const TokenizerFacts &after,
             Changes &changes)
      : path_(path), before_(before), after_(after), changes_(changes) {}

  bool run() {
    const std::size_t start = changes_.size();
    vocabulary();
    merges();
    parts();
    compare_added_tokens(pointer("/added_tokens"), before_.added, after_.added, changes_);
    return changes_.size() > start;
  }

private:
  std::string pointer(std::string_view at) const {
    return path_ + (path_.find('#') == std::string::npos ? "#" : "") + std::string(at);
  }

  void add(std::string_view kind, std::string path, const Json &before, const Json &after,
           std::string sentence) {
    changes_.push_back(make_change(kind, std::move(path), json_text(before), json_text(after),
                                   std::move(sentence)));
  }

  void vocabulary() {
    const VocabularyDifference difference =
        compare_vocabularies(before_.vocabulary, after_.vocabulary);
    const std::string place = pointer("/model/vocab");
    const Json was = {{"size", before_.vocabulary.size()}};
    const Json is = {{"size", after_.vocabulary.size()}};
    const auto with_id = [&](const VocabularyEntry *entry) {
      return fmt::format("{} ({})", token_shown(*entry, after_.base64), entry->id);
    };
    if (!difference.removed.empty())
      add("tokenizer.vocabulary-removed", place, was, is,
          fmt::format("{} removed from the vocabulary: {}. Ids of existing text can change.",
                      counted(difference.removed.size(), "token"),
                      first_few(difference.removed, with_id)));
    if (!difference.renumbered.empty())
      add("tokenizer.vocabulary-renumbered", place, was, is,
          fmt::format("{} another id: {}. Ids of existing text can change.",
                      counted(difference.renumbered.size(), "token has", "tokens have"),
                      first_few(difference.renumbered, [&](const auto &pair) {
                        return fmt::format("{} {} became {}",
                                           token_shown(*pair.first, after_.base64), pair.first->id,
                                           pair.second->id);
                      })));
    if (!difference.added.empty()) {
      const bool unreachable = !after_.merges.empty() && before_.merges == after_.merges &&
                               read::part_of(after_, "model.ignore_merges") != "true";
      add(unreachable ? "tokenizer.vocabulary-extended" : "tokenizer.vocabulary-added", place, was,
          is,
          fmt::format("{} added to the vocabulary: {}. Ids of existing text {} change.",
                      counted(difference.added.size(), "token"),
                      first_few(difference.added, with_id), unreachable ? "cannot" : "can"));
    }
    if (!difference.rescored.empty())
      add("tokenizer.scores", place, was, is,
          fmt::format("{} another score or type: {}. Ids of existing text can change.",
                      counted(difference.rescored.size(), "token has", "tokens have"),
                      first_few(difference.rescored, [&](const auto &pair) {
                        return fmt::format("{} {:.6g} became {:.6g}",
                                           token_shown(*pair.first, after_.base64),
                                           pair.first->score, pair.second->score);
                      })));
  }

  void merges() {
    const std::vector<Merge> &before = before_.merges;
    const std::vector<Merge> &after = after_.merges;
    const auto [left, right] = std::ranges::mismatch(before, after);
    if (left == before.end() && right == after.end()) {
      if (before_.merges_as_pairs != after_.merges_as_pairs && !before.empty())
        add("tokenizer.serialised-form", pointer("/model/merges"),
            before_.merges_as_pairs ? "pairs" : "strings",
            after_.merges_as_pairs ? "pairs" : "strings",
            fmt::format("The serialised form of the merges changed from {}, merges equal ({}). Old "
                        "readers may see none.",
                        after_.merges_as_pairs ? "\"a b\" texts to [\"a\", \"b\"] pairs"
                                               : "[\"a\", \"b\"] pairs to \"a b\" texts",
                        counted(after.size(), "merge")));
      return;
    }
    const auto rank = left - before.begin();
    const auto merge = [](const auto &at, const auto &end) {
      return at == end ? std::string("nothing")
                       : shown_text(std::string(at->first) + " " + std::string(at->second), 60);
    };
    add("tokenizer.merges", pointer(fmt::format("/model/merges/{}", rank)),
        Json{{"count", before.size()}}, Json{{"count", after.size()}},
        fmt::format("The merges differ first at rank {}: {} became {}; {}. Ids of existing text "
                    "can change.",
                    with_thousands(rank), merge(left, before.end()), merge(right, after.end()),
                    before.size() == after.size()
                        ? fmt::format("{} as before", counted(after.size(), "merge"))
                        : fmt::format("{} became {}", counted(before.size(), "merge"),
                                      with_thousands(static_cast<long long>(after.size())))));
  }

  void parts() {
    std::map<std::string, std::pair<const std::string *, const std::string *>> both;
    for (const read::TokenizerPart &part : before_.parts)
      both[part.name].first = &part.json;
    for (const read::TokenizerPart &part : after_.parts)
      both[part.name].second = &part.json;
    for (const auto &[name, texts] : both) {
      const auto &[was, is] = texts;
      if (was != nullptr && is != nullptr && *was == *is)
        continue;
      const auto &[kind, noun, ids] = meaning(name);
      std::string at = "/" + name;
      std::ranges::replace(at, '.', '/');
      const Json before = was != nullptr ? Json::parse(*was, nullptr, false) : Json();
      const Json after = is != nullptr ? Json::parse(*is, nullptr, false) : Json();
      add(kind, pointer(at), before.is_discarded() ? Json(*was) : before,
          after.is_discarded() ? Json(*is) : after,
          fmt::format("{} differs: {} became {}. Ids of existing text {} change.",
                      noun.empty() ? plain_text(name, 60) : noun, brief(before), brief(after),
                      ids));
    }
  }

  static std::string brief(const Json &part) {
    if (!part.is_object())
      return shown(part);
    const auto type = part.find("type");
    return type != part.end() && type->is_string() &&
                   part.dump(-1, ' ', false, Json::error_handler_t::replace).size() > 120
               ? shown(*type)
               : shown(part);
  }

  struct Meaning {
    std::string_view kind;
    std::string noun;
    std::string_view ids; ///< of existing text: can, may or cannot change
  };

  static Meaning meaning(const std::string &name) {
    if (name == "normalizer" || name.starts_with("normalizer_spec."))
      return {"tokenizer.normalizer",
              name == "normalizer" ? "The normaliser" : "The normaliser's " + name.substr(16),
              "can"};
    if (name == "pre_tokenizer" || name == "config.pattern")
      return {"tokenizer.pre-tokenizer", "How text is split", "can"};
    if (name == "post_processor")
      return {"tokenizer.post-processor", "What is put around a text", "can"};
    if (name == "decoder" || name.starts_with("denormalizer_spec."))
      return {"tokenizer.decoder", "How ids become text", "cannot"};
    if (name == "truncation")
      return {"tokenizer.truncation", "How long text is cut", "may"};
    if (name == "padding")
      return {"tokenizer.padding", "How short text is filled up", "cannot"};
    if (name.starts_with("model.") || name.starts_with("trainer_spec.") ||
        name.starts_with("config."))
      return {"tokenizer.model", "The model's " + plain_text(name.substr(name.find('.') + 1), 60),
              "can"};
    return {"tokenizer.setting", plain_text(name, 60), "may"};
  }

  const std::string &path_;
  const TokenizerFacts &before_;
  const TokenizerFacts &after_;
  Changes &changes_;
};

std::string flags_of(const AddedToken &token) {
  std::string text;
  const auto say = [&](bool set, const char *name) {
    if (set)
      text += (text.empty() ? "" : ", ") + std::string(name);
  };
  say(token.special, "special");
  say(token.lstrip, "lstrip");
  say(token.rstrip, "rstrip");
  say(token.single_word, "single_word");
  say(token.normalized, "normalized");
  return text.empty() ? "no flag" : text;
}

bool same_flags(const AddedToken &a, const AddedToken &b) {
  AddedToken other = a;
  other.id = b.id;
  return other == b;
}

} // namespace

bool compare_tokenizers(const std::string &path, const TokenizerFacts &before,
                        const TokenizerFacts &after, Changes &changes) {
  return Comparison(path, before, after, changes).run();
}

bool compare_added_tokens(const std::string &path, const std::vector<AddedToken> &before,
                          const std::vector<AddedToken> &after, Changes &changes) {
  if (before == after)
    return false;
  std::map<std::pair<std::string_view, std::int64_t>, const AddedToken *> old;
  std::map<std::string_view, const AddedToken *> old_by_text;
  for (const AddedToken &token : before) {
    old.emplace(std::pair(std::string_view(token.content), token.id), &token);
    old_by_text.emplace(token.content, &token);
  }
  std::set<std::string_view> new_texts;
  for (const AddedToken &token : after)
    new_texts.insert(token.content);
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::vector<std::string> renumbered;
  std::vector<std::string> flags;
  Json was = Json::object();
  Json is = Json::object();
  Json flags_was = Json::object();
  Json flags_is = Json::object();
  for (const AddedToken &token : after) {
    const auto same = old.find({token.content, token.id});
    const auto text = old_by_text.find(token.content);
    const AddedToken *match = same != old.end()           ? same->second
                              : text != old_by_text.end() ? text->second
                                                          : nullptr;
    if (match == nullptr) {
      added.push_back(fmt::format("{} ({})", shown_text(token.content, 40), token.id));
      is[token.content] = token.id;
      continue;
    }
    if (match->id != token.id) {
      renumbered.push_back(
          fmt::format("{} {} became {}", shown_text(token.content, 40), match->id, token.id));
      was[token.content] = match->id;
      is[token.content] = token.id;
    }
    if (!same_flags(*match, token)) {
      flags.push_back(fmt::format("{} {} became {}", shown_text(token.content, 40),
                                  flags_of(*match), flags_of(token)));
      flags_was[token.content] = flags_of(*match);
      flags_is[token.content] = flags_of(token);
    }
  }
  for (const AddedToken &token : before)
    if (!new_texts.contains(token.content)) {
      removed.push_back(fmt::format("{} ({})", shown_text(token.content, 40), token.id));
      was[token.content] = token.id;
    }
  const std::size_t start = changes.size();
  if (!added.empty() || !removed.empty() || !renumbered.empty()) {
    std::string sentence = "Added tokens:";
    const auto say = [&](std::string_view what, const std::vector<std::string> &items) {
      if (!items.empty())
        sentence +=
            fmt::format("{} {} {}", sentence.ends_with(':') ? "" : ";", what, listed(items));
    };
    say("new", added);
    say("gone", removed);
    say("renumbered", renumbered);
    sentence += ". Ids of existing text may change where it holds them.";
    changes.push_back(make_change("tokenizer.added-tokens", path, json_text(was), json_text(is),
                                  std::move(sentence)));
  }
  if (!flags.empty())
    changes.push_back(make_change(
        "tokenizer.added-token-flags", path, json_text(flags_was), json_text(flags_is),
        fmt::format(
            "Flags of added tokens: {}. Ids of existing text may change where it holds them.",
            listed(flags))));
  return changes.size() > start;
}

} // namespace headwater::diff
