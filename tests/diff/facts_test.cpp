// Digests of what a revision says: equal where nothing differs in effect, however it is written.
#include "daemon/diff/diff.hpp"
#include "tests/diff/fixture.hpp"

#include <array>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

Facts facts_from(const std::string &json) {
  return facts_of(test::snapshot_from(Json::parse(json)));
}

struct Pair {
  const char *name;
  const char *one;
  const char *other;
};

TEST(Facts, WhatIsOnlyWrittenOtherwiseHasOneDigest) {
  for (
      const Pair &pair : {
          Pair{
              "names of a library",
              R"({"config.json": {"model_type": "acme", "torch_dtype": "torch.float16", "rope_theta": 5.0}})",
              R"({"config.json": {"dtype": "float16", "model_type": "acme", "transformers_version": "5",
                    "rope_parameters": {"rope_type": "default", "rope_theta": 5}}})"},
          Pair{
              "keys of the text model at the top",
              R"({"config.json": {"model_type": "acme", "hidden_size": 8, "vision_config": {"depth": 2}}})",
              R"({"config.json": {"model_type": "acme", "vision_config": {"depth": 2}, "text_config": {"hidden_size": 8}}})"},
          Pair{
              "defaults",
              R"({"config.json": {"model_type": "llama"}, "generation_config.json": {"top_p": 1.0}})",
              R"({"config.json": {"model_type": "llama", "rms_norm_eps": 1e-06, "use_cache": true},
                    "generation_config.json": {}})"},
          Pair{"roles", R"({"tokenizer_config.json": {"pad_token": "<p>"}})",
               R"({"tokenizer_config.json": {"pad_token": "<p>", "padding_side": "right"},
                    "special_tokens_map.json": {"pad_token": "<p>"}})"},
          Pair{
              "merges as pairs",
              R"({"tokenizer.json": {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}})",
              R"({"tokenizer.json": {"model": {"type": "BPE", "vocab": {"b": 1, "a": 0, "ab": 2}, "merges": [["a", "b"]]}}})"},
          Pair{
              "a template in its own file",
              R"({"tokenizer_config.json": {"chat_template": "{{ messages[0].content }}"}})",
              R"({"tokenizer_config.json": {}, "chat_template.jinja": "{{ messages[0].content }}{# same #}"})"},
          Pair{"code without its comments", R"({"a.py": "x = 1\n"})",
               R"({"a.py": "# why\nx = 1\n", "__init__.py": "\n"})"},
          Pair{"a licence and prose", R"({"README.md": "---\nlicense: Apache 2.0\n---\nA"})",
               R"({"README.md": "---\nlicense: apache-2.0\n---\nB"})"},
      })
    EXPECT_EQ(fact_hash(facts_from(pair.one)), fact_hash(facts_from(pair.other))) << pair.name;
}

TEST(Facts, EachSubjectHasADigestOfItsOwn) {
  const Facts one = facts_from(
      R"({"config.json": {"model_type": "acme", "text_config": {"rope_theta": 5.0, "hidden_size": 8}}})");
  const Facts other = facts_from(
      R"({"config.json": {"model_type": "acme", "text_config": {"rope_theta": 6.0, "hidden_size": 8}}})");
  for (const std::string_view subject : subjects())
    EXPECT_EQ(subject_hash(one, subject) != subject_hash(other, subject), subject == "config.rope")
        << subject;
}

TEST(Facts, DigestsOfReadersOfAnotherVersionAreNeverEqual) {
  // An older version's are plain hexadecimal digits.
  EXPECT_TRUE(fact_hash(Facts()).starts_with("2:"));
  EXPECT_TRUE(subject_hash(Facts(), "config.rope").starts_with("2:"));
}

TEST(Facts, WhatBothHaveWithOneContentIsNotParsed) {
  const Snapshot snapshot = test::snapshot_from(Json::parse(
      R"({"config.json": {}, "tokenizer.json": {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}})"));
  EXPECT_EQ(facts_beside(snapshot, snapshot).files.at("tokenizer.json")->tokenizer, nullptr);
  const Facts once = facts_of(snapshot);
  ASSERT_NE(once.files.at("tokenizer.json")->tokenizer, nullptr);
  const Facts twice = facts_of(snapshot, &once);
  for (const auto &[path, file] : once.files)
    EXPECT_EQ(twice.files.at(path), file) << path;
}

TEST(Facts, OfContentsThatAreNoLongerKeptAreTakenFromARevisionThatHasThem) {
  const Snapshot now = test::snapshot_from(Json::parse(
      R"({"tokenizer.json": {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}})"));
  Snapshot old = now;
  old.contents.clear();
  const Facts known = facts_of(now);
  EXPECT_EQ(fact_hash(facts_of(old, &known)), fact_hash(known));
  EXPECT_FALSE(Judge(facts_of(old), known).same("tokenizer", "tokenizer.json"));
}

} // namespace
} // namespace headwater::diff
