// Histories of three revisions, from the bytes to the advisories: a second change of a subject is
// told again and supersedes the first, a way back closes it, wherever the change lies.
#include "daemon/diff/diff.hpp"
#include "daemon/read/wanted.hpp"
#include "daemon/track/advise.hpp"
#include "schemas/digest.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::track {
namespace {

using Files = std::map<std::string, std::string>;

const char *const repository = R"({
 "config.json": {"model_type": "acme_vl", "architectures": ["AcmeForCausalLM"], "vocab_size": 32000, "torch_dtype": "bfloat16",
  "eos_token_id": 2, "pad_token_id": 0, "temperature": 0.7, "auto_map": {"AutoModel": "modeling.M"},
  "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}, "id2label": {"0": "a", "1": "b"},
  "text_config": {"model_type": "acme_text", "hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 2,
   "sliding_window": 512, "max_position_embeddings": 2048, "rms_norm_eps": 1e-05, "num_experts": 8, "norm_topk_prob": 1, "rope_theta": 5000.0,
   "rope_scaling": {"type": "yarn", "factor": 4.0}, "attention_dropout": 0.1},
  "vision_config": {"model_type": "acme_vision", "hidden_size": 768, "patch_size": 14, "hidden_act": "gelu", "layer_norm_eps": 1e-06}},
 "generation_config.json": {"temperature": 0.6, "max_new_tokens": 512, "eos_token_id": [2, 3], "bos_token_id": 1, "stop_strings": ["END"]},
 "tokenizer_config.json": {"tokenizer_class": "AcmeTokenizer", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 4096,
  "chat_template": "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"},
 "special_tokens_map.json": {"pad_token": "<pad>", "unk_token": {"content": "<unk>", "lstrip": false}},
 "added_tokens.json": {"<x>": 100, "<y>": 101},
 "preprocessor_config.json": {"image_mean": [0.5, 0.5], "size": {"height": 224, "width": 224}},
 "adapter_config.json": {"r": 16, "lora_alpha": 32, "target_modules": ["q", "v"], "base_model_name_or_path": "a/b"},
 "hf_quant_config.json": {"quantization": {"quant_algo": "FP8", "group": 1}},
 "draft/config.json": {"model_type": "acme", "hidden_size": 512, "eos_token_id": 2},
 "draft/generation_config.json": {"temperature": 0.5},
 "draft/tokenizer_config.json": {"tokenizer_class": "AcmeTokenizer", "padding_side": "left"},
 "tokenizer.json": {"version": "1.0", "added_tokens": [], "normalizer": {"type": "NFC"}, "pre_tokenizer": null, "decoder": null,
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}
})";

Files written(const Json &documents) {
  Files files;
  for (const auto &[path, document] : documents.items())
    files[path] = document.dump(1);
  files["modeling.py"] = "class M: pass\n";
  files["requirements.txt"] = "torch==2.0\n";
  files["README.md"] = "---\nlicense: mit\n---\n";
  files["LICENSE"] = "Do as you like.\n";
  return files;
}

/// A text as GGUF has it: its length in eight bytes, then itself.
std::string gguf_text(std::string_view text) {
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i)
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xFFU);
  return bytes + std::string(text);
}

std::string number(std::uint64_t value, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> (8 * i) & 0xFFU);
  return text;
}

/// A GGUF file without tensors and with one number of metadata.
std::string gguf(const std::string &key, std::uint32_t value) {
  constexpr std::uint32_t uint32 = 4;
  constexpr std::uint32_t text = 8;
  std::string bytes = "GGUF" + number(3, 4) + number(0, 8) + number(2, 8);
  bytes += gguf_text("general.architecture") + number(text, 4) + gguf_text("llama");
  bytes += gguf_text(key) + number(uint32, 4) + number(value, 4);
  bytes.resize((bytes.size() + 31) / 32 * 32, '\0');
  return bytes;
}

std::shared_ptr<const Snapshot> snapshot_of(const Files &files, char letter) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->facts.name = "acme/model";
  snapshot->commit.sha = std::string(40, letter);
  for (const auto &[path, bytes] : files) {
    FileEntry entry;
    entry.path = path;
    entry.size = static_cast<std::int64_t>(bytes.size());
    entry.oid = git_blob_id(bytes);
    const FilePart part = read::wanted_part(entry);
    if (part != FilePart::none)
      snapshot->contents[path] = FileContent{part, std::make_shared<const std::string>(bytes), {}};
    snapshot->files.push_back(std::move(entry));
  }
  return snapshot;
}

/// The advisories of a branch after each of its revisions.
class History {
public:
  explicit History(const Files &first) { read(first); }

  Delta commit(const Files &files) {
    const std::string from = snapshot_->commit.sha;
    const auto before = snapshot_;
    const FactsOfRevision was = facts_.at(from);
    read(files);
    Step step;
    step.facts = facts_.at(snapshot_->commit.sha);
    step.facts_before = was;
    step.delta = diff::diff({*before, *was}, {*snapshot_, *step.facts});
    step.delta.repo = "acme/model";
    step.delta.date = "2026-05-01T00:00:00Z";
    step.identity_or_name = "id1";
    step.now = "2026-06-01T12:00:00Z";
    for (Advisory &advisory :
         advise(known, step, [&](const std::string &sha) { return facts_[sha]; }, {})) {
      const auto at = std::ranges::find(known, advisory.id, &Advisory::id);
      if (at == known.end())
        known.push_back(std::move(advisory));
      else
        *at = std::move(advisory);
    }
    return step.delta;
  }

  std::vector<Advisory> known;

private:
  void read(const Files &files) {
    snapshot_ = snapshot_of(files, letter_++);
    const diff::Facts *last = facts_.empty() ? nullptr : facts_.rbegin()->second.get();
    facts_[snapshot_->commit.sha] =
        std::make_shared<const diff::Facts>(diff::facts_of(*snapshot_, last));
  }

  char letter_ = 'a';
  std::shared_ptr<const Snapshot> snapshot_;
  std::map<std::string, FactsOfRevision> facts_;
};

std::string told(const Delta &delta) {
  std::string text;
  for (const Change &change : delta.changes)
    text += change.kind + " " + change.path + "\n";
  return text;
}

std::vector<std::string> advised(const Delta &delta) {
  std::vector<std::string> subjects;
  for (const Change &change : delta.changes)
    if (change.level >= Level::medium)
      subjects.push_back(change.subject);
  return subjects;
}

void expect_three_revisions(const Files &a, const Files &b, const Files &c,
                            const std::string &what) {
  SCOPED_TRACE(what);
  History on(a);
  const Delta first = on.commit(b);
  ASSERT_EQ(on.known.size(), 1U) << told(first);
  const Delta second = on.commit(c);
  const std::vector<std::string> subjects = advised(second);
  bool same_subject = false;
  for (const AffectedEntry &entry : on.known.front().affected) {
    const bool again = std::ranges::find(subjects, entry.subject) != subjects.end();
    same_subject = same_subject || again;
    EXPECT_EQ(entry.state, again ? AdvisoryState::superseded : AdvisoryState::open)
        << entry.subject << "\n"
        << told(second);
  }
  EXPECT_TRUE(same_subject) << told(second);
  EXPECT_EQ(on.known.size(), 2U) << told(second);

  History back(a);
  back.commit(b);
  const Delta reverted = back.commit(a);
  EXPECT_EQ(back.known.size(), 1U) << told(reverted);
  EXPECT_EQ(back.known.front().state, AdvisoryState::reverted) << told(reverted);
}

struct Place {
  const char *file;
  const char *pointer;
  const char *second; ///< JSON text
  const char *third;
};

constexpr auto places = std::to_array<Place>({
    {"config.json", "/model_type", "\"acme_vl2\"", "\"acme_vl3\""},
    {"config.json", "/vocab_size", "32064", "32128"},
    {"config.json", "/torch_dtype", "\"float16\"", "\"float32\""},
    {"config.json", "/pad_token_id", "5", "6"},
    {"config.json", "/temperature", "0.8", "0.9"},
    {"config.json", "/auto_map/AutoModel", "\"modeling.N\"", "\"other/repo--modeling.N\""},
    {"config.json", "/quantization_config/bits", "8", "3"},
    {"config.json", "/quantization_config/quant_method", "\"awq\"", "\"fp8\""},
    {"config.json", "/id2label/1", "\"c\"", "\"d\""},
    {"config.json", "/text_config/hidden_size", "2048", "4096"},
    {"config.json", "/text_config/num_hidden_layers", "9", "10"},
    {"config.json", "/text_config/num_attention_heads", "16", "32"},
    {"config.json", "/text_config/num_key_value_heads", "4", "8"},
    {"config.json", "/text_config/sliding_window", "1024", "null"},
    {"config.json", "/text_config/max_position_embeddings", "4096", "8192"},
    {"config.json", "/text_config/rms_norm_eps", "1e-06", "1e-07"},
    {"config.json", "/text_config/num_experts", "16", "32"},
    {"config.json", "/text_config/norm_topk_prob", "2", "3"},
    {"config.json", "/text_config/rope_theta", "10000.0", "20000.0"},
    {"config.json", "/text_config/rope_scaling/factor", "8.0", "16.0"},
    {"config.json", "/vision_config/patch_size", "16", "32"},
    {"config.json", "/vision_config/hidden_act", "\"silu\"", "\"relu\""},
    {"config.json", "/vision_config/layer_norm_eps", "1e-05", "1e-04"},
    {"generation_config.json", "/temperature", "0.7", "0.8"},
    {"generation_config.json", "/max_new_tokens", "1024", "2048"},
    {"generation_config.json", "/eos_token_id", "[2]", "[2, 3, 4]"},
    {"generation_config.json", "/bos_token_id", "7", "8"},
    {"generation_config.json", "/stop_strings", "[\"STOP\"]", "[\"HALT\"]"},
    {"tokenizer_config.json", "/tokenizer_class", "\"OtherTokenizer\"", "\"ThirdTokenizer\""},
    {"tokenizer_config.json", "/bos_token", "\"<b>\"", "\"<begin>\""},
    {"tokenizer_config.json", "/eos_token", "\"<e>\"", "\"<end>\""},
    {"tokenizer_config.json", "/model_max_length", "2048", "1024"},
    {"tokenizer_config.json", "/chat_template", "\"{{ messages[0].content }}\"",
     "\"[{{ messages[0].content }}]\""},
    {"special_tokens_map.json", "/pad_token", "\"<p>\"", "\"<q>\""},
    {"special_tokens_map.json", "/unk_token/content", "\"<u>\"", "\"<v>\""},
    {"added_tokens.json", "/<x>", "102", "103"},
    {"preprocessor_config.json", "/size/height", "336", "448"},
    {"preprocessor_config.json", "/image_mean", "[0.4, 0.5]", "[0.3, 0.5]"},
    {"adapter_config.json", "/r", "32", "64"},
    {"adapter_config.json", "/lora_alpha", "16", "8"},
    {"hf_quant_config.json", "/quantization/quant_algo", "\"INT8\"", "\"NVFP4\""},
    {"draft/config.json", "/hidden_size", "256", "128"},
    {"draft/config.json", "/eos_token_id", "3", "4"},
    {"draft/generation_config.json", "/temperature", "0.6", "0.7"},
    {"draft/tokenizer_config.json", "/padding_side", "\"right\"", "\"middle\""},
    {"tokenizer.json", "/normalizer/type", "\"NFKC\"", "\"NFD\""},
    {"tokenizer.json", "/model/vocab/ab", "3", "4"},
    {"tokenizer.json", "/model/merges", "[\"b a\"]", "[\"b b\"]"},
});

TEST(ThreeRevisions, ASecondChangeOfAPlaceSupersedesTheFirstAndAWayBackClosesIt) {
  const Json base = Json::parse(repository);
  for (const Place &place : places) {
    Json second = base;
    Json third = base;
    const Json::json_pointer at(place.pointer);
    second[place.file][at] = Json::parse(place.second);
    third[place.file][at] = Json::parse(place.third);
    expect_three_revisions(written(base), written(second), written(third),
                           std::string(place.file) + "#" + place.pointer);
  }
}

TEST(ThreeRevisions, FilesThatAreNoDocumentsHaveTheSameLife) {
  const Files base = written(Json::parse(repository));
  struct Text {
    const char *path;
    std::string first;
    std::string second;
    std::string third;
  };
  for (const Text &text :
       {Text{"modeling.py", "class M: pass\n", "class M:\n  x = 1\n", "class M:\n  x = 2\n"},
        Text{"requirements.txt", "torch==2.0\n", "torch==2.1\n", "torch==2.2\n"},
        Text{"README.md", "---\nlicense: mit\n---\n", "---\nlicense: cc-by-nc-4.0\n---\n",
             "---\nlicense: agpl-3.0\n---\n"},
        Text{"LICENSE", "Do as you like.\n", "Ask first.\n", "Pay first.\n"},
        Text{"merges.txt", "#version\na b\n", "#version\nb a\n", "#version\nb b\n"},
        Text{"model.gguf", gguf("llama.context_length", 1), gguf("llama.context_length", 2),
             gguf("llama.context_length", 3)},
        Text{"model.gguf", gguf("tokenizer.ggml.eos_token_id", 1),
             gguf("tokenizer.ggml.eos_token_id", 2), gguf("tokenizer.ggml.eos_token_id", 3)},
        Text{"draft/extra.py", "a = 1\n", "a = 2\n", "a = 3\n"}}) {
    Files a = base;
    Files b = base;
    Files c = base;
    a[text.path] = text.first;
    b[text.path] = text.second;
    c[text.path] = text.third;
    expect_three_revisions(a, b, c, text.path);
  }
}

TEST(ThreeRevisions, ALowChangeBesideTheWayBackDoesNotKeepTheAdvisoryOpen) {
  const Json base = Json::parse(repository);
  Json second = base;
  second["config.json"]["id2label"]["1"] = "c";
  Json third = base;
  third["config.json"]["text_config"]["attention_dropout"] = 0.3;
  History history(written(base));
  history.commit(written(second));
  history.commit(written(third));
  ASSERT_EQ(history.known.size(), 1U);
  EXPECT_EQ(history.known.front().state, AdvisoryState::reverted);
}

TEST(ThreeRevisions, WhatIsWrittenInAnotherFormOnItsWayBackStandsWhereItStood) {
  const Json base = Json::parse(repository);
  Json second = base;
  second["config.json"]["text_config"]["rope_theta"] = 1.0;
  Json third = base;
  Json &text = third["config.json"]["text_config"];
  text["rope_parameters"] = {{"rope_type", "yarn"}, {"factor", 4}, {"rope_theta", 5000}};
  text.erase("rope_theta");
  text.erase("rope_scaling");
  History history(written(base));
  history.commit(written(second));
  history.commit(written(third));
  ASSERT_EQ(history.known.size(), 1U);
  EXPECT_EQ(history.known.front().state, AdvisoryState::reverted);
}

/// Leaves of a document.
void leaves(const Json &json, const std::string &at, std::vector<std::string> &out) {
  for (const auto &[key, value] : json.items()) {
    const std::string pointer = at + "/" + key;
    if (value.is_object())
      leaves(value, pointer, out);
    else if (!value.is_null() && !(value.is_array() && value.empty()))
      out.push_back(pointer);
  }
}

Json changed(const Json &value, int by) {
  if (value.is_boolean())
    return by % 2 == 0 ? value : Json(!value.get<bool>());
  if (value.is_number_integer())
    return value.get<std::int64_t>() + by;
  if (value.is_number())
    return value.get<double>() + by;
  if (value.is_string())
    return value.get<std::string>() + std::string(static_cast<std::size_t>(by), 'z');
  Json list = value;
  list.front() = changed(list.front(), by);
  return list;
}

TEST(ThreeRevisions, GeneratedHistoriesEndAsTheyShould) {
  const char *given = std::getenv("HEADWATER_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20260614;
  std::mt19937_64 random(seed);
  const Json base = Json::parse(repository);
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto &[path, document] : base.items()) {
    std::vector<std::string> pointers;
    leaves(document, "", pointers);
    for (const std::string &pointer : pointers)
      if (pointer.find("chat_template") == std::string::npos)
        all.emplace_back(path, pointer);
  }
  int advised_cases = 0;
  int cases = 0;
  for (; cases < 600; ++cases) {
    const auto &[path, pointer] = all[random() % all.size()];
    const int by = 1 + static_cast<int>(random() % 5);
    Json second = base;
    Json third = base;
    const Json::json_pointer at(pointer);
    second[path][at] = changed(base[path][at], by);
    third[path][at] = changed(base[path][at], by + 1 + static_cast<int>(random() % 5));
    // A switch has no third value.
    if (third[path][at] == base[path][at] || third[path][at] == second[path][at])
      continue;
    History probe(written(base));
    if (advised(probe.commit(written(second))).empty())
      continue;
    // What no longer loads has a life of its own.
    if (std::ranges::any_of(probe.known, [](const Advisory &advisory) {
          return std::ranges::any_of(advisory.kinds, [](const std::string &kind) {
            return kind.find("malformed") != std::string::npos;
          });
        }))
      continue;
    ++advised_cases;
    expect_three_revisions(written(base), written(second), written(third), path + "#" + pointer);
  }
  std::cout << "HEADWATER_SEED=" << seed << ", " << cases << " edits, " << advised_cases
            << " of them advised, each as a, b, c and as a, b, a\n";
}

} // namespace
} // namespace headwater::track
