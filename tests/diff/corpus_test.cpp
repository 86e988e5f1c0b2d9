// Broken files in place of good ones, and real histories: nothing crashes, nothing is made up.
#include "daemon/diff/diff.hpp"
#include "daemon/diff/load.hpp"
#include "tests/diff/fixture.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

namespace fs = std::filesystem;
using test::snapshot_of;

const char *const good_config = R"({"model_type":"llama","hidden_size":64,"eos_token_id":2})";
const char *const good_tokenizer_config =
    R"({"tokenizer_class":"LlamaTokenizer","eos_token":"</s>","chat_template":"{{ messages }}"})";
const char *const good_tokenizer =
    R"({"version":"1.0","added_tokens":[{"id":0,"content":"<s>","special":true}],"model":{"type":"BPE","vocab":{"<s>":0,"a":1},"merges":[]}})";

/// A good repository, with one file replaced.
std::map<std::string, std::string> good_files() {
  return {{"config.json", good_config},
          {"generation_config.json", R"({"eos_token_id":2})"},
          {"tokenizer_config.json", good_tokenizer_config},
          {"tokenizer.json", good_tokenizer},
          {"README.md", "---\nlicense: mit\n---\n"},
          {"chat_template.jinja", "{{ messages }}"}};
}

/// Where a broken file belongs, by its ending.
std::string place_of(const std::string &name) {
  for (const char *place : {"model.safetensors.index.json", "tokenizer_config.json",
                            "tokenizer.json", "quantize_config.json", "config.json"})
    if (name.ends_with(place))
      return place;
  if (name.ends_with(".jinja"))
    return "chat_template.jinja";
  if (name.ends_with(".safetensors"))
    return "model.safetensors";
  return name.ends_with(".gguf") ? "model.gguf" : "";
}

bool about(const Change &change, const std::string &place) {
  return change.path == place || change.path.starts_with(place + "#");
}

void put_in_place_of_a_good_file(const std::string &name, const std::string &bytes) {
  const std::string place = place_of(name);
  if (place.empty())
    return;
  std::map<std::string, std::string> files = good_files();
  const auto [header, size] = test::safetensors_header({{"a", "F32", {2, 2}}});
  files["model.safetensors"] =
      header + std::string(static_cast<std::size_t>(size) - header.size(), '\0');
  files["model.safetensors.index.json"] =
      R"({"metadata":{"total_size":16},"weight_map":{"a":"model.safetensors"}})";
  files["quantize_config.json"] = R"({"bits":4})";
  const Snapshot before = snapshot_of(files);
  files[place] = bytes;
  const Snapshot after = snapshot_of(files);
  const Delta delta = diff(before, after);
  EXPECT_FALSE(delta.changes.empty()) << name << ": no message";
  for (const Change &change : delta.changes) {
    const bool template_of_config =
        place == "tokenizer_config.json" && change.subject == "template";
    // A readable config of another model may well name another end token: that is no false change.
    EXPECT_TRUE(about(change, place) || template_of_config || change.subject == "stop-set" ||
                change.path == "model.safetensors.index.json")
        << name << ": " << change.kind << " " << change.path << " " << change.explanation;
    EXPECT_FALSE(change.explanation.empty());
    for (const char c : change.explanation)
      EXPECT_GE(static_cast<unsigned char>(c), 0x20) << name;
  }
  diff(after, before);
  EXPECT_TRUE(diff(after, after).changes.empty()) << name;
  EXPECT_EQ(fact_hash(facts_of(after)), fact_hash(facts_of(snapshot_of(files))))
      << name << ": read twice";
  EXPECT_NE(fact_hash(facts_of(after)), fact_hash(facts_of(before)))
      << name << ": a broken file has the good one's facts";
}

TEST(BadFiles, GiveAMessageAndNoFalseChange) {
  const std::map<std::string, std::string> bad{
      {"empty.config.json", ""},
      {"array.config.json", "[]"},
      {"cut.config.json", R"({"model_type": "lla)"},
      {"deep.config.json", std::string(100000, '[')},
      {"html.config.json", "<!doctype html><html>"},
      {"conflict.model.safetensors.index.json", "<<<<<<< HEAD\n"},
      {"traversal.model.safetensors.index.json", R"({"weight_map":{"a":"../../etc/passwd"}})"},
      {"short.safetensors", "abc"},
      {"long.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)},
      {"magic.gguf", "GGUX"},
      {"wrong.tokenizer.json", R"({"model":{"vocab":{"a":"0"}}})"},
      {"latin1.tokenizer_config.json", "{\"eos_token\":\"\xff\"}"},
  };
  for (const auto &[name, bytes] : bad)
    put_in_place_of_a_good_file(name, bytes);
}

TEST(BadFiles, OfTheCorpusGiveAMessageAndNoFalseChange) {
  const std::string shared = test::shared_folder();
  if (shared.empty())
    GTEST_SKIP() << "no shared material";
  std::size_t count = 0;
  for (const auto &entry : fs::directory_iterator(shared + "/corpus/bad")) {
    std::string name = entry.path().filename().string();
    const std::string bytes = test::read_file(entry.path().string());
    if (name.ends_with(".gz"))
      name.resize(name.size() - 3);
    SCOPED_TRACE(name);
    put_in_place_of_a_good_file(name, bytes);
    count += place_of(name).empty() ? 0 : 1;
  }
  std::cout << count << " broken files tried\n";
  EXPECT_GT(count, 0U);
}

/// An edit of a config that runs differently, by a key that the config states; empty where it
/// states none.
Json with_another_value(Json config) {
  for (const char *key : {"num_hidden_layers", "n_layer", "num_layers", "hidden_size", "d_model"})
    if (config.is_object() && config.contains(key) && config[key].is_number_integer()) {
      config[key] = config[key].get<std::int64_t>() + 1;
      return config;
    }
  return {};
}

TEST(FactHash, OfEachConfigOfTheCorpusMovesWithAnEditAndNotWithAReformat) {
  const std::string shared = test::shared_folder();
  if (shared.empty())
    GTEST_SKIP() << "no shared material";
  std::size_t edited = 0;
  for (const auto &entry : fs::directory_iterator(shared + "/corpus/configs")) {
    const Result<Json> config = parse_json(test::read_file(entry.path().string()));
    const Json other = config ? with_another_value(*config) : Json();
    if (other.is_null())
      continue;
    ++edited;
    const std::string hash = fact_hash(facts_of(snapshot_of({{"config.json", config->dump()}})));
    EXPECT_EQ(fact_hash(facts_of(snapshot_of({{"config.json", config->dump(7) + "\n"}}))), hash)
        << entry.path() << ": a reformat";
    EXPECT_NE(fact_hash(facts_of(snapshot_of({{"config.json", other.dump()}}))), hash)
        << entry.path() << ": a real edit";
  }
  EXPECT_GT(edited, 200U);
}

TEST(FactHash, MovesWithAnEditOfEachFileAndNotWithAReformat) {
  struct Case {
    const char *path;
    const char *reformatted;
    const char *edited;
  };
  const Case cases[] = {
      {"config.json", "{ \"hidden_size\": 64,\n \"eos_token_id\": 2, \"model_type\": \"llama\" }",
       R"({"model_type":"llama","hidden_size":65,"eos_token_id":2})"},
      {"generation_config.json", "{\n  \"eos_token_id\": 2\n}\n", R"({"eos_token_id":7})"},
      {"tokenizer_config.json",
       "{\"chat_template\": \"{{ messages }}\",\n\"eos_token\": \"</s>\", \"tokenizer_class\": "
       "\"LlamaTokenizer\"}",
       R"({"tokenizer_class":"LlamaTokenizer","eos_token":"<s>","chat_template":"{{ messages }}"})"},
      {"README.md", "---\nlicense:   mit\n---\n\nA word.\n", "---\nlicense: cc-by-nc-4.0\n---\n"},
  };
  const std::string hash = fact_hash(facts_of(snapshot_of(good_files())));
  for (const Case &one : cases) {
    std::map<std::string, std::string> files = good_files();
    files[one.path] = one.reformatted;
    EXPECT_EQ(fact_hash(facts_of(snapshot_of(files))), hash) << one.path << ": a reformat";
    files[one.path] = one.edited;
    EXPECT_NE(fact_hash(facts_of(snapshot_of(files))), hash) << one.path << ": a real edit";
  }
}

TEST(Replay, RealHistoriesAreReadToTheEnd) {
  const std::string shared = test::shared_folder();
  if (shared.empty())
    GTEST_SKIP() << "no shared material";
  const char *print = std::getenv("HEADWATER_PRINT_DELTAS");
  std::size_t repos = 0;
  std::size_t deltas = 0;
  std::map<std::string, std::size_t> kinds;
  for (const auto &repo : fs::directory_iterator(shared + "/corpus/replay/models/corpus")) {
    ++repos;
    std::vector<fs::path> revisions;
    for (const auto &revision : fs::directory_iterator(repo.path() / "revisions"))
      revisions.push_back(revision.path());
    std::ranges::sort(revisions);
    Snapshot before = snapshot_of({});
    for (const fs::path &path : revisions) {
      Result<Snapshot> after = load_folder(path.string());
      ASSERT_TRUE(after) << path;
      const Delta delta = diff(before, *after);
      ++deltas;
      EXPECT_TRUE(diff(*after, *after).changes.empty()) << path;
      for (const Change &change : delta.changes) {
        ++kinds[change.kind];
        ASSERT_NE(find_change_kind(change.kind), nullptr);
        if (print != nullptr)
          std::cout << repo.path().filename().string() << " " << path.filename().string() << " "
                    << to_string(change.impact) << " " << to_string(change.level) << " "
                    << change.kind << " " << change.path << ": " << change.explanation << "\n";
      }
      before = std::move(*after);
    }
  }
  EXPECT_GT(repos, 0U);
  EXPECT_GT(deltas, repos) << "histories of one revision tell nothing";
  EXPECT_GT(kinds.size(), 5U) << "nothing was told";
  std::cout << repos << " histories, " << deltas << " deltas\n";
  for (const auto &[kind, n] : kinds)
    std::cout << "  " << n << " " << kind << "\n";
}

} // namespace
} // namespace headwater::diff
