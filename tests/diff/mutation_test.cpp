// Random single edits are named at their place and nowhere else; random rewrites that mean the same
// stay quiet; what is undone is told the other way round. HEADWATER_SEED sets the seed, which is
// printed. Without the shared corpus the same runs over small files of our own.
#include "daemon/diff/diff.hpp"
#include "tests/diff/material.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using test::Material;
using test::Random;
using test::Revision;
using test::Rewrite;

constexpr int rounds = 300;

Random seeded() {
  const char *given = std::getenv("HEADWATER_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20260614;
  std::cout << "HEADWATER_SEED=" << seed << "\n";
  return Random(seed);
}

std::string told(const Delta &delta) {
  std::string text;
  for (const Change &item : delta.changes)
    text += "  " + item.kind + " " + item.path + ": " + item.before_json.substr(0, 100) + " -> " +
            item.after_json.substr(0, 100) + "\n    " + item.explanation + "\n";
  return text;
}

/// True when a change at `path` names the place that was edited, or the value that it is a part of.
bool names(const std::string &path, const std::string &place) {
  return path == place || place.starts_with(path + "/") || place.starts_with(path + "#") ||
         path.starts_with(place + "/");
}

/// Kinds of which each direction has a name of its own.
std::string mirrored(const std::string &kind) {
  constexpr auto pairs = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"weights.tensors-added", "weights.tensors-removed"},
      {"licence.stricter", "licence.looser"},
      {"licence.stated", "licence.withdrawn"},
      {"template.does-not-parse", "template.parses-again"},
      {"template.raises", "template.renders-again"},
      {"code.auto-map", "code.auto-map-removed"},
  });
  for (const auto &[one, other] : pairs) {
    if (kind == one)
      return std::string(other);
    if (kind == other)
      return std::string(one);
  }
  // A token that went can change ids; one that came can only where a merge or a score leads to it.
  if (kind.starts_with("tokenizer.vocabulary-") && kind != "tokenizer.vocabulary-renumbered")
    return "tokenizer.vocabulary-";
  return kind;
}

/// Faults that are told when they come and not when they go.
bool one_way(const Change &change) {
  return change.kind == "stop-set.disagreement" || change.kind == "weights.index-mismatch" ||
         change.kind == "template.double-bos";
}

void expect_mirror(const Delta &there, const Delta &back) {
  for (const auto &[from, to] : {std::pair(&there, &back), std::pair(&back, &there)})
    for (const Change &change : from->changes) {
      const std::string kind = mirrored(change.kind);
      EXPECT_TRUE(one_way(change) ||
                  std::ranges::any_of(to->changes,
                                      [&](const Change &other) {
                                        return (other.kind == change.kind ||
                                                other.kind.starts_with(kind)) &&
                                               other.before_json == change.after_json &&
                                               other.after_json == change.before_json;
                                      }))
          << change.kind << " " << change.path << " has no mirror\n"
          << told(*to);
    }
}

TEST(Mutation, OneEditIsNamedAtItsPlaceAndNowhereElse) {
  Random random = seeded();
  const Material material;
  std::map<std::string, int> tried;
  for (int done = 0; done < rounds;) {
    const std::optional<Rewrite> edit = material.edit(random);
    if (!edit)
      continue;
    ++done;
    ++tried[edit->sort];
    const Snapshot before = test::snapshot_of(edit->before);
    const Snapshot after = test::snapshot_of(edit->after);
    const Delta delta = diff(before, after);
    SCOPED_TRACE(edit->what + "\n" + told(delta));
    EXPECT_FALSE(delta.changes.empty());
    for (const Change &change : delta.changes)
      EXPECT_TRUE(names(change.path, edit->place)) << change.path << " is not " << edit->place;
    if (edit->one_fact) {
      EXPECT_EQ(delta.changes.size(), 1U);
    }
    expect_mirror(delta, diff(after, before));
    EXPECT_TRUE(diff(after, after).changes.empty());
  }
  for (const auto &[sort, n] : tried)
    std::cout << "  " << n << " " << sort << "\n";
}

TEST(Mutation, RewritesThatMeanTheSameStayQuiet) {
  Random random = seeded();
  const Material material;
  std::map<std::string, int> tried;
  for (int done = 0; done < rounds;) {
    const std::optional<Rewrite> rewrite = material.same(random);
    if (!rewrite)
      continue;
    ++done;
    ++tried[rewrite->sort];
    const Snapshot before = test::snapshot_of(rewrite->before);
    const Snapshot after = test::snapshot_of(rewrite->after);
    const Delta delta = diff(before, after);
    const Delta back = diff(after, before);
    SCOPED_TRACE(rewrite->what + "\n" + told(delta) + "back:\n" + told(back));
    for (const Delta *one : {&delta, &back}) {
      EXPECT_EQ(level_of(one->changes), Level::low);
      EXPECT_EQ(impact_of(one->changes), Impact::cosmetic);
    }
    expect_mirror(delta, back);
  }
  for (const auto &[sort, n] : tried)
    std::cout << "  " << n << " " << sort << "\n";
}

/// A revision of many files, for edits anywhere in them.
const char *const whole_repository = R"({
 "config.json": {"model_type": "acme", "architectures": ["AcmeForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32,
  "num_attention_heads": 32, "rope_theta": 10000.0, "rope_scaling": {"type": "yarn", "factor": 4.0}, "torch_dtype": "bfloat16",
  "vocab_size": 32000, "eos_token_id": 2, "temperature": 0.7, "max_length": 64, "top_k": 40, "use_cache": true, "acme_key": {"deep": [1, 2]},
  "auto_map": {"AutoModel": "modeling.M"}, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128},
  "id2label": {"0": "a", "1": "b"}, "attention_dropout": 0.1, "pad_token_id": 0,
  "text_config": {"model_type": "acme_text", "hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 2,
   "sliding_window": 512, "max_position_embeddings": 2048, "rms_norm_eps": 1e-05, "num_experts": 8, "norm_topk_prob": true, "rope_theta": 5000.0,
   "vocab_size": 32000, "dtype": "float16", "bos_token_id": 1, "dropout": 0.1, "auto_map": {"AutoModel": "text.T"}, "tie_word_embeddings": false},
  "vision_config": {"model_type": "acme_vision", "hidden_size": 768, "patch_size": 14, "image_size": 448, "hidden_act": "gelu", "num_heads": 12,
   "layer_norm_eps": 1e-06, "acme_vision_key": 3}},
 "generation_config.json": {"temperature": 0.6, "top_p": 0.95, "do_sample": true, "max_new_tokens": 512, "eos_token_id": [2, 3], "bos_token_id": 1,
  "acme": 1, "stop_strings": ["END"]},
 "tokenizer_config.json": {"tokenizer_class": "AcmeTokenizer", "add_bos_token": true, "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 4096,
  "padding_side": "left", "acme_option": 7, "additional_special_tokens": ["<a>"], "auto_map": {"AutoTokenizer": ["tok.T", null]},
  "added_tokens_decoder": {"0": {"content": "<s>", "special": true}, "2": {"content": "</s>", "special": true}}},
 "special_tokens_map.json": {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": {"content": "<unk>", "lstrip": false},
  "cls_token": "<c>"},
 "added_tokens.json": {"<x>": 100, "<y>": 101},
 "preprocessor_config.json": {"image_mean": [0.5, 0.5], "size": {"height": 224, "width": 224}, "do_resize": true, "auto_map": {"AutoProcessor": "p.P"}},
 "adapter_config.json": {"r": 16, "lora_alpha": 32, "target_modules": ["q", "v"], "base_model_name_or_path": "a/b", "inner": {"x": 1}},
 "hf_quant_config.json": {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": null}},
 "draft/config.json": {"model_type": "acme", "hidden_size": 512, "eos_token_id": 2, "rope_theta": 10000.0, "text_config": {"hidden_size": 64}},
 "draft/generation_config.json": {"temperature": 0.5, "eos_token_id": 2},
 "draft/tokenizer_config.json": {"tokenizer_class": "AcmeTokenizer", "eos_token": "</s>", "padding_side": "left"},
 "draft/special_tokens_map.json": {"pad_token": "<pad>"},
 "scheduler/scheduler_config.json": {"beta_start": 0.1, "steps": 1000},
 "params.json": {"dim": 4096, "n_layers": 32}
})";

/// Leaves of a document that an edit may take, with those inside lists of few.
void places_of(const Json &json, const std::string &at, std::vector<std::string> &out) {
  for (const auto &[key, value] : json.items()) {
    std::string pointer = at + "/";
    for (const char c : key)
      pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    if (value.is_object() && !value.empty())
      places_of(value, pointer, out);
    out.push_back(pointer);
  }
}

Json another(const Json &value, Random &random) {
  const int more = 1 + static_cast<int>(random() % 7);
  if (value.is_boolean())
    return !value.get<bool>();
  if (value.is_number_integer())
    return value.get<std::int64_t>() + more;
  if (value.is_number())
    return value.get<double>() * 1.5 + more;
  if (value.is_string())
    return value.get<std::string>() + std::string(static_cast<std::size_t>(more), 'x');
  if (value.is_array() && !value.empty()) {
    Json list = value;
    list[random() % list.size()] = another(list[random() % list.size()], random);
    if (list == value)
      list.push_back(value.front());
    return list;
  }
  if (value.is_null())
    return more;
  return Json{{"acme", more}};
}

struct Edited {
  Revision files;
  std::string what;
};

/// One random edit of one document: another value, a key that goes, a key that comes, null.
Edited edited(const Json &repository, Random &random) {
  const auto file =
      std::next(repository.begin(), static_cast<std::ptrdiff_t>(random() % repository.size()));
  Json json = file.value();
  std::vector<std::string> places;
  places_of(json, "", places);
  const Json::json_pointer at(places[random() % places.size()]);
  std::string what = file.key() + "#" + at.to_string() + ": ";
  switch (random() % 5) {
  case 0: {
    Json &holder = json[at.parent_pointer()];
    if (holder.is_object()) {
      holder.erase(at.back());
      what += "removed";
      break;
    }
    [[fallthrough]];
  }
  case 1:
  case 2:
    what += json[at].dump();
    json[at] = another(json[at], random);
    what += " -> " + json[at].dump();
    break;
  case 3:
    json[at] = nullptr;
    what += "null";
    break;
  default: {
    constexpr auto keys = std::to_array<const char *>(
        {"sliding_window", "num_key_value_heads",  "temperature",   "top_p",
         "pad_token_id",   "eos_token_id",         "use_cache",     "tie_word_embeddings",
         "acme_new",       "rope_theta",           "pad_token",     "unk_token",
         "padding_side",   "transformers_version", "_name_or_path", "do_sample",
         "attention_bias", "num_experts",          "label2id",      "add_eos_token"});
    const std::string key = keys[random() % keys.size()];
    Json &holder = json[at.parent_pointer()];
    if (!holder.is_object())
      break;
    holder[key] = key.ends_with("_token") ? Json("<new>") : key.ends_with("id") ? Json(7) : Json(3);
    what += "beside it " + key + " " + holder[key].dump();
  }
  }
  Edited result{{}, std::move(what)};
  for (const auto &[path, document] : repository.items())
    result.files[path] = (path == file.key() ? json : document).dump(1);
  return result;
}

/// Whichever of the two is not so is told with what was edited.
void expect_told_is_what_moved(const Snapshot &before, const Snapshot &after,
                               const std::string &what) {
  const Facts was = facts_of(before);
  const Facts is = facts_of(after, &was);
  const Delta delta = diff({before, was}, {after, is});
  const Judge judge(was, is);
  for (const std::string_view subject : subjects()) {
    if (subject == "access" || subject == "history")
      continue;
    const bool tells = std::ranges::any_of(delta.changes, [&](const Change &change) {
      return change.subject == subject && change.impact != Impact::cosmetic;
    });
    const std::vector<std::string> moved = judge.moved(subject);
    EXPECT_EQ(tells, !moved.empty())
        << what << "\n"
        << subject << " moved at " << (moved.empty() ? "no place" : moved.front()) << "\n"
        << told(delta);
    if (subject_hash(was, subject) == subject_hash(is, subject)) {
      EXPECT_FALSE(tells) << what << "\n" << subject << " has one digest\n" << told(delta);
    }
  }
}

TEST(Mutation, AChangeThatIsNotCosmeticIsToldExactlyWhereTheFactsDiffer) {
  Random random = seeded();
  const Json repository = Json::parse(whole_repository);
  Revision files;
  for (const auto &[path, document] : repository.items())
    files[path] = document.dump(1);
  const Snapshot before = test::snapshot_of(files);
  int cases = 0;
  for (; cases < 3000; ++cases) {
    const Edited edit = edited(repository, random);
    const Snapshot after = test::snapshot_of(edit.files);
    expect_told_is_what_moved(before, after, edit.what);
    expect_told_is_what_moved(after, before, edit.what + " (back)");
  }
  const Material material;
  for (int done = 0; done < 200;) {
    const std::optional<Rewrite> edit =
        done % 2 == 0 ? material.edit(random) : material.same(random);
    if (!edit)
      continue;
    ++done;
    // Weights that were only cut or written otherwise have other bytes; which values they hold
    // nobody reads.
    if (edit->sort.find("shard") != std::string::npos ||
        edit->sort.find("index") != std::string::npos)
      continue;
    ++cases;
    expect_told_is_what_moved(test::snapshot_of(edit->before), test::snapshot_of(edit->after),
                              edit->what);
  }
  std::cout << "  " << cases << " cases, each there and back\n";
}

} // namespace
} // namespace headwater::diff
