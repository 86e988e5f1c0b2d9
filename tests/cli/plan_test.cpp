#include "daemon/cli/plan.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace headwater::cli {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome run(const PlanCommand &command) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_plan(command, out, err);
  return {code, out.str(), err.str()};
}

const std::string tiny_config =
    R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 10,
        "max_position_embeddings": 32, "tie_word_embeddings": true})";

class PlanVerb : public testing::Test {
protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("headwater-plan-" + std::to_string(::getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string &name, const std::string &text) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  /// A weight file of bf16 tensors, header and zeros.
  void write_weights(
      const std::string &name,
      const std::vector<std::pair<std::string, std::vector<std::int64_t>>> &tensors) const {
    OrderedJson header = OrderedJson::object();
    std::int64_t offset = 0;
    for (const auto &[tensor, shape] : tensors) {
      std::int64_t bytes = 2;
      for (const std::int64_t side : shape)
        bytes *= side;
      header[tensor] = {
          {"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {offset, offset + bytes}}};
      offset += bytes;
    }
    const std::string text = header.dump();
    std::string file(8, '\0');
    for (std::size_t i = 0; i < 8; ++i)
      file[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
    write(name, file + text + std::string(static_cast<std::size_t>(offset), '\0'));
  }

  static std::vector<std::pair<std::string, std::vector<std::int64_t>>> tiny_tensors() {
    const std::string layer = "model.layers.0.";
    return {{"model.embed_tokens.weight", {10, 8}},
            {layer + "self_attn.q_proj.weight", {8, 8}},
            {layer + "self_attn.k_proj.weight", {4, 8}},
            {layer + "self_attn.v_proj.weight", {4, 8}},
            {layer + "self_attn.o_proj.weight", {8, 8}},
            {layer + "mlp.gate_proj.weight", {16, 8}},
            {layer + "mlp.up_proj.weight", {16, 8}},
            {layer + "mlp.down_proj.weight", {8, 16}},
            {layer + "input_layernorm.weight", {8}},
            {layer + "post_attention_layernorm.weight", {8}},
            {"model.norm.weight", {8}}};
  }

  fs::path folder_;
};

TEST_F(PlanVerb, ReadsAFileOrAFolder) {
  PlanCommand command;
  command.source = write("config.json", tiny_config);
  command.json = true;
  const Outcome by_file = run(command);
  EXPECT_EQ(by_file.code, 0) << by_file.err;
  command.source = folder_.string();
  const Outcome by_folder = run(command);
  EXPECT_EQ(by_folder.code, 0) << by_folder.err;
  Json one = Json::parse(by_file.out);
  Json other = Json::parse(by_folder.out);
  EXPECT_EQ(other["source"], folder_.string());
  one.erase("source");
  other.erase("source");
  EXPECT_EQ(one, other);
  EXPECT_EQ(one["parameters"]["total"], 680);
}

TEST_F(PlanVerb, AsksTheHubForARepo) {
  PlanCommand command;
  command.source = "org/name@abc";
  command.json = true;
  command.fetch_config = [](const std::string &repo, const std::string &revision) {
    EXPECT_EQ(repo, "org/name");
    EXPECT_EQ(revision, "abc");
    return Result<std::string>(tiny_config);
  };
  const Outcome fetched = run(command);
  EXPECT_EQ(fetched.code, 0) << fetched.err;
  const Json json = Json::parse(fetched.out);
  EXPECT_EQ(json["repo"], "org/name");
  EXPECT_EQ(json["revision"], "abc");
  command.fetch_config = [](const std::string &, const std::string &) -> Result<std::string> {
    return fail(Errc::transient, "the hub answered 503");
  };
  const Outcome failed = run(command);
  EXPECT_EQ(failed.code, 3);
  EXPECT_NE(failed.err.find("503"), std::string::npos);
}

TEST_F(PlanVerb, MistakesAreOneLineAndExitTwo) {
  PlanCommand command;
  std::vector<std::pair<std::string, std::string>> cases = {
      {(folder_ / "absent.json").string(), "no such file"},
      {folder_.string(), "no config.json"},
      {write("broken.json", "{\"model_type\": "), "broken.json"},
      {write("negative.json", R"({"model_type": "llama", "hidden_size": -8})"), "hidden_size"}};
  for (const auto &[source, word] : cases) {
    command.source = source;
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.code, 2) << source;
    EXPECT_TRUE(outcome.out.empty());
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
}

TEST_F(PlanVerb, AnUnknownModelIsSaidAndExitsThree) {
  PlanCommand command;
  command.source = write("config.json", R"({"model_type": "no_such_family"})");
  const Outcome page = run(command);
  EXPECT_EQ(page.code, 3);
  EXPECT_NE(page.out.find("unknown"), std::string::npos);
  EXPECT_EQ(page.out.find(" MB"), std::string::npos) << page.out;
  EXPECT_EQ(page.out.find(" GB"), std::string::npos) << page.out;
}

TEST_F(PlanVerb, ColourIsOnlyWhereItIsAskedFor) {
  PlanCommand command;
  command.source = write("config.json", tiny_config);
  EXPECT_EQ(run(command).out.find('\x1b'), std::string::npos);
  command.colour = true;
  EXPECT_NE(run(command).out.find('\x1b'), std::string::npos);
}

TEST_F(PlanVerb, UpstreamTextCannotDriveTheTerminal) {
  PlanCommand command;
  command.source = write("config.json", "{\"model_type\": \"x\\u001b[2J\\u202e\"}");
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(outcome.out.find("\u202e"), std::string::npos);
}

TEST_F(PlanVerb, ComparesTwoSources) {
  PlanCommand command;
  command.source = write("before.json", tiny_config);
  std::string wider = tiny_config;
  wider.replace(wider.find("\"vocab_size\": 10"), 16, "\"vocab_size\": 90");
  command.compare = write("after.json", wider);
  const Outcome page = run(command);
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_NE(page.out.find("parameters 680 -> 1320"), std::string::npos) << page.out;
  command.json = true;
  const Json json = Json::parse(run(command).out);
  EXPECT_EQ(json["before"]["parameters"]["total"], 680);
  EXPECT_EQ(json["after"]["parameters"]["total"], 1320);
  EXPECT_FALSE(json["changed"].empty());
}

TEST_F(PlanVerb, ReconcilesHeadersTensorByTensor) {
  PlanCommand command;
  command.source = write("config.json", tiny_config);
  command.reconcile = folder_.string();
  command.json = true;
  auto tensors = tiny_tensors();
  tensors.push_back({"lm_head.weight", {10, 8}}); // a stored copy of the tied head
  write_weights("model.safetensors", tensors);
  const Outcome fine = run(command);
  EXPECT_EQ(fine.code, 0) << fine.out << fine.err;
  const Json json = Json::parse(fine.out);
  EXPECT_EQ(json["reconciliation"]["agrees"], true);
  EXPECT_EQ(json["parameters"]["stored"], 760);

  tensors = tiny_tensors();
  tensors[1].second = {4, 16};
  tensors[2].first = "model.layers.0.surprise.weight";
  write_weights("model.safetensors", tensors);
  const Outcome off = run(command);
  EXPECT_EQ(off.code, 1);
  const Json found = Json::parse(off.out)["reconciliation"];
  EXPECT_EQ(found["missing"], Json::array({"model.layers.0.self_attn.k_proj.weight"}));
  EXPECT_EQ(found["extra"], Json::array({"model.layers.0.surprise.weight"}));
  ASSERT_EQ(found["other_shape"].size(), 1U);
  EXPECT_EQ(found["other_shape"][0]["name"], "model.layers.0.self_attn.q_proj.weight");
}

TEST_F(PlanVerb, HeadersThatLieAreRefusedByFile) {
  PlanCommand command;
  command.source = write("config.json", tiny_config);
  command.reconcile = folder_.string();
  write("model.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("model.safetensors"), std::string::npos) << outcome.err;
}

} // namespace
} // namespace headwater::cli
