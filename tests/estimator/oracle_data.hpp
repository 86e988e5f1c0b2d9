#pragma once

#include "estimator/architecture.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::estimator::oracle {

/// The folder of shared material, nullopt where there is none.
std::optional<std::filesystem::path> oracle_folder();

/// A row of oracle/params.tsv.
struct Row {
  std::string source;
  std::string config_file; ///< relative to the shared folder
  std::string model_type;
  std::string class_name;
  std::int64_t total = 0;
  std::string notes;
  std::string list; ///< path of its tensor list
};

std::vector<Row> read_rows(const std::filesystem::path &shared);

/// Adds a name, or all that it stands for: `a.{0..3}.b` is four.
void add_expanded(const std::string &name, const std::string &value,
                  std::map<std::string, std::string> &tensors);

/// name -> "shape kind", ranges expanded, tied names left out.
std::map<std::string, std::string> read_tensors(const std::filesystem::path &list);

/// The same form of what was derived: the model's own tensors, or those of its prediction layers.
std::map<std::string, std::string> own_tensors(const Architecture &architecture, bool mtp = false);

/// A row of mtp.tsv that was built, with its list of [name, shape] as JSON text.
struct PredictionRow {
  std::string config_file;
  std::string tensors;
};
std::vector<PredictionRow> read_prediction_rows(const std::filesystem::path &shared);

std::string read_file(const std::filesystem::path &path);

} // namespace headwater::estimator::oracle
