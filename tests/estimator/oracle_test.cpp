#include "schemas/json.hpp"
#include "tests/estimator/oracle_data.hpp"

#include <cstdio>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

struct Tally {
  int rows = 0;
  int counts = 0;
  int names = 0;
  int unknown = 0;
};

/// Why a row's list is another than the oracle's; every row that is off and not unknown must be
/// here.
const std::map<std::string, std::string, std::less<>> &reasons() {
  static const std::map<std::string, std::string, std::less<>> known = [] {
    std::map<std::string, std::string, std::less<>> map;
    for (const char *row :
         {"oracle/defaults/longcat_flash.json", "oracle/defaults/longcat_flash--dims.json",
          "oracle/defaults/longcat_flash--flags.json", "oracle/defaults/longcat_flash--kv32.json",
          "oracle/defaults/longcat_flash--tie1.json"}) {
      map[row] = "transformers gives the experts that pass their input through gate and up "
                 "matrices, which no "
                 "published file holds";
    }
    map["corpus/configs/mlx-lm-fixture__longcat_flash-models-L2521.json"] =
        "num_layers and num_hidden_layers disagree: num_layers counts layers, transformers halves "
        "the other one; the "
        "rest as for longcat_flash";
    for (const char *row :
         {"oracle/defaults/olmo_hybrid.json", "oracle/defaults/olmo_hybrid--dims.json",
          "oracle/defaults/olmo_hybrid--flags.json", "oracle/defaults/olmo_hybrid--kv15.json",
          "oracle/defaults/olmo_hybrid--tie1.json"}) {
      map[row] = "the fused convolution is cut in equal thirds there; queries, keys and values "
                 "have widths of their own";
    }
    for (const char *row : {"oracle/defaults/inkling2_text--dims.json",
                            "oracle/defaults/inkling2_loop_text--dims.json"}) {
      map[row] = "the vocabulary is less than the unpadded one, which it cannot pad";
    }
    map["oracle/defaults/hrm_text--flags.json"] =
        "biases of the fused projections are cut there, their weights are not";
    return map;
  }();
  return known;
}

bool text_generating(const oracle::Row &row) {
  return row.notes.find("kind:CAUSAL_LM") != std::string::npos ||
         row.notes.find("kind:SEQ_TO_SEQ_CAUSAL_LM") != std::string::npos;
}

bool text_model(const oracle::Row &row) {
  return row.source == "corpus" &&
         (row.class_name.ends_with("ForCausalLM") || row.class_name.ends_with("LMHeadModel") ||
          row.class_name == "T5ForConditionalGeneration" ||
          row.class_name == "BartForConditionalGeneration" ||
          row.class_name == "M2M100ForConditionalGeneration");
}

std::string difference(const std::map<std::string, std::string> &own,
                       const std::map<std::string, std::string> &theirs) {
  std::string text;
  int shown = 0;
  for (const auto &[name, value] : theirs) {
    const auto found = own.find(name);
    if ((found == own.end() || found->second != value) && shown++ < 4) {
      text += fmt::format("\n     want {} [{}]{}", name, value,
                          found == own.end() ? "" : " have [" + found->second + "]");
    }
  }
  shown = 0;
  for (const auto &[name, value] : own) {
    if (!theirs.contains(name) && shown++ < 4) {
      text += fmt::format("\n     extra {} [{}]", name, value);
    }
  }
  return text;
}

double share(int part, int whole) {
  return whole == 0 ? 100.0 : 100.0 * part / whole;
}

// Every config of the oracle: the count and each name and shape as transformers builds them.
TEST(Oracle, DerivedListsAreThoseOfTransformers) {
  const auto shared = oracle::oracle_folder();
  if (!shared) {
    GTEST_SKIP() << "no shared material";
  }
  std::map<std::string, Tally> tallies;
  std::string report;
  std::set<std::string> explained;
  for (const oracle::Row &row : oracle::read_rows(*shared)) {
    const bool generating = text_generating(row);
    if ((!generating && !text_model(row)) ||
        row.notes.find("INCOMPLETE-CONFIG") != std::string::npos) {
      continue;
    }
    Tally &tally = tallies[generating ? "text-generating" : "corpus text models"];
    ++tally.rows;
    const Result<Json> config = parse_json(oracle::read_file(*shared / row.config_file));
    ASSERT_TRUE(config) << row.config_file;
    const Result<Architecture> architecture = derive(*config);
    if (!architecture) {
      report += fmt::format("off {} error {}\n", row.config_file, architecture.error().message);
      EXPECT_TRUE(reasons().contains(row.config_file))
          << row.config_file << " is an error without a reason: " << architecture.error().message;
      explained.insert(row.config_file);
      continue;
    }
    if (architecture->reading == Reading::unknown) {
      ++tally.unknown;
      report += fmt::format("off {} unknown: {}\n", row.config_file, architecture->reading_note);
      continue;
    }
    const Counts &counts = architecture->counts;
    const bool count = counts.total - counts.mtp + counts.buffers == row.total;
    const auto own = oracle::own_tensors(*architecture);
    const auto theirs = oracle::read_tensors(row.list);
    const bool names = own == theirs;
    tally.counts += count ? 1 : 0;
    tally.names += names ? 1 : 0;
    if (!count || !names) {
      const auto reason = reasons().find(row.config_file);
      report += fmt::format(
          "off {} {}count {} of {}{}{}\n", row.config_file, count ? "names only, " : "",
          counts.total - counts.mtp + counts.buffers, row.total,
          reason == reasons().end() ? "" : " because " + reason->second, difference(own, theirs));
      EXPECT_NE(reason, reasons().end()) << row.config_file << " is off without a reason";
      explained.insert(row.config_file);
    }
  }
  for (const auto &[row, reason] : reasons()) {
    EXPECT_TRUE(explained.contains(row))
        << row << " has a reason that it does not need: " << reason;
  }
  std::fputs(report.c_str(), stdout);
  for (const auto &[group, tally] : tallies) {
    fmt::print(
        "{}: {} rows, exact in count {:.2f} %, in every name and shape {:.2f} %, unknown {}\n",
        group, tally.rows, share(tally.counts, tally.rows), share(tally.names, tally.rows),
        tally.unknown);
    EXPECT_GE(share(tally.counts, tally.rows), 98.0) << group;
    EXPECT_GE(share(tally.names, tally.rows), 95.0) << group;
  }
}

// Every tensor of the multi-token-prediction layers that the oracle lists is ours, by name and
// shape.
TEST(Oracle, PredictionLayersAreThoseOfTransformers) {
  const auto shared = oracle::oracle_folder();
  if (!shared) {
    GTEST_SKIP() << "no shared material";
  }
  int rows = 0;
  for (const oracle::PredictionRow &row : oracle::read_prediction_rows(*shared)) {
    const Result<Json> config = parse_json(oracle::read_file(*shared / row.config_file));
    ASSERT_TRUE(config) << row.config_file;
    const Result<Architecture> architecture = derive(*config);
    if (!architecture || architecture->reading == Reading::unknown) {
      continue; // a model with other parts than text
    }
    ++rows;
    const auto own = oracle::own_tensors(*architecture, true);
    const Result<Json> listed = parse_json(row.tensors);
    ASSERT_TRUE(listed) << row.config_file;
    std::map<std::string, std::string> theirs;
    for (const Json &tensor : *listed) {
      oracle::add_expanded(
          tensor.at(0).get<std::string>(),
          fmt::format("{}", fmt::join(tensor.at(1).get<std::vector<std::int64_t>>(), ",")), theirs);
    }
    for (const auto &[name, shape] : theirs) {
      const auto found = own.find(name);
      ASSERT_NE(found, own.end()) << row.config_file << ": " << name;
      EXPECT_EQ(found->second.substr(0, found->second.find(' ')), shape)
          << row.config_file << ": " << name;
    }
  }
  fmt::print("prediction layers: {} configs, every name and shape\n", rows);
  EXPECT_GE(rows, 25);
}

// A config that names only its type is its type's default config.
TEST(Oracle, AbsentKeysTakeTheDefaultsOfTheirType) {
  const auto shared = oracle::oracle_folder();
  if (!shared) {
    GTEST_SKIP() << "no shared material";
  }
  Tally tally;
  for (const oracle::Row &row : oracle::read_rows(*shared)) {
    if (row.source != "default" || !text_generating(row) ||
        row.notes.find("fixups") != std::string::npos) {
      continue;
    }
    const Result<Json> whole = parse_json(oracle::read_file(*shared / row.config_file));
    ASSERT_TRUE(whole) << row.config_file;
    Json config = {{"model_type", (*whole)["model_type"]},
                   {"architectures", (*whole)["architectures"]}};
    const Result<Architecture> architecture = derive(config);
    ++tally.rows;
    const bool met =
        architecture && architecture->reading != Reading::unknown &&
        architecture->counts.total - architecture->counts.mtp + architecture->counts.buffers ==
            row.total;
    tally.counts += met ? 1 : 0;
    if (!met) {
      fmt::print("default off {}: {}\n", row.config_file,
                 architecture
                     ? fmt::format("{} of {}",
                                   architecture->counts.total + architecture->counts.buffers,
                                   row.total)
                     : architecture.error().message);
    }
  }
  fmt::print("defaults: {} rows, exact in count {:.2f} %\n", tally.rows,
             share(tally.counts, tally.rows));
  EXPECT_GE(share(tally.counts, tally.rows), 95.0);
}

} // namespace
} // namespace headwater::estimator
